// Adds a hold to a process, pauses its driver, and informs its ancestors. release-holds.ts releases them.
// Test: test/tables/kernel/decide/holds.test.ts.
import { CAPABILITIES, isExternal } from '../../model/capabilities.ts'
import { isSameHold } from '../../model/holds.ts'
import { livingAncestors } from '../../state/tree.ts'
import type { Hold, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Sender, Uuid } from '../../model/ids.ts'

/** Adds a hold to a running process, unless it has an equal one. `freeze`: does not wait for a boundary. True if the hold is new. */
export function addHold(draft: DecisionDraft, uuid: Uuid, added: Hold, freeze: boolean): boolean {
  const process = draft.mustGet(uuid)
  if (process.life.state !== 'running') return false
  const isKnown = process.life.holds.some((other) => isSameHold(other, added))
  if (isKnown && !freeze) return false
  const isFirst = process.life.holds.length === 0
  const held = isKnown ? process : draft.emit(uuid, { type: 'process.held', hold: added, mono: draft.now.mono })
  if (isFirst) notifyAncestors(draft, held, { suspended: true, reason: added.reason, by: added.by })
  pauseDriver(draft, held, freeze, isFirst)
  return !isKnown
}

function pauseDriver(draft: DecisionDraft, process: Process, freeze: boolean, isFirst: boolean): void {
  const { life } = process
  if (life.state !== 'running' || !life.attached || !(isFirst || freeze)) return
  const isIdle = life.activity === 'ready'
  if (isIdle && !life.drained) draft.emit(process.uuid, { type: 'process.drained', inFlight: null })
  const { canPauseSoftly } = CAPABILITIES[process.spec.driver]
  draft.addEffect({
    type: 'driver.pause',
    uuid: process.uuid,
    pid: process.pid,
    freeze: freeze || !canPauseSoftly || hasNothingToDrain(process),
  })
}

/** True for an external agent that waits for a message or an answer. While held it gets none, so it can be frozen at once. */
export function hasNothingToDrain({ spec, life }: Process): boolean {
  return isExternal(spec) && life.state === 'running' && (life.activity === 'ready' || life.activity === 'waiting')
}

type SuspensionChange =
  | { readonly suspended: true; readonly reason: string; readonly by: Sender }
  | { readonly suspended: false; readonly by: Sender }

/** Informs all living ancestors that a process was suspended or resumed. */
export function notifyAncestors(draft: DecisionDraft, process: Process, change: SuspensionChange): void {
  for (const ancestor of livingAncestors(draft, process)) {
    if (change.suspended) draft.emit(ancestor.uuid, { type: 'child.suspended', child: process.uuid, reason: change.reason, by: change.by })
    else draft.emit(ancestor.uuid, { type: 'child.resumed', child: process.uuid, by: change.by })
  }
}
