// Begins turns and continues open ones: for the next message, for an urgent message, and for the wrap-up of a stopping process. A command
// that takes no messages gets its turn in reports.ts. Tests: holds.test.ts and graceful-stop.test.ts in test/tables/kernel/decide.
import { isExternal, takesMessages } from '../model/capabilities.ts'
import { areFilesChanging } from './crew-process/file-jobs.ts'
import { COMPLETED_EXIT } from '../model/exit.ts'
import { findExhausted } from '../state/limits.ts'
import { enforceReachedLimit } from './limits/limit-reached.ts'
import { terminate } from './release.ts'
import type { Process, QueuedMessage, Stopping } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Uuid } from '../model/ids.ts'

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
  // No new turn begins while a job of the crew changes the member's files. A turn that is already open while such a job runs was
  // begun when the crew was not running. It may continue.
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
  if (reached) enforceReachedLimit(draft, process, reached)
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
