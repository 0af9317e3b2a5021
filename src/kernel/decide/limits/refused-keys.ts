// Handles an account that the provider refuses: the key is wrong, or has no credit. The work has not failed, so the process and its crew
// are held until the user resumes them with a valid key. Adds the hold `credentials` for refused keys; spawn.ts adds it for missing keys.
// Test: test/e2e/models/refused-keys.test.ts.
import { addHold } from '../holds/add-hold.ts'
import { terminate } from '../release.ts'
import { isEnding } from '../../model/status.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'

/** Holds a process and its crew. Returns `held`, or `stop` if the process is not running, or is ending and so does not wait for a key. */
export function holdForAccount(draft: DecisionDraft, { uuid, spec, life }: Process, error: string): 'held' | 'stop' {
  if (life.state !== 'running' || isEnding(draft.mustGet(uuid))) return 'stop'
  if (life.stopping) {
    // The stop waits for a last turn of the agent, which cannot go on without the key.
    terminate(draft, draft.mustGet(uuid), life.stopping.exit)
    return 'stop'
  }
  const key = spec.credentials.length > 0 ? spec.credentials.join(', ') : 'the account'
  const text = `${key} was refused: ${error}`
  holdForKey(draft, draft.mustGet(uuid), text)
  const crew = spec.member ? draft.get(spec.member.crew) : undefined
  if (crew) holdForKey(draft, crew, `${spec.member?.id}: ${text}`)
  return 'held'
}

function holdForKey(draft: DecisionDraft, { uuid, life }: Process, text: string): void {
  if (life.state !== 'running' || life.stopping) return
  if (addHold(draft, uuid, { reason: 'credentials', by: 'system', at: draft.now.wall }, false))
    draft.emit(uuid, { type: 'process.note', text })
}
