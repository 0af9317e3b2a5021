// Handles the commands of workers, each called within a turn. Guarantees that a report is about the work that the worker had when the turn
// began. A worker that got other work in the middle of a turn must report again. Test: test/tables/kernel/crew/decide/member-turns.test.ts.
import { refusalError } from '../refusal-error.ts'
import { failTask, failedAttemptsText } from '../release-task.ts'
import { handOverIfFull } from '../context-handover.ts'
import { coordinatorRecipient, currentImplementer } from '../../state/queries.ts'
import { taskName } from '../../text/task-text.ts'
import { keptFilesOf, takeBackTask } from '../lost-files.ts'
import { stateText } from '../../state/phases.ts'
import { feedbackText } from '../../text/messages.ts'
import { hasVerifyCommand } from '../../state/verify-rules.ts'
import type { CommandOf } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Member, Task } from '../../../model/crew/crew.ts'
import type { Sender } from '../../../model/ids.ts'
import type { MemberId } from '../../../model/crew/words.ts'

const MAX_TEXT_CHARS = 64 * 1_024

function requireCallingMember(draft: CrewDraft): Member {
  const { by } = draft.context
  if (by.type !== 'member') throw refusalError('PERMISSION', 'only workers may call this', 'Use send_message.')
  return draft.requireMember(by.id)
}

function senderOf({ uuid }: Member): Sender {
  return uuid === null ? 'system' : `agent:${uuid}`
}

function checkLength(text: string, minLength: 0 | 1): void {
  const isBlank = text.trim() === ''
  if ((isBlank && minLength > 0) || text.length > MAX_TEXT_CHARS)
    throw refusalError(
      'INVALID',
      isBlank ? 'the text is blank' : `the text has ${text.length} characters`,
      `Give it ${minLength} to ${MAX_TEXT_CHARS} characters.`,
    )
}

/**
 * Sends a message to the coordinator and to the thread of a task. If it names a task, the other members that work on that task get it, too.
 * Errors: PERMISSION, INVALID, NOT_FOUND.
 */
export function postMessage(draft: CrewDraft, { to, text }: CommandOf<'post_message'>): string {
  const member = requireCallingMember(draft)
  checkLength(text, 1)
  const task = to === 'coordinator' ? (draft.findTask(member.task) ?? null) : draft.requireTask(to)
  draft.emit({ type: 'task.message', task: task?.id ?? null, from: member.id, to, text })
  const recipients =
    to === 'coordinator'
      ? []
      : draft.crew.members.filter((candidate) => candidate.id !== member.id && candidate.task === to && candidate.state === 'on')
  for (const { id } of recipients) draft.send(id, { from: senderOf(member), task: to, text: `${member.id} about ${to}: ${text}` })
  draft.messageCoordinator(`${member.id}${task ? ` about ${taskName(task)}` : ''}: ${text}`, task, senderOf(member))
  if (handOverIfFull(draft, draft.requireMember(member.id), text)) return 'noted; your successor takes over now: end your turn'
  if (coordinatorRecipient(draft.crew)) return 'sent'
  return 'noted; a program coordinates this crew and does not answer: decide yourself, continue, and report when you are done'
}

/** Errors: PERMISSION if the issuer is not a worker, INVALID, CONFLICT, LATE. */
export function reportComplete(draft: CrewDraft, { summary }: CommandOf<'report_implementation_complete'>): string {
  const member = requireCallingMember(draft)
  checkLength(summary, 1)
  const task = requireCurrentTask(
    draft,
    member,
    ['implementing', 'addressing_feedback'],
    'You have nothing to report: end your turn, or ask with post_message.',
  )
  if (!task.prepared) throw lateError(member)
  draft.emit({ type: 'task.reported', task: task.id, member: member.id, summary })
  draft.messageCoordinator(
    `${member.id} reports ${taskName(task)} complete${hasVerifyCommand(draft.crew, draft.spec, task) ? '; its verify command runs now, and you get the result' : ''}: ${summary}`,
    task,
    senderOf(member),
  )
  if (hasVerifyCommand(draft.crew, draft.spec, task)) return `${taskName(task)} is verified after your turn: end your turn`
  return task.reviews ? `${taskName(task)} awaits its review; end your turn` : `${taskName(task)} is reported; end your turn`
}

/** Errors: PERMISSION if the issuer is not a worker, INVALID, CONFLICT, LATE. */
export function reportVerdict(draft: CrewDraft, { verdict, comments }: CommandOf<'report_review_verdict'>): string {
  const member = requireCallingMember(draft)
  checkLength(comments, verdict === 'DENIED' ? 1 : 0)
  const task = requireCurrentTask(draft, member, ['reviewing'], 'You have no review: end your turn, or ask with post_message.')
  if (!task.briefed) throw lateError(member)
  if (verdict === 'DENIED') denyTask(draft, task, member.id, comments)
  else draft.emit({ type: 'task.verdict', task: task.id, member: member.id, verdict, comments })
  draft.messageCoordinator(`${member.id} on ${taskName(task)}: ${verdict}. ${comments}`, draft.requireTask(task.id), senderOf(member))
  return `${taskName(task)} is ${verdict === 'APPROVED' ? 'approved' : 'sent back'}; end your turn`
}

/** Sends the task back to its implementer with comments. Fails the task after its last attempt. */
export function denyTask(draft: CrewDraft, task: Task, by: MemberId | null, comments: string): void {
  draft.emit({ type: 'task.verdict', task: task.id, member: by, verdict: 'DENIED', comments })
  const updatedTask = draft.requireTask(task.id)
  if (updatedTask.attempts >= draft.spec.maxAttempts)
    return failTask(draft, updatedTask, `${failedAttemptsText(updatedTask)} failed; the last one was denied: ${comments}`)
  // Without a worker that stays, the next implementer starts from the reviewed files.
  const worker = currentImplementer(draft.crew, updatedTask)
  if (!worker || worker.state === 'leaving')
    return takeBackTask(draft, updatedTask, { reason: `${by ?? 'the user'} denied it`, keeps: keptFilesOf(task) })
  // An implementer that reviews another task gets the comments after that review.
  if (updatedTask.implementer && draft.findMember(updatedTask.implementer)?.own !== task.id)
    draft.send(updatedTask.implementer, { from: 'coordinator', task: task.id, text: feedbackText(updatedTask, by, comments) })
}

/** Answers a worker that reports to be ready: with what comes next, or that it still has work. Changes nothing. */
export function signalReady(draft: CrewDraft): string {
  const { phase, task } = requireCallingMember(draft)
  if (phase === 'idle') return 'noted; work arrives as a message'
  if (phase === 'committing') return 'noted; reeve checks your commit when your turn ends'
  return phase === 'awaiting_review'
    ? 'noted; the verdict arrives as a message'
    : `noted, but you still hold ${task} (${stateText(phase)}): continue with it`
}

/** The task that the report is about. The member's phase and task must be unchanged since the turn began. Errors: CONFLICT, LATE. */
function requireCurrentTask(draft: CrewDraft, member: Member, phases: readonly string[], hint: string): Task {
  const task = draft.findTask(member.task)
  if (!task || !phases.includes(member.phase))
    throw refusalError('CONFLICT', `${member.id} is ${stateText(member.phase)}${task ? ` (${task.id})` : ''}`, hint)
  if (member.turn.phase !== member.phase) throw lateError(member)
  return task
}

function lateError(member: Member): Error {
  return refusalError(
    'LATE',
    `${member.id} got ${member.task} in the middle of this turn`,
    'Nothing was changed. End your turn: a message with your instructions comes next.',
  )
}
