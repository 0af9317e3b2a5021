// The route of the rows, as a snapshot or as a stream; routes.ts registers it. Test: test/e2e/daemon/rows.test.ts.
import { clientGoneSignal } from './event-stream.ts'
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { writeFrames } from './sse.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { RowScope } from '../rows/scope.ts'

export const ROWS_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getRows',
    method: 'GET',
    path: '/v1/rows',
    right: 'read',
    within: true,
    summary: 'Returns the rows of processes as lists show them; with `follow` a stream of all rows and their changes.',
    query: schemas.rowsQuery,
    answer: 'rows',
    stream: 'rowEvents',
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION'],
    handle: async ({ reads, rows, log }, { query: { follow, shape, after, ...query }, reply }) => {
      const scope = await scopeOf(query.scope, reads)
      if (!follow) {
        reply.type('application/json; charset=utf-8')
        return rows.snapshot(scope, shape)
      }
      reply.hijack()
      const signal = clientGoneSignal(reply)
      await writeFrames(reply.raw, rows.follow({ scope, shape, after, signal }), signal).catch((error: unknown) =>
        log('a stream of rows was cut off', error),
      )
      return ''
    },
  }),
]

/** Errors: those of a reference. */
async function scopeOf(text: string, reads: Pick<ProcessQueries, 'resolve'>): Promise<RowScope> {
  if (text === 'live' || text === 'recent' || text === 'all') return { of: text }
  const { uuid } = await reads.resolve(text.slice('subtree:'.length))
  return { of: 'subtree', root: uuid }
}
