// The route that applies one verb, such as `pause`, to many processes, and returns a result for each; routes.ts registers it.
// Test: test/e2e/daemon/batch.test.ts.
import { z } from 'zod'
import { KernelError } from '../../kernel/model/errors.ts'
import { errorBody } from './error-body.ts'
import { clientNameOf } from './client.ts'
import { defineRoute, type ApiRoute, type RoutesDeps } from './route.ts'
import type { BatchResultView } from '../../api/views/batch.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

/** The largest number of processes in a request. */
const MAX_REFS = 1_000
/** The largest number of processes that are changed at the same time. */
const MAX_CONCURRENT = 16

const BATCH_VERBS = ['pause', 'resume', 'stop', 'kill', 'send', 'remove', 'pin', 'unpin'] as const

export const batchBody = z
  .strictObject({
    verb: z.enum(BATCH_VERBS),
    refs: z.array(z.string().min(1).max(200)).min(1).max(MAX_REFS),
    subtree: z.boolean().exactOptional().describe('pause, resume, stop, kill: also all processes below'),
    text: z.string().min(1).max(1_000_000).exactOptional().describe('send: the message'),
  })
  .describe('POST /v1/batch. Performs one action on each process.')
type BatchBody = z.output<typeof batchBody>

/** The action of each verb on one process. Returns the note of the answer. */
type BatchActions = Readonly<Record<BatchBody['verb'], (ref: string) => Promise<{ readonly note?: string | null | undefined }>>>

export const BATCH_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'batch',
    method: 'POST',
    path: '/v1/batch',
    // The lowest right that a verb needs; restrict.ts checks the right of the verb in the body.
    right: 'steer',
    summary: 'Performs one action on many processes, and returns a result for each.',
    body: batchBody,
    answer: 'batch',
    errors: [],
    example: { verb: 'pause', refs: ['docs', '12'] },
    handle: async (deps, { body, request }) => {
      if (body.verb === 'send' && body.text === undefined) throw new KernelError('INVALID', '`send` needs a `text`')
      const act = actionsFor(deps, body, clientNameOf(request))[body.verb]
      const refs = [...new Set(body.refs)]
      const results: BatchResultView[] = []
      for (let start = 0; start < refs.length; start += MAX_CONCURRENT)
        results.push(...(await Promise.all(refs.slice(start, start + MAX_CONCURRENT).map((ref) => resultOf(ref, act)))))
      return { version: 1, results }
    },
  }),
]

/** Returns the actions for a request. `client`: the name of the client, which is recorded with a pause or a signal. */
function actionsFor(
  { operations, removals, annotations, via }: RoutesDeps,
  { subtree, text = '' }: BatchBody,
  client: string,
): BatchActions {
  const tree = subtree === undefined ? {} : { subtree }
  const pin = (ref: string, pinned: boolean): ReturnType<BatchActions['pin']> =>
    removals.runExclusively(ref, (uuid) => annotations.pin(uuid, pinned))
  return {
    pause: (ref) => operations.pause(ref, tree, client),
    resume: (ref) => removals.runExclusively(ref, (uuid) => operations.resume(uuid, tree)),
    stop: (ref) => operations.signal(ref, { signal: 'SIGTERM', leastGraceMs: STOP_GRACE_MS, ...tree }, client),
    kill: (ref) => operations.signal(ref, { signal: 'SIGKILL', ...tree }, client),
    send: (ref) => operations.send(ref, { text }),
    remove: async (ref) => {
      await removals.remove(ref, { force: false, unchanged: false, via })
      return {}
    },
    pin: (ref) => pin(ref, true),
    unpin: (ref) => pin(ref, false),
  }
}

/** Returns the result for one process. An error of one process does not affect the others. */
async function resultOf(ref: string, act: BatchActions['pause']): Promise<BatchResultView> {
  try {
    const { note = null } = await act(ref)
    return { ref, ok: true, note, error: null }
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    const { code, message, hint } = errorBody(error).error
    return { ref, ok: false, note: null, error: { code, message, hint } }
  }
}
