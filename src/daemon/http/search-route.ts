// The route of the search in transcripts; routes.ts registers it. Test: test/e2e/daemon/search.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { clientGoneSignal } from './client.ts'

export const SEARCH_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'searchTranscripts',
    method: 'GET',
    path: '/v1/search',
    right: 'read',
    summary: 'Searches the transcripts of all processes, or of some, for a text.',
    query: schemas.searchQuery,
    answer: 'search',
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION'],
    handle: async ({ search, reads }, { query, reply }) => {
      const { in: refs, ...what } = query
      const processes = refs ? await Promise.all(refs.map((ref) => reads.resolve(ref))) : null
      return search(what, processes, clientGoneSignal(reply))
    },
  }),
]
