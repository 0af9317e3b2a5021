// The same action for several processes, in one request.
// Test: test/e2e/web/keys.test.ts.
import type { BatchBody, BatchView } from '../src/api/views/batch.ts'
import type { RowView } from '../src/api/views/rows.ts'
import { isPauseUndone } from '../src/faces/row-verbs.ts'
import { failure, failureOf } from './actions.ts'
import { callApi } from './session-api.ts'
import { showNotice } from './notice.ts'
import { failureOfAll } from './request-error.ts'
import { rows } from './rows.ts'

type Verb = 'pause' | 'resume' | 'stop' | 'kill' | 'send'

/** Performs one action on all targets. If it fails for one, it is still done for the others. Returns whether it failed for none. */
export async function doToAll(verb: Verb, targets: readonly RowView[], text = ''): Promise<boolean> {
  const isOfTree = verb === 'pause' || verb === 'resume'
  const refs = targets.map(({ uuid }) => uuid)
  const body: BatchBody = { verb, refs, ...(isOfTree ? { subtree: true } : {}), ...(verb === 'send' ? { text } : {}) }
  // After the request the rows no longer show which processes were paused before it.
  const undo = verb === 'pause' && isPauseUndone(targets, rows) ? () => doToAll('resume', targets) : null
  try {
    const { results } = await callApi<BatchView>('/v1/batch', { method: 'POST', body })
    const failed = failureOfAll(results.map(({ error }) => error))
    failure.value = failed
    if (failed === null) showNotice(`${verb}: done for ${targets.length} processes`, undo)
    return failed === null
  } catch (error) {
    failure.value = failureOf(error, 'The action may or may not have happened; look at the list.')
    return false
  }
}
