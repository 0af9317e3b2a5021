// Begins and ends the turns of members. A worker must end its turn with one of four tools; otherwise it is reminded. After two reminders
// the turn is accepted. Under the engine, a worker that owes a report then loses its task, so no worker stays in a phase forever. A
// coordinator that is an agent gets a message instead, and decides. The end of a turn that is not the current one changes nothing.
// Test: test/tables/kernel/crew/decide/member-turns.test.ts.
import { requeueTask, endReview } from './release-task.ts'
import { hasJobsThatNeedMember, isActive, isWorker } from '../state/queries.ts'
import { taskName } from '../text/task-text.ts'
import { handOverIfFull } from './context-handover.ts'
import { requestCommitJob } from './commit-task.ts'
import { requestDeferredJobs } from './lifecycle.ts'
import { readyButHoldingText } from '../text/status-text.ts'
import { stopAtLimit } from './task-limits.ts'
import { reminderText } from '../text/messages.ts'
import type { CommandOf } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { TurnEnd } from '../../model/crew/facts.ts'
import type { Member, Task } from '../../model/crew/crew.ts'

type TurnResult = Omit<CommandOf<'turn_ended'>, 'type' | 'member'>

/** maximum number of reminders to a worker before its turn is accepted */
const MAX_REMINDERS = 2

export function handleTurnBegun(draft: CrewDraft, { member: id, turn, from }: CommandOf<'turn_begun'>): string {
  const member = draft.findMember(id)
  if (!member || member.state === 'gone' || member.turn.open === turn) return 'noted'
  if (member.turn.open !== null) endTurn(draft, member, { turn: member.turn.open, outcome: 'interrupted', queued: 1 })
  draft.emit({ type: 'crew.turn.begun', member: id, turn, resets: from.some((sender) => sender === 'user' || sender === 'coordinator') })
  return 'noted'
}

export function handleTurnEnded(draft: CrewDraft, command: CommandOf<'turn_ended'>): string {
  const member = draft.findMember(command.member)
  if (!member || member.state === 'gone' || member.turn.open !== command.turn) return 'late: nothing was changed'
  endTurn(draft, member, command)
  return 'noted'
}

export function endTurn(draft: CrewDraft, member: Member, result: TurnResult): void {
  const { turn, outcome, queued = 0, spent, error } = result
  const end = classifyEnd(draft, member, result)
  const task = draft.findTask(member.task)
  draft.emit({
    type: 'crew.turn',
    member: member.id,
    turn,
    outcome,
    end,
    queued,
    ...(member.turn.task === null ? {} : { task: member.turn.task }),
    ...(spent ? { spent } : {}),
    ...(error === undefined ? {} : { error }),
  })
  requestDeferredJobs(draft, member.id)
  const worker = draft.findMember(draft.findTask(member.turn.task)?.implementer ?? null)
  if (worker && stopAtLimit(draft, worker, {}) && worker.id === member.id) return
  const updatedMember = draft.requireMember(member.id)
  if (updatedMember.role === 'coordinator') finishCoordinatorTurn(draft, updatedMember, result)
  // The commit is checked only after a turn that began after the approval.
  else if (task && updatedMember.phase === 'committing')
    return void (updatedMember.turn.phase === 'committing' && requestCommitJob(draft, updatedMember.id, task, false))
  else followUpTurn(draft, updatedMember, task, result, end)
}

/** Whether the member owes a report: its phase requires one, and the member has its instructions. */
function isReportDue(draft: CrewDraft, { phase, task: id, turn }: Member): boolean {
  const task = draft.findTask(id)
  if (!task || turn.phase !== phase) return false
  return phase === 'reviewing' ? task.briefed : (phase === 'implementing' || phase === 'addressing_feedback') && task.prepared
}

/**
 * Classifies the end of a turn. `failed`: the turn ended with an error. `complete`: a report was made, or none is required.
 * `waits`: a message or a job will continue the member. `exempt`: the turn was the member's first, or was interrupted while it was idle.
 * `reminded`: the member must be reminded. `through`: all reminders are used up, so the turn is accepted.
 */
function classifyEnd(draft: CrewDraft, member: Member, { outcome, queued = 0 }: TurnResult): TurnEnd {
  if (outcome === 'error') return 'failed'
  if (!isWorker(member) || member.phase === 'committing') return 'complete'
  const owesReport = isReportDue(draft, member)
  // The engine answers no questions, so the worker must continue. A call of signal_ready is not a report about a task.
  if (member.turn.answered && !(owesReport && (draft.spec.coordinator === 'engine' || member.turn.saidReady))) return 'complete'
  if (member.state !== 'on' || !isActive(member) || queued > 0 || member.told || hasJobsThatNeedMember(draft.crew, member.id))
    return 'waits'
  if (member.phase !== 'idle' && !owesReport && member.phase !== 'awaiting_review') return 'waits'
  if (member.fresh || (outcome === 'interrupted' && member.phase === 'idle')) return 'exempt'
  return member.turn.reminders < MAX_REMINDERS ? 'reminded' : 'through'
}

function followUpTurn(
  draft: CrewDraft,
  member: Member,
  task: Task | undefined,
  { outcome, error, text = '' }: TurnResult,
  end: TurnEnd,
): void {
  if (end !== 'failed' && handOverIfFull(draft, member, text)) return
  const cause = outcome === 'interrupted' ? 'interrupted' : 'ok'
  switch (end) {
    case 'failed':
      return failTurn(draft, member, task, `a turn of ${member.id} failed${error ? `: ${error}` : ''}`)
    // No reminder is left.
    case 'through':
      return acceptSilence(draft, member, task)
    case 'reminded':
      return draft.send(member.id, { from: 'system', task: task?.id ?? null, text: reminderText(member, cause) })
    // The turn needed no report. If the member owes one, it still needs a message to continue.
    case 'exempt':
      return isReportDue(draft, member)
        ? draft.send(member.id, { from: 'system', task: task?.id ?? null, text: reminderText(member, cause) })
        : undefined
    case 'complete':
    case 'waits':
  }
}

/** Ends the attempt that a failed turn was about. Work that arrived in the middle of the turn is not affected. */
function failTurn(draft: CrewDraft, { phase, id, turn }: Member, currentTask: Task | undefined, reason: string): void {
  const hasInstructions = phase === 'reviewing' ? currentTask?.briefed : currentTask?.prepared
  const task = currentTask?.id === turn.task && turn.phase === phase && hasInstructions ? currentTask : undefined
  if (task && phase === 'reviewing') endReview(draft, task, reason)
  else if (task && (phase === 'implementing' || phase === 'addressing_feedback')) requeueTask(draft, task, { reason, counts: true })
  else draft.messageCoordinator(reason, null)
  draft.addAct({ type: 'warn', text: `${id}: ${reason}` })
}

/** Handles a worker that made no report after all reminders. */
function acceptSilence(draft: CrewDraft, member: Member, task: Task | undefined): void {
  const { id, turn } = member
  const reason = turn.answered
    ? `${id} was reminded ${MAX_REMINDERS} times and reported nothing`
    : `${id} ended its turn without a report after ${MAX_REMINDERS} reminders`
  if (draft.spec.coordinator === 'engine' && isReportDue(draft, member)) return failTurn(draft, member, task, reason)
  draft.addAct({ type: 'warn', text: reason })
  if (task && turn.saidReady && isReportDue(draft, member))
    return draft.messageCoordinator(readyButHoldingText(task, member, MAX_REMINDERS), task)
  draft.messageCoordinator(`${reason}${task ? `. It has ${taskName(task)}` : ''}.`, task ?? null)
}

function finishCoordinatorTurn(draft: CrewDraft, member: Member, { outcome, text = '', error }: TurnResult): void {
  if (outcome === 'error') draft.addAct({ type: 'warn', text: `a turn of ${member.id} failed${error ? `: ${error}` : ''}` })
  if (outcome === 'ok') handOverIfFull(draft, member, text)
}
