// The same action for several processes, in one request.
// Test: test/e2e/web/keys.test.ts.
import type { BatchBody, BatchView } from '../src/api/views/batch.ts'
import type { RowView } from '../src/api/views/rows.ts'
import { callApi, failure, failureOf } from './actions.ts'
import { say } from './notice.ts'
import { rows } from './rows.ts'

type Verb = 'pause' | 'resume' | 'stop' | 'kill' | 'send'

/** Performs one action on all targets. If it fails for one, it is still done for the others. Returns whether it failed for none. */
export async function doToAll(verb: Verb, targets: readonly RowView[], text = ''): Promise<boolean> {
  const isOfTree = verb === 'pause' || verb === 'resume'
  const refs = targets.map(({ uuid }) => uuid)
  const body: BatchBody = { verb, refs, ...(isOfTree ? { subtree: true } : {}), ...(verb === 'send' ? { text } : {}) }
  try {
    const { results } = await callApi<BatchView>('/v1/batch', { method: 'POST', body })
    const refused = results.flatMap(({ error }) => error ?? [])
    const [first] = refused
    failure.value = first ? { message: `${refused.length} of ${targets.length} were refused: ${first.message}`, hint: first.hint } : null
    if (!first) say(`${verb}: done for ${targets.length} processes`, undoOfAll(verb, targets))
    return !first
  } catch (error) {
    failure.value = failureOf(error, 'The action may or may not have happened; look at the list.')
    return false
  }
}

/** What takes back a pause of all targets. Null: nothing does, as for a resume, or if it would wake processes above them. */
function undoOfAll(verb: Verb, targets: readonly RowView[]): (() => unknown) | null {
  const isUndone =
    verb === 'pause' && targets.every(({ status, parent }) => status !== 'suspended' && rows.get(parent ?? '')?.status !== 'suspended')
  return isUndone ? () => doToAll('resume', targets) : null
}
