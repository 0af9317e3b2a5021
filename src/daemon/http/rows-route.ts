// The route of the rows, as a snapshot or as a stream; routes.ts registers it. Test: test/e2e/rows/rows.test.ts.
import { clientGoneSignal } from './client.ts'
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'
import { rowsAdapterOf } from '../web/rows-of-session.ts'
import { writeFrames } from './events/sse.ts'
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
    handle: async ({ reads, rows, log }, { query: { follow, shape, after, ...query }, request, reply }) => {
      const scope = await scopeOf(query.scope, reads)
      const adapter = rowsAdapterOf(request.raw, reads)
      if (!follow) {
        reply.type('application/json; charset=utf-8')
        const snapshot = await rows.snapshot(scope, shape)
        return adapter ? adapter.text(snapshot) : snapshot
      }
      reply.hijack()
      const signal = clientGoneSignal(reply)
      const frames = rows.follow({ scope, shape, after, signal })
      await writeFrames(reply.raw, adapter?.frames(frames) ?? frames, signal).catch((error: unknown) =>
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
