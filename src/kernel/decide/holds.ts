// Releases holds, wakes a process after its last hold, and begins turns. Owns `startNextTurn`, the only place that
// begins a turn. add-hold.ts adds holds. Test: test/tables/kernel/decide/holds.test.ts.
import { isExternal, takesMessages } from '../model/capabilities.ts'
import { areFilesChanging } from './crew-process/file-jobs.ts'
import { resetRestarts, supervisesChildren } from './children.ts'
import { COMPLETED_EXIT } from '../model/exit.ts'
import { hasNothingToDrain, notifyAncestors } from './add-hold.ts'
import { findExhausted } from '../state/limits.ts'
import { handleReachedLimit } from './limits/limit-reached.ts'
import { terminate } from './release.ts'
import { isLiving } from '../model/status.ts'
import { livingAncestors } from '../state/tree.ts'
import type { PendingSignal } from '../model/signals.ts'
import type { Hold, Process, QueuedMessage, Stopping } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'
import type { PendingAsk } from '../model/asks.ts'

/** Records that a held process has reached a boundary, and freezes an external agent there. */
export function freezeDrained(draft: DecisionDraft, process: Process): void {
  const { life, uuid, pid } = process
  if (life.state !== 'running' || life.holds.length === 0 || life.drained) return
  if (life.activity === 'ready') draft.emit(uuid, { type: 'process.drained', inFlight: null })
  if (hasNothingToDrain(process)) draft.addEffect({ type: 'driver.pause', uuid, pid, freeze: true })
}

/** The hold that a SIGPAUSE adds: `user` for a single process, `subtree` for a signalled subtree. */
export function pauseHold({ by, root }: Pick<PendingSignal, 'by' | 'root'>, at: number): Hold {
  return root === null ? { reason: 'user', by, at } : { reason: 'subtree', root, by, at }
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

/** Delivers the answers that the user gave during the pause. */
function deliverAnswers(draft: DecisionDraft, { uuid, pid }: Process, asks: readonly PendingAsk[]): void {
  for (const { id, answer } of asks) {
    if (answer) draft.addEffect({ type: 'driver.answer', uuid, pid, id, option: answer.option, text: answer.text })
  }
}

/**
 * Continues a ready agent: with its open turn, with a turn for the next message, or with its end. Does nothing for a held
 * process. For a crew member this runs as a follow-up, because the crew must handle earlier facts first: it may change
 * the member's files.
 */
export function startNextTurn(draft: DecisionDraft, uuid: Uuid): void {
  if (draft.mustGet(uuid).spec.member) draft.followUps.push({ type: 'nextTurn', uuid })
  else startNextTurnNow(draft, uuid)
}

/** Continues a ready agent at once; see `startNextTurn`. */
export function startNextTurnNow(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  const { life, progress, queue } = process
  if (life.state !== 'running' || life.activity !== 'ready' || !life.attached || life.holds.length > 0) return
  // A command gets no turns while it runs: it exits by itself.
  if (!takesMessages(process.spec)) return
  if (life.stopping) return finishWrapUp(draft, process, life.stopping)
  // No new turn begins while a job of the crew changes the member's files. An open turn began while the crew did not run,
  // and continues.
  if (!progress.turnOpen && areFilesChanging(draft, process)) return
  if (progress.turnOpen && isExternal(process.spec) && queue.some(({ urgent }) => urgent)) return continueWithMessage(draft, process)
  if (progress.turnOpen) {
    draft.emit(uuid, { type: 'process.working', turn: progress.turn, message: null })
    draft.addEffect({ type: 'driver.proceed', uuid, pid: process.pid, turn: progress.turn })
    return
  }
  if (isDone(process)) return terminate(draft, process, COMPLETED_EXIT)
  const next = queue[0]
  const reached = next ? findExhausted(draft, process, 'turn', draft.now.mono) : null
  if (reached) handleReachedLimit(draft, process, reached)
  else if (next) beginTurn(draft, process, next)
}

/** True for an agent that is not interactive, whose turn is over and whose queue is empty. It may be held. */
export function isDone({ spec, progress, queue }: Process): boolean {
  return takesMessages(spec) && !spec.interactive && !progress.turnOpen && queue.length === 0
}

/** Begins the turn with the wrap-up message, or ends the process after that turn. */
function finishWrapUp(draft: DecisionDraft, process: Process, { wrapUp, exit }: Stopping): void {
  if (!wrapUp) return
  const message = process.queue.find(({ id }) => id === wrapUp.message)
  if (message) beginTurn(draft, process, message)
  else terminate(draft, process, exit)
}

/** Continues the open turn of an external agent with its next message as the prompt. */
function continueWithMessage(draft: DecisionDraft, process: Process): void {
  const [next] = process.queue
  if (next) deliverInTurn(draft, process, next, process.progress.turn)
}

/**
 * Delivers the last urgent message, and all messages before it, into the open turn. True if there was one: the requested
 * model call then waits until the agent has read it. Runs only at a model call, because no turn ends at that moment.
 */
export function deliverUrgent(draft: DecisionDraft, { uuid, pid, life, progress: { turn }, queue }: Process): boolean {
  if (life.state !== 'running' || life.activity !== 'working') return false
  const due = queue.slice(0, queue.findLastIndex(({ urgent }) => urgent) + 1)
  for (const { id, from, seq } of due) {
    draft.emit(uuid, { type: 'process.incoming', id, from, turn, queuedAt: seq })
    draft.addEffect({ type: 'driver.deliver', uuid, pid, message: id, seq, turn })
  }
  return due.length > 0
}

function beginTurn(draft: DecisionDraft, process: Process, next: QueuedMessage): void {
  deliverInTurn(draft, process, next, process.progress.turn + 1)
}

/** Delivers the message as the input of this turn. */
function deliverInTurn(draft: DecisionDraft, { uuid, pid }: Process, { id, from, seq }: QueuedMessage, turn: number): void {
  draft.emit(uuid, { type: 'process.incoming', id, from, turn, queuedAt: seq })
  draft.emit(uuid, { type: 'process.working', turn, message: id })
  draft.addEffect({ type: 'driver.deliver', uuid, pid, message: id, seq, turn })
}

/** The subtree holds that a new child inherits from its ancestors, including pauses that an ancestor has deferred. */
export function inheritedHolds(draft: DecisionDraft, process: Process): readonly Hold[] {
  return livingAncestors(draft, process).flatMap(({ life, signals }) => {
    const deferred = signals.pending.filter(({ signal }) => signal === 'SIGPAUSE').map((pending) => pauseHold(pending, draft.now.wall))
    return [...(life.state === 'running' ? life.holds : []), ...deferred].filter((hold) => hold.reason === 'subtree')
  })
}
