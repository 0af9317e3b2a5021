// Commands about tasks from the user, coordinators and the engine: add, assign, review, approve, cancel, mark. Checks their preconditions;
// each refusal names what to do instead. Test: test/tables/kernel/crew/decide/engine.test.ts.
import { refusalError } from '../refusal-error.ts'
import { closeTask, failTask, requeueTask } from '../release-task.ts'
import { needsReview, canRoleReview, mayReview, canRoleImplement, isActive, isReady, workersOf } from '../../state/queries.ts'
import { taskName } from '../../text/task-text.ts'
import { stateText } from '../../state/phases.ts'
import { findCycle } from '../../../util/graph.ts'
import { askUser } from '../user-questions.ts'
import { canTakeReview } from '../../state/reviewers.ts'
import { TASK_ID_PATTERN, TASK_ID_HINT, taskKey } from '../../state/task-ids.ts'
import { isClosed, isCommittingOrMerging } from '../../state/task-states.ts'
import { awaitsVerify } from '../../state/verify-rules.ts'
import { canImplement, matchesTaskAgent, toTaskAgent, taskAgentText } from '../../state/eligible-workers.ts'
import type { NewTask, CommandOf } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Member, Task } from '../../../model/crew/crew.ts'
import type { Sender } from '../../../model/ids.ts'
import type { MemberId, TaskId } from '../../../model/crew/words.ts'
import { TASK_ROLES } from '../../../model/crew/words.ts'

/** maximum number of tasks per crew, closed ones included */
const MAX_CREW_TASKS = 1_000
const MAX_TITLE_CHARS = 200
const MAX_TEXT_CHARS = 64 * 1_024
/** a priority is an integer from -MAX_PRIORITY to MAX_PRIORITY */
const MAX_PRIORITY = 1_000

export function senderOfIssuer({ context: { by } }: CrewDraft): Sender {
  if (by.type === 'member') return 'coordinator'
  return by.type === 'user' ? 'user' : 'system'
}

/** Adds all tasks or none. Errors: INVALID, CONFLICT, NOT_FOUND, RESOURCE_EXHAUSTED. */
export function addTasks(draft: CrewDraft, tasks: readonly NewTask[]): string {
  if (draft.crew.ending) throw refusalError('CONFLICT', 'the crew is ending', 'Start another crew for the task: `reeve crew up`.')
  if (tasks.length === 0) throw refusalError('INVALID', 'no task is given', 'Give at least one, with a title and a text.')
  if (draft.crew.tasks.length + tasks.length > MAX_CREW_TASKS)
    throw refusalError('RESOURCE_EXHAUSTED', `a crew has at most ${MAX_CREW_TASKS} tasks`, 'Start another crew for the rest.')
  const known = new Set(draft.crew.tasks.map(({ id }) => id))
  const added = assignTaskIds(tasks, known, draft.crew.nextTask)
  for (const task of added) checkNewTask(task, known)
  const cycle = findCycle(added.map(({ id, needs }) => ({ id, needs: needs ?? [] })))
  if (cycle) throw refusalError('INVALID', `the tasks need each other in a circle: ${cycle.join(' → ')}`, 'Remove one of the needs.')
  for (const task of added) recordNewTask(draft, task)
  return `added ${added.map(({ id }) => id).join(', ')}`
}

type TaskWithId = NewTask & { readonly id: TaskId }

/** Gives each task an id. `known`: the ids that the crew uses, to which the new ids are added. Errors: CONFLICT for an id in use. */
export function assignTaskIds(tasks: readonly NewTask[], known = new Set<TaskId>(), firstNumber = 1): readonly TaskWithId[] {
  const requestedKeys = new Set(tasks.flatMap(({ id }) => (id === undefined ? [] : taskKey(id))))
  const usedKeys = new Map([...known].map((id) => [taskKey(id), id]))
  let nextNumber = firstNumber
  return tasks.map((task) => {
    const existing = task.id === undefined ? undefined : usedKeys.get(taskKey(task.id))
    if (existing !== undefined)
      throw refusalError(
        'CONFLICT',
        `the crew already has a task "${existing}"`,
        `Use another id, or none${existing === task.id ? '' : ': ids that differ in case only could share a branch'}.`,
      )
    let id = task.id
    for (; id === undefined || (task.id === undefined && (usedKeys.has(id) || requestedKeys.has(id))); nextNumber += 1)
      id = `task-${nextNumber}`
    usedKeys.set(taskKey(id), id)
    known.add(id)
    return { ...task, id, title: toOneLine(task.title) }
  })
}

/** The title in one line, because it becomes the subject of a commit and the first line of messages. */
export function toOneLine(title: string): string {
  return title.replaceAll(/\s+/g, ' ').trim()
}

function checkNewTask(task: TaskWithId, known: ReadonlySet<TaskId>): void {
  const { id, needs = [], role, priority = 0 } = task
  if (!TASK_ID_PATTERN.test(id)) throw refusalError('INVALID', `"${id}" is not a valid task id`, `Use ${TASK_ID_HINT}.`)
  checkTaskTexts(task)
  if (role && !TASK_ROLES.some((word) => word === role))
    throw refusalError('INVALID', `a ${role} cannot implement a task`, `Use one of ${TASK_ROLES.join(', ')}, or leave the role out.`)
  checkPriority(priority)
  const unknown = needs.find((need) => !known.has(need))
  if (unknown !== undefined)
    throw refusalError('NOT_FOUND', `${id} needs "${unknown}", which does not exist`, 'Add that task first, or in the same call.')
}

/** Errors: INVALID. */
export function checkTaskTexts({ id, title, text, acceptance }: Pick<TaskWithId, 'id' | 'title' | 'text' | 'acceptance'>): void {
  if (title === '' || title.length > MAX_TITLE_CHARS)
    throw refusalError('INVALID', `the title of ${id} has ${title.length} characters`, `Give it 1 to ${MAX_TITLE_CHARS} characters.`)
  if (text.trim() === '' || text.length + (acceptance?.length ?? 0) > MAX_TEXT_CHARS)
    throw refusalError(
      'INVALID',
      `the text of ${id} has ${text.length} characters, and its acceptance ${acceptance?.length ?? 0}`,
      `Give a text. Both together may have ${MAX_TEXT_CHARS} characters.`,
    )
}

/** Errors: INVALID. */
export function checkPriority(priority: number): void {
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY)
    throw refusalError(
      'INVALID',
      `${priority} is not a valid priority`,
      `Give a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}; the default is 0, and higher comes first.`,
    )
}

function recordNewTask(
  draft: CrewDraft,
  {
    id,
    title,
    text,
    acceptance,
    needs = [],
    kind = 'work',
    role,
    reviews,
    priority = 0,
    verify,
    limits,
    taken,
    ...agentChoice
  }: TaskWithId,
): void {
  const needsReviewer = kind === 'work' && role !== 'researcher' && (reviews ?? draft.spec.reviews)
  const who = kind === 'human' ? undefined : toTaskAgent(agentChoice)
  draft.emit({
    type: 'task.added',
    task: id,
    kind,
    title,
    text,
    ...(acceptance === undefined ? {} : { acceptance }),
    needs: [...new Set(needs)],
    role: role ?? null,
    reviews: needsReviewer,
    by: senderOfIssuer(draft),
    ...(priority === 0 ? {} : { priority }),
    ...(limits === undefined || kind === 'human' ? {} : { limits }),
    ...(verify === undefined || kind === 'human' ? {} : { verify }),
    ...(who === undefined ? {} : { who }),
  })
  if (taken) draft.emit({ type: 'task.taken', task: id, ...taken })
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function assignTask(draft: CrewDraft, { task: id, member: to }: CommandOf<'assign_task'>): string {
  const task = draft.requireTask(id)
  const member = requireAssignable(draft, to)
  if (task.state !== 'queued')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is ${stateText(task.state)}`,
      task.implementer && !isClosed(task)
        ? `${task.implementer} has it: cancel_task with requeue takes it away.`
        : 'Only queued tasks can be assigned.',
    )
  if (task.kind === 'human')
    throw refusalError('INVALID', `${taskName(task)} is a question for the user`, 'The user answers it with `reeve answer`.')
  if (!isReady(draft.crew, task))
    throw refusalError('CONFLICT', `${taskName(task)} needs ${unmetNeeds(draft, task)}`, 'Assign the needed task first.')
  if (!canRoleImplement(member.role, task))
    throw refusalError(
      'INVALID',
      `${to} is a ${member.role}`,
      `Choose one of ${workerNames(draft, (candidate) => canRoleImplement(candidate.role, task)) || 'those that you start with spawn_worker'}.`,
    )
  if (!matchesTaskAgent(member, task))
    throw refusalError(
      'INVALID',
      `${taskName(task)} is for ${taskAgentText(task.who)}, and ${to} has ${taskAgentText(member.who)}`,
      workerNames(draft, (candidate) => canImplement(candidate, task))
        ? `Choose one of ${workerNames(draft, (candidate) => canImplement(candidate, task))}.`
        : `spawn_worker with \`task\` ${id} starts one that fits.`,
    )
  draft.emit({ type: 'task.assigned', task: id, member: to })
  return `${to} gets ${taskName(task)}`
}

function unmetNeeds({ crew }: CrewDraft, { needs }: Task): string {
  return needs
    .flatMap((need) => crew.tasks.filter(({ id, state }) => id === need && state !== 'done'))
    .map(({ id, state }) => `${id}, which is ${stateText(state)}`)
    .join('; ')
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function assignReview(draft: CrewDraft, { task: id, member: to }: CommandOf<'assign_review'>): string {
  const task = draft.requireTask(id)
  const member = requireAssignable(draft, to, ({ phase }) => phase === 'idle' || phase === 'awaiting_review')
  if (!needsReview(task) && task.state !== 'awaiting_review')
    throw refusalError('CONFLICT', `${taskName(task)} is ${stateText(task.state)}`, 'Assign the review after the implementer has reported.')
  checkVerified(draft, task)
  if (task.implementer === to)
    throw refusalError(
      'INVALID',
      `${to} implemented ${taskName(task)}`,
      `Choose another: ${workerNames(draft, (candidate) => mayReview(candidate, task)) || 'spawn_worker starts one'}.`,
    )
  if (!canRoleReview(member.role))
    throw refusalError(
      'INVALID',
      `${to} is a ${member.role}`,
      `Choose one of ${workerNames(draft, (candidate) => mayReview(candidate, task)) || 'those that you start with spawn_worker'}.`,
    )
  const isEarlierImplementer = task.implementers.includes(to)
  const others = workerNames(draft, (candidate) => canRoleReview(candidate.role) && !task.implementers.includes(candidate.id))
  if (isEarlierImplementer && others !== '')
    throw refusalError('INVALID', `${to} worked on ${taskName(task)} earlier`, `Choose one that did not: ${others}.`)
  if (member.phase !== 'idle' && !canTakeReview(draft.crew, draft.spec, member))
    throw refusalError(
      'CONFLICT',
      `${to} is ${stateText(member.phase)} (${member.task}), and cannot review now`,
      'It is paused, or its files are in use. Choose another, or wait.',
    )
  if (task.ask) draft.addAct({ type: 'unask', task: id, id: task.ask.id })
  draft.emit({ type: 'task.review', task: id, member: to, ...(isEarlierImplementer ? { earlier: isEarlierImplementer } : {}) })
  return `${to} reviews ${taskName(task)}${isEarlierImplementer ? ', although it worked on it earlier: no other worker can review' : ''}`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function askReview(draft: CrewDraft, { task: id }: CommandOf<'ask_review'>): string {
  const task = draft.requireTask(id)
  if (task.state !== 'awaiting_review')
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is ${stateText(task.state)}`,
      'Ask for the review after the implementer has reported.',
    )
  checkVerified(draft, task)
  askUser(draft, task, 'review')
  return `the user is asked to review ${taskName(task)}`
}

/** Approves the commit. The user may skip the review. Errors: NOT_FOUND, CONFLICT, PERMISSION. */
export function approveCommit(draft: CrewDraft, { task: id }: CommandOf<'approve_commit'>): string {
  const task = draft.requireTask(id)
  const isUser = draft.context.by.type === 'user'
  checkNotClosed(task)
  if (task.cleared)
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is approved already`,
      'Nothing to do: it is committed when its turn in the merge queue comes.',
    )
  if (task.state === 'waiting' && (task.ask?.for === 'human' || !isUser))
    throw refusalError('PERMISSION', `${taskName(task)} waits for the user`, 'Only the user can answer: `reeve answer`.')
  if (task.state !== 'waiting' && task.state !== 'approved' && task.state !== 'awaiting_review')
    throw refusalError('CONFLICT', `${taskName(task)} is ${stateText(task.state)}`, 'Approve it after its review.')
  if (task.state === 'awaiting_review' && task.reviews && !isUser)
    throw refusalError('CONFLICT', `${taskName(task)} has no verdict`, 'Assign its review first with assign_review.')
  checkVerified(draft, task)
  if (task.ask) draft.addAct({ type: 'unask', task: id, id: task.ask.id })
  draft.emit({ type: 'task.approved', task: id, by: senderOfIssuer(draft) })
  return `${taskName(task)} may be committed`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function cancelTask(draft: CrewDraft, { task: id, reason, requeue: isRequeued }: CommandOf<'cancel_task'>): string {
  const task = requireClosable(draft, id)
  if (isRequeued && task.state === 'queued')
    throw refusalError('CONFLICT', `${taskName(task)} is in the queue`, 'assign_task gives it to a worker.')
  if (isRequeued) requeueTask(draft, task, { reason, counts: false })
  else closeTask(draft, task, { type: 'task.cancelled', task: id, reason }, `${taskName(task)} was cancelled: ${reason}`)
  return `${taskName(task)} ${isRequeued ? 'is back in the queue' : 'is cancelled'}`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function markDone(draft: CrewDraft, { task: id, reason }: CommandOf<'mark_task_done'>): string {
  const task = requireClosable(draft, id)
  closeTask(
    draft,
    task,
    { type: 'task.done', task: id, reason, by: senderOfIssuer(draft) },
    `${taskName(task)} was marked as done: ${reason}`,
  )
  return `${taskName(task)} is done`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function markFailed(draft: CrewDraft, { task: id, reason }: CommandOf<'mark_task_failed'>): string {
  const task = requireClosable(draft, id)
  failTask(draft, task, reason)
  return `${taskName(task)} has failed`
}

function checkNotClosed(task: Task): void {
  if (isClosed(task))
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is ${stateText(task.state)}`,
      task.state === 'done'
        ? 'Nothing to do. `reeve crew reopen` opens it again; add a task for what is left.'
        : 'retry_task (`reeve crew retry`) puts it back into the queue.',
    )
}

/** Returns a task that may be closed now: it is neither closed nor being committed. Errors: NOT_FOUND, CONFLICT. */
function requireClosable(draft: CrewDraft, id: TaskId): Task {
  const task = draft.requireTask(id)
  checkNotClosed(task)
  if (task.conflict !== null)
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is committed, and waits for ${task.conflict}`,
      `Cancel ${task.conflict} instead: then this task fails.`,
    )
  if (isCommittingOrMerging(task)) throw refusalError('CONFLICT', `${taskName(task)} is ${stateText(task.state)}`, 'Wait until it is done.')
  return task
}

function requireAssignable(draft: CrewDraft, id: MemberId, isAble: (member: Member) => boolean = ({ phase }) => phase === 'idle'): Member {
  const member = draft.requireMember(id)
  if (draft.crew.ending) throw refusalError('CONFLICT', 'the crew is ending', 'It takes no new work.')
  if (!isActive(member))
    throw refusalError(
      'CONFLICT',
      `${id} ${member.heir ? `was replaced by ${member.heir}` : 'has left the crew'}`,
      `Choose one of ${workerNames(draft, () => true) || 'those that you start with spawn_worker'}.`,
    )
  if (member.role === 'coordinator') throw refusalError('INVALID', `${id} is a coordinator`, 'Choose a worker.')
  if (!isAble(member))
    throw refusalError(
      'CONFLICT',
      `${id} is ${stateText(member.phase)} (${member.task})`,
      `Choose one that is idle: ${workerNames(draft, isAble) || 'wait, or start one with spawn_worker'}.`,
    )
  return member
}

function workerNames({ crew }: CrewDraft, matches: (member: Member) => boolean): string {
  return workersOf(crew)
    .filter(matches)
    .map(({ id }) => id)
    .join(', ')
}

/** Refuses a task whose verify command has not passed yet. Errors: CONFLICT. */
function checkVerified({ crew, spec }: CrewDraft, task: Task): void {
  if (awaitsVerify(crew, spec, task))
    throw refusalError(
      'CONFLICT',
      `${taskName(task)} is being verified`,
      'Assign the review when verify has passed: reeve sends you a message.',
    )
}
