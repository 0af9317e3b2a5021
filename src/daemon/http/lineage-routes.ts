// Routes about where processes can continue and where they come from: the resumable ones, the tree of forks, a comparison of two.
// Test: test/e2e/cli/resume.test.ts, test/e2e/daemon/openapi.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'

export const LINEAGE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'listResumable',
    method: 'GET',
    path: '/v1/resumable',
    right: 'read',
    summary: 'Lists the suspended and ended processes, and how each can continue.',
    query: schemas.resumableQuery,
    answer: 'resumables',
    errors: [],
    handle: ({ resumeQueries }, { query }) => resumeQueries.resumable(query),
  }),
  defineRoute({
    id: 'getLineage',
    method: 'GET',
    path: '/v1/processes/:ref/lineage',
    right: 'read',
    summary: 'Returns the tree of forks that a process belongs to.',
    answer: 'lineage',
    errors: [],
    handle: ({ resumeQueries }, { ref }) => resumeQueries.lineage(ref),
  }),
  defineRoute({
    id: 'compareProcesses',
    method: 'GET',
    path: '/v1/compare',
    right: 'read',
    summary: 'Compares two processes: the last step that both have in common, and the settings in which they differ.',
    query: schemas.compareQuery,
    answer: 'compare',
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION'],
    handle: ({ resumeQueries }, { query: { a, b } }) => resumeQueries.compare(a, b),
  }),
]
