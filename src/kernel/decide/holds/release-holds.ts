// Releases holds, and wakes a process after its last hold. Also has the holds that a child inherits, and the freeze at a
// boundary. add-hold.ts adds holds, turns.ts begins the next turn.
// Test: test/tables/kernel/decide/holds.test.ts.
import { resetRestarts, supervisesChildren } from '../children.ts'
import { hasNothingToDrain, notifyAncestors } from './add-hold.ts'
import { deliverAnswer } from '../asks/deliver-answer.ts'
import { startNextTurn } from '../turns.ts'
import { pauseHold } from '../../model/holds.ts'
import { isLiving } from '../../model/status.ts'
import { livingAncestors } from '../../state/tree.ts'
import type { Hold, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Sender, Uuid } from '../../model/ids.ts'
import { isAnswerDue, type PendingAsk } from '../../model/asks.ts'

/** Records that a held process has reached a boundary, and freezes an external agent there. */
export function freezeDrained(draft: DecisionDraft, process: Process): void {
  const { life, uuid, pid } = process
  if (life.state !== 'running' || life.holds.length === 0 || life.drained) return
  if (life.activity === 'ready') draft.emit(uuid, { type: 'process.drained', inFlight: null })
  if (hasNothingToDrain(process)) draft.addEffect({ type: 'driver.pause', uuid, pid, freeze: true })
}

/**
 * Releases the holds that `isReleased` selects, and drops a pending SIGPAUSE whose hold it would select. After its last hold
 * the process continues. True if there was anything to release.
 */
export function releaseHolds(draft: DecisionDraft, uuid: Uuid, by: Sender, isReleased: (hold: Hold) => boolean): boolean {
  const hasDroppedPause = dropPendingPause(draft, uuid, isReleased)
  const process = draft.mustGet(uuid)
  if (process.life.state !== 'running') return hasDroppedPause
  const released = process.life.holds.filter(isReleased)
  if (released.length === 0) return hasDroppedPause
  if (released.some(({ reason }) => reason === 'supervisor')) resetRestarts(draft, process)
  const after = draft.emit(uuid, { type: 'process.released', holds: released, by, mono: draft.now.mono })
  if (after.life.state === 'running' && after.life.holds.length === 0) wakeProcess(draft, after, by, process.asks)
  return true
}

function dropPendingPause(draft: DecisionDraft, uuid: Uuid, isReleased: (hold: Hold) => boolean): boolean {
  const process = draft.mustGet(uuid)
  const pending = isLiving(process) ? process.signals.pending.find(({ signal }) => signal === 'SIGPAUSE') : undefined
  if (!pending || !isReleased(pauseHold(pending, draft.now.wall))) return false
  draft.emit(uuid, { type: 'signal.unpended', signal: 'SIGPAUSE' })
  return true
}

/** Continues a process after its last hold. `asks`: its asks before the release, with the answers given during the pause. */
function wakeProcess(draft: DecisionDraft, process: Process, by: Sender, asks: Process['asks'] = []): void {
  notifyAncestors(draft, process, { suspended: false, by })
  if (process.life.state !== 'running' || process.life.stopping) return
  if (!process.life.attached) {
    draft.addEffect({ type: 'start', uuid: process.uuid, pid: process.pid })
    return
  }
  draft.addEffect({ type: 'driver.unpause', uuid: process.uuid, pid: process.pid })
  deliverAnswers(draft, process, asks)
  startNextTurn(draft, process.uuid)
  if (supervisesChildren(process)) draft.followUps.push({ type: 'unpaused', uuid: process.uuid })
}

/** Delivers the answers that the user gave before the end of the pause. Those whose time has not come stay with their asks. */
function deliverAnswers(draft: DecisionDraft, process: Process, asks: readonly PendingAsk[]): void {
  for (const ask of asks) {
    if (ask.answer && isAnswerDue(ask, draft.now.mono)) deliverAnswer(draft, process, ask, ask.answer)
  }
}

/** The subtree holds that a new child inherits from its ancestors, including pauses that an ancestor has deferred. */
export function inheritedHolds(draft: DecisionDraft, process: Process): readonly Hold[] {
  return livingAncestors(draft, process).flatMap(({ life, signals }) => {
    const deferred = signals.pending.filter(({ signal }) => signal === 'SIGPAUSE').map((pending) => pauseHold(pending, draft.now.wall))
    return [...(life.state === 'running' ? life.holds : []), ...deferred].filter((hold) => hold.reason === 'subtree')
  })
}
