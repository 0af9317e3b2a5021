// Opens closed tasks again, only by an explicit command. A failed or cancelled task is retried. A done task is reopened by the user, who
// rejects its result. Chooses the dependents that come back with the task. Must never open a task without a command, or in a crew that is
// ending. Test: test/tables/kernel/crew/decide/commands/reopen-task.test.ts.
import { refusalError } from '../refusal-error.ts'
import { stateText } from '../../state/phases.ts'
import { tasksById } from '../../state/queries.ts'
import { taskName } from '../../text/task-text.ts'
import { dependentsOf } from '../../../util/graph.ts'
import { senderOfIssuer } from './task-commands.ts'
import type { CommandOf } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Crew, Task } from '../../../model/crew/crew.ts'
import type { TaskId } from '../../../model/crew/words.ts'

/** maximum number of retries of one task by a coordinator; the user may always retry */
const MAX_RETRIES = 3
const MAX_COMMENT_CHARS = 64 * 1_024

/** Errors: NOT_FOUND, CONFLICT, RESOURCE_EXHAUSTED. */
export function retryTask(draft: CrewDraft, { task: id }: CommandOf<'retry_task'>): string {
  const task = draft.requireTask(id)
  checkNotEnding(draft)
  if (task.state === 'done')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is done`,
      draft.context.by.type === 'user'
        ? 'reopen_task (`reeve crew reopen`) opens it again with comments.'
        : 'Only the user can reopen it. Add a task for what is left.',
    )
  if (!hasFailedOrIsCancelled(task))
    throw refusalError('CONFLICT', `${taskName(task)} is ${stateText(task.state)}`, openTaskHint(draft, task))
  if (task.kind === 'conflict')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} resolves a conflict of another task`,
      "Retry that task instead: it starts from the crew's branch.",
    )
  checkNeeds(draft, task)
  if (draft.context.by.type === 'member' && (task.retries ?? 0) >= MAX_RETRIES)
    throw refusalError(
      'RESOURCE_EXHAUSTED',
      `${taskName(task)} was retried ${MAX_RETRIES} times already`,
      'Notify the user why it fails: notify_user.',
    )
  const retriedIds = [id, ...dependentsToRetry(draft.crew, id)]
  for (const taskId of retriedIds) draft.emit({ type: 'task.retried', task: taskId, by: senderOfIssuer(draft) })
  const others = retriedIds.slice(1)
  const note = `${taskName(task)} is back in the queue${others.length > 0 ? `, with the tasks that need it: ${others.join(', ')}` : ''}`
  if (draft.context.by.type === 'user') draft.messageCoordinator(`The user retried a task: ${note}.`, task, 'user')
  return note
}

/** The hint for a task that is still open: what to do instead of a retry. */
function openTaskHint({ context: { by } }: CrewDraft, { state, ask }: Task): string {
  if (state === 'queued') return 'It is in the queue already.'
  if (ask && by.type === 'user')
    return ask.for === 'human'
      ? 'It is a question for you: `reeve answer` answers it.'
      : 'It waits for you: `reeve crew deny` sends it back, `reeve crew approve` lets it be committed.'
  return 'cancel_task with requeue puts it back into the queue.'
}

/** Refuses a task that would fail again at once, because a task that it needs has failed. Errors: CONFLICT. */
function checkNeeds({ crew }: CrewDraft, task: Task): void {
  const lostNeeds = task.needs.flatMap((need) => tasksById(crew).get(need) ?? []).filter(hasFailedOrIsCancelled)
  const [first] = lostNeeds
  if (first)
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} needs ${lostNeeds.map((need) => `${need.id}, which ${closedText(need)}`).join(', and ')}`,
      `Retry ${first.id} first: tasks that failed because of it come back with it.`,
    )
}

function hasFailedOrIsCancelled({ state }: Task): boolean {
  return state === 'failed' || state === 'cancelled'
}

function closedText({ state }: Task): string {
  return state === 'failed' ? 'failed' : 'was cancelled'
}

/** Dependents that failed only because of this task, and that can be done when this task is done. */
function dependentsToRetry(crew: Crew, id: TaskId): readonly TaskId[] {
  const dependents = dependentsOf(crew.tasks, [id])
  const retried = new Set<TaskId>([id])
  const candidates = crew.tasks.filter((task) => dependents.has(task.id) && task.state === 'failed' && (task.lostNeed ?? null) !== null)
  for (let sizeBefore = 0; sizeBefore < retried.size;) {
    sizeBefore = retried.size
    for (const task of candidates) {
      const canBeDone = task.needs.every((need) => retried.has(need) || !hasFailedOrIsCancelled(tasksById(crew).get(need) ?? task))
      if (canBeDone) retried.add(task.id)
    }
  }
  return candidates.filter((task) => retried.has(task.id)).map((task) => task.id)
}

/** Errors: NOT_FOUND, CONFLICT, PERMISSION, INVALID. */
export function reopenTask(draft: CrewDraft, { task: id, comments }: CommandOf<'reopen_task'>): string {
  const task = draft.requireTask(id)
  if (draft.context.by.type !== 'user')
    throw refusalError('PERMISSION', `only the user can reopen ${taskName(task)}`, 'Add a task for what is left.')
  checkNotEnding(draft)
  if (task.state !== 'done')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is ${stateText(task.state)}`,
      hasFailedOrIsCancelled(task)
        ? 'retry_task (`reeve crew retry`) puts it back into the queue.'
        : 'It is still open: send a message to its worker, or edit the task.',
    )
  if (task.kind !== 'work')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is ${task.kind === 'human' ? 'a question for the user' : 'the resolution of a conflict'}`,
      'Add a task for what is left.',
    )
  checkNeeds(draft, task)
  if (comments.trim() === '' || comments.length > MAX_COMMENT_CHARS)
    throw refusalError(
      'INVALID',
      `the comments have ${comments.length} characters`,
      `Write what is missing, in 1 to ${MAX_COMMENT_CHARS} characters.`,
    )
  draft.emit({ type: 'task.reopened', task: id, comments, by: senderOfIssuer(draft) })
  draft.messageCoordinator(`The user reopened ${taskName(task)}: ${comments}`, task, 'user')
  return `${taskName(task)} is open again: its next worker starts from the crew's branch, with your comments`
}

function checkNotEnding({ crew }: CrewDraft): void {
  if (crew.ending)
    throw refusalError(
      'CONFLICT',
      'the crew is ending',
      'Start the crew again when it has ended: `reeve crew up` takes over the done tasks.',
    )
}
