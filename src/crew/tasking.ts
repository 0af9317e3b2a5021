// What people, coordinators and the engine say about tasks: add, assign, review, approve, cancel, mark. Owns what is asked for
// before the tables are; each refusal says what to do instead. Test: test/tables/crew-engine.test.ts.
import { refusal } from './crew-work.ts'
import { close, fail, requeue } from './effects.ts'
import { canReview, canWork, hasRoom, isLiving, isReady, leavesReviewer, named, ROLE_WORDS, workersOf } from './finding.ts'
import { cycleIn } from './graph.ts'
import { ask } from './asking.ts'
import { isClosed, isLanding, TASK_ID } from './tasks.ts'
import type { Command, NewTask } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Member, MemberId, Task, TaskId } from './types.ts'
import type { Sender } from '../kernel/types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>

/** tasks that one crew may have, closed ones too */
const MAX_TASKS = 1_000
const TITLE_CHARS = 200
const TEXT_CHARS = 64 * 1_024

export function byOf({ ctx: { by } }: CrewWork): Sender {
  if (by.type === 'member') return 'coordinator'
  return by.type === 'person' ? 'user' : 'system'
}

/** All or none. Errors: INVALID, CONFLICT, NOT_FOUND, RESOURCE_EXHAUSTED. */
export function addTasks(work: CrewWork, tasks: readonly NewTask[]): string {
  if (work.crew.ending) throw refusal('CONFLICT', 'the crew is ending', 'Start another crew for it: `reeve crew up`.')
  if (tasks.length === 0) throw refusal('INVALID', 'there is no task', 'Give at least one, with a title and a text.')
  if (work.crew.tasks.length + tasks.length > MAX_TASKS) throw refusal('RESOURCE_EXHAUSTED', `a crew has at most ${MAX_TASKS} tasks`, 'Start another crew for the rest.')
  const known = new Set(work.crew.tasks.map(({ id }) => id))
  const added = withIds(work, tasks, known)
  for (const task of added) check(task, known)
  const cycle = cycleIn(added.map(({ id, needs }) => ({ id, needs: needs ?? [] })))
  if (cycle) throw refusal('INVALID', `the tasks need each other in a circle: ${cycle.join(' → ')}`, 'Take one of the needs away.')
  for (const task of added) emitTask(work, task)
  return `added ${added.map(({ id }) => id).join(', ')}`
}

type Named = NewTask & { readonly id: TaskId }

function withIds({ crew }: CrewWork, tasks: readonly NewTask[], known: Set<TaskId>): readonly Named[] {
  const given = new Set(tasks.flatMap(({ id }) => id ?? []))
  let next = crew.nextTask
  return tasks.map((task) => {
    if (task.id !== undefined && known.has(task.id)) throw refusal('CONFLICT', `there is a task "${task.id}" already`, 'Give it another id, or none.')
    let id = task.id
    for (; id === undefined || (task.id === undefined && (known.has(id) || given.has(id))); next += 1) id = `task-${next}`
    known.add(id)
    return { ...task, id, title: inOneLine(task.title) }
  })
}

/** It is the subject of a commit, and the first line of messages. */
function inOneLine(title: string): string {
  return title.replaceAll(/\s+/g, ' ').trim()
}

function check(task: Named, known: ReadonlySet<TaskId>): void {
  const { id, title, text, needs = [], role } = task
  if (!TASK_ID.test(id)) throw refusal('INVALID', `"${id}" is no task id`, 'Use small letters, digits, ".", "_" and "-", at most 40, as the name of a branch may have them; members are called worker-N.')
  if (title === '' || title.length > TITLE_CHARS) throw refusal('INVALID', `the title of ${id} has ${title.length} characters`, `Give it 1 to ${TITLE_CHARS}.`)
  if (text.trim() === '' || text.length + (task.acceptance?.length ?? 0) > TEXT_CHARS) throw refusal('INVALID', `the text of ${id} has ${text.length} characters`, `Give it 1 to ${TEXT_CHARS}, with its acceptance.`)
  if (role === 'reviewer' || (role && !ROLE_WORDS.includes(role))) throw refusal('INVALID', `no ${role} takes a task`, 'Use implementer, researcher or generic, or none.')
  const unknown = needs.find((need) => !known.has(need))
  if (unknown !== undefined) throw refusal('NOT_FOUND', `${id} needs "${unknown}", which is no task`, 'Add that first, or together with it.')
}

function emitTask(work: CrewWork, { id, title, text, acceptance, needs = [], kind = 'work', role, reviews }: Named): void {
  const reviewed = kind === 'work' && role !== 'researcher' && (reviews ?? work.spec.reviews)
  work.emit({ type: 'task.added', task: id, kind, title, text, ...(acceptance === undefined ? {} : { acceptance }), needs: [...new Set(needs)], role: role ?? null, reviews: reviewed, by: byOf(work) })
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function assignTask(work: CrewWork, { task: id, member: to }: CommandOf<'assign_task'>): string {
  const task = work.needTask(id)
  const member = needAssignable(work, to)
  if (task.state !== 'queued') throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, task.implementer && !isClosed(task) ? `${task.implementer} has it: cancel_task with requeue takes it away.` : 'Only a task in the queue is assigned.')
  if (task.kind === 'human') throw refusal('INVALID', `${named(task)} is a question for a person`, 'It is answered with `reeve answer`.')
  if (!isReady(work.crew, task)) throw refusal('CONFLICT', `${named(task)} needs ${unmet(work, task)}`, 'Assign that first.')
  if (!canWork(member.role, task)) throw refusal('INVALID', `${to} is a ${member.role}`, `Choose one of ${names(work, (one) => canWork(one.role, task)) || 'those that you start with spawn_worker'}.`)
  const { crew, spec, ctx } = work
  if (ctx.by.type === 'member' && task.reviews && !leavesReviewer(crew, to, hasRoom(crew, spec))) throw refusal('CONFLICT', `then nobody could review ${named(task)}: all others have work of their own`, 'Give the reviews first (assign_review), or wait for a worker to be idle again.')
  work.emit({ type: 'task.assigned', task: id, member: to })
  return `${to} gets ${named(task)}`
}

function unmet({ crew }: CrewWork, { needs }: Task): string {
  return needs.flatMap((need) => crew.tasks.filter(({ id, state }) => id === need && state !== 'done')).map(({ id, state }) => `${id}, which is ${words(state)}`).join('; ')
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function assignReview(work: CrewWork, { task: id, member: to }: CommandOf<'assign_review'>): string {
  const task = work.needTask(id)
  const member = needAssignable(work, to)
  if (task.state !== 'awaiting_review') throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, 'A review is given when its implementer has reported.')
  if (task.implementer === to) throw refusal('INVALID', `${to} implemented ${named(task)}`, `Choose another: ${names(work, (one) => canReview(one.role) && one.id !== to) || 'spawn_worker starts one'}.`)
  if (!canReview(member.role)) throw refusal('INVALID', `${to} is a ${member.role}`, `Choose one of ${names(work, (one) => canReview(one.role) && one.id !== task.implementer) || 'those that you start with spawn_worker'}.`)
  const earlier = task.implementers.includes(to)
  const others = names(work, (one) => canReview(one.role) && !task.implementers.includes(one.id))
  if (earlier && others !== '') throw refusal('INVALID', `${to} worked on ${named(task)} earlier`, `Choose one who did not: ${others}.`)
  work.emit({ type: 'task.review', task: id, member: to, ...(earlier ? { earlier } : {}) })
  return `${to} reviews ${named(task)}${earlier ? ', and worked on it earlier: there is nobody else' : ''}`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function askReview(work: CrewWork, { task: id }: CommandOf<'ask_review'>): string {
  const task = work.needTask(id)
  if (task.state !== 'awaiting_review') throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, 'A review is asked for when its implementer has reported.')
  ask(work, task, 'review')
  return `a person is asked to review ${named(task)}`
}

/** The gate says yes. A person may do without the review. Errors: NOT_FOUND, CONFLICT, PERMISSION. */
export function approveCommit(work: CrewWork, { task: id }: CommandOf<'approve_commit'>): string {
  const task = work.needTask(id)
  const person = work.ctx.by.type === 'person'
  if (task.cleared) throw refusal('CONFLICT', `${named(task)} is approved already`, 'Nothing to do: it is committed as soon as it is its turn.')
  if (task.state === 'waiting' && (task.ask?.for === 'human' || !person)) throw refusal('PERMISSION', `${named(task)} waits for a person`, '`reeve answer` is for people alone.')
  if (task.state !== 'waiting' && task.state !== 'approved' && task.state !== 'awaiting_review') throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, 'It is approved after its review.')
  if (task.state === 'awaiting_review' && task.reviews && !person) throw refusal('CONFLICT', `${named(task)} has no verdict`, 'assign_review gives it to a reviewer first.')
  if (task.ask) work.act({ type: 'unask', task: id, id: task.ask.id })
  work.emit({ type: 'task.approved', task: id, by: byOf(work) })
  return `${named(task)} may be committed`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function cancelTask(work: CrewWork, { task: id, reason, requeue: again }: CommandOf<'cancel_task'>): string {
  const task = needClosable(work, id)
  if (again && task.state === 'queued') throw refusal('CONFLICT', `${named(task)} is in the queue`, 'assign_task gives it to a worker.')
  if (again) requeue(work, task, { reason, counts: false })
  else close(work, task, { type: 'task.cancelled', task: id, reason }, `${named(task)} was cancelled: ${reason}`)
  return `${named(task)} ${again ? 'is back in the queue' : 'is cancelled'}`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function markDone(work: CrewWork, { task: id, reason }: CommandOf<'mark_task_done'>): string {
  const task = needClosable(work, id)
  close(work, task, { type: 'task.done', task: id, reason }, `${named(task)} was marked as done: ${reason}`)
  return `${named(task)} is done`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function markFailed(work: CrewWork, { task: id, reason }: CommandOf<'mark_task_failed'>): string {
  const task = needClosable(work, id)
  fail(work, task, reason)
  return `${named(task)} has failed`
}

/** A commit that is under way is waited for, and what is closed stays closed. */
function needClosable(work: CrewWork, id: TaskId): Task {
  const task = work.needTask(id)
  if (isClosed(task)) throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, 'Nothing to do. Add a new task for what is left.')
  if (task.conflict !== null) throw refusal('CONFLICT', `${named(task)} is committed, and waits for ${task.conflict}`, `Cancel ${task.conflict}: then it has failed.`)
  if (isLanding(task)) throw refusal('CONFLICT', `${named(task)} is ${words(task.state)}`, 'Wait until that is done.')
  return task
}

function needAssignable(work: CrewWork, id: MemberId): Member {
  const member = work.needMember(id)
  if (work.crew.ending) throw refusal('CONFLICT', 'the crew is ending', 'Nothing new is begun.')
  if (!isLiving(member)) throw refusal('CONFLICT', `${id} ${member.heir ? `was replaced by ${member.heir}` : 'is no longer there'}`, `Choose one of ${names(work, () => true) || 'those that you start with spawn_worker'}.`)
  if (member.role === 'coordinator') throw refusal('INVALID', `${id} coordinates`, 'Choose a worker.')
  if (member.phase !== 'idle') throw refusal('CONFLICT', `${id} is ${words(member.phase)} (${member.task})`, `Choose one that is idle: ${names(work, ({ phase }) => phase === 'idle') || 'wait, or start one with spawn_worker'}.`)
  return member
}

function names({ crew }: CrewWork, which: (member: Member) => boolean): string {
  return workersOf(crew).filter(which).map(({ id }) => id).join(', ')
}

export function words(state: string): string {
  return state.replaceAll('_', ' ')
}
