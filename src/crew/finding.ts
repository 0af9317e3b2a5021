// Questions about a crew that several decisions ask: who is there, who may do what, what is ready. Owns no state.
// Must never change anything. Test: test/tables/crew-engine.test.ts.
import { isClosed } from './tasks.ts'
import type { Crew, CrewSpec, Member, MemberId, Task, TaskId, WorkerRole } from './types.ts'

export const ROLE_WORDS: readonly WorkerRole[] = ['generic', 'implementer', 'reviewer', 'researcher']

export function isWorker({ role }: Member): boolean {
  return role !== 'coordinator'
}

/** It lives, or is about to, and nobody takes its place. */
export function isLiving({ state, heir }: Member): boolean {
  return (state === 'starting' || state === 'on') && heir === null
}

/** Nothing is open for it, and nothing is to be tidied up first. */
export function isFree(crew: Crew, member: Member): boolean {
  return member.state === 'on' && isLiving(member) && member.phase === 'idle' && !member.held && !member.full && !hasJobs(crew, member.id) && (member.cleanup === null)
}

export function hasJobs(crew: Crew, id: MemberId): boolean {
  return crew.jobs.some((job) => job.member === id)
}

/** Whether a role does that kind of task: reviewers none, researchers those that are marked for them. */
export function canWork(role: WorkerRole | 'coordinator', task: Pick<Task, 'role'>): boolean {
  if (task.role === 'researcher') return role === 'researcher' || role === 'generic'
  return role === 'implementer' || role === 'generic'
}

export function canReview(role: WorkerRole | 'coordinator'): boolean {
  return role === 'reviewer' || role === 'generic' || role === 'implementer'
}

/** The coordinator that is there: of two, the one that takes over. Undefined: a program coordinates, or none is there. */
export function coordinatorOf(crew: Crew): Member | undefined {
  return crew.members.findLast((one) => one.role === 'coordinator' && one.state === 'on')
}

/** Who reads what the coordinator is told: the one that is there or comes, else the last one that was, or who comes after it. Undefined: a program coordinates. */
export function coordinatorToTell(crew: Crew): Member | undefined {
  return coordinatorOf(crew) ?? lastCoordinator(crew, ({ state }) => state === 'starting') ?? lastCoordinator(crew, ({ uuid, heir }) => uuid !== null && heir === null) ?? lastCoordinator(crew, () => true)
}

function lastCoordinator({ members }: Crew, which: (member: Member) => boolean): Member | undefined {
  return members.findLast((one) => one.role === 'coordinator' && which(one))
}

/** In whose place a member stands, and who that one came after, the first of them first. */
export function predecessorsOf({ members }: Pick<Crew, 'members'>, id: MemberId): readonly Member[] {
  const found: Member[] = []
  for (let heir = members.find((one) => one.id === id); heir; heir = found[0]) {
    const before = members.find((one) => one.id === heir?.heirOf && one.heir === heir.id)
    if (!before || found.includes(before)) return found
    found.unshift(before)
  }
  return found
}

/** Who stands in its place in the end: itself, if it has no successor. */
export function successorOf({ members }: Pick<Crew, 'members'>, id: MemberId): Member | undefined {
  const seen = new Set<MemberId>()
  let last = members.find((one) => one.id === id)
  for (let next = last; next && !seen.has(next.id); next = members.find((one) => one.id === next?.heir)) {
    seen.add(next.id)
    last = next
  }
  return last
}

export function workersOf(crew: Crew): readonly Member[] {
  return crew.members.filter((one) => isWorker(one) && isLiving(one))
}

const INDEXES = new WeakMap<readonly Task[], ReadonlyMap<TaskId, Task>>()

/** By id. Made once for as long as the tasks are these: a crew of a thousand asks for it often. */
export function tasksById({ tasks }: Crew): ReadonlyMap<TaskId, Task> {
  const known = INDEXES.get(tasks)
  if (known) return known
  const made = new Map(tasks.map((task) => [task.id, task]))
  INDEXES.set(tasks, made)
  return made
}

/** All that it needs is done. */
export function isReady(crew: Crew, task: Task): boolean {
  return task.state === 'queued' && task.needs.every((need) => tasksById(crew).get(need)?.state === 'done')
}

export function openTasks(crew: Crew): readonly Task[] {
  return crew.tasks.filter((task) => !isClosed(task))
}

/** Its implementer, if that still has it. */
export function holderOf(crew: Crew, task: Task): Member | undefined {
  return crew.members.find((one) => one.id === task.implementer && one.task === task.id)
}

/** What it is about in a hurry: `task-3 "Title"`. */
export function named({ id, title }: Pick<Task, 'id' | 'title'>): string {
  return `${id} "${title}"`
}

/** A person stands in for a program that has no opinion. */
export function asksPerson({ gate, coordinator }: CrewSpec): boolean {
  return gate === 'human' || (gate === 'coordinator' && coordinator === 'engine')
}

/** Where a commit of a task is until it is merged: a branch of its own, which outlives its worker. */
export function branchOf({ git }: CrewSpec, task: Pick<Task, 'id'>): string {
  return git ? `branch ${git.branch}.${task.id}` : 'no branch'
}

export function commits(spec: CrewSpec, task: Task): boolean {
  return spec.git !== null && task.role !== 'researcher'
}

/** Whether it can review something sooner or later: who waits for a review of its own will not, as far as anybody knows. */
export function willBeFree(crew: Crew, member: Member): boolean {
  if (member.full && member.phase === 'idle') return false
  if (member.phase !== 'awaiting_review') return true
  return crew.tasks.some(({ id, state }) => id === member.task && state !== 'awaiting_review')
}

/** Two who wait for each other's review would wait for ever: somebody else who can review stays free, or can be started (`more`). */
export function leavesReviewer(crew: Crew, chosen: MemberId, more: boolean): boolean {
  const others = workersOf(crew).filter((one) => one.id !== chosen && canReview(one.role))
  return more || others.length === 0 || others.some(({ phase }) => phase === 'idle' || phase === 'reviewing')
}

/** It awaits a review, and everybody who could do it awaits one as well, or implemented it. */
export function isBeyondReview(crew: Crew, task: Task): boolean {
  return task.state === 'awaiting_review' && task.reviews && !workersOf(crew).some((one) => canReview(one.role) && one.id !== task.implementer && willBeFree(crew, one))
}

/** The crew has room for another worker. */
export function hasRoom(crew: Crew, { maxWorkers }: CrewSpec): boolean {
  return !crew.ending && workersOf(crew).length < maxWorkers
}
