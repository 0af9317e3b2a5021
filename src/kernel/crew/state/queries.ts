// Read-only queries about a crew: its members, the work that they can take, and the order of its tasks. Must never change anything.
// Test: test/tables/kernel/crew/decide/engine.test.ts.
import { isClosed } from './task-states.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { MemberId, TaskId, WorkerRole } from '../../model/crew/words.ts'
import type { Job } from '../../model/crew/facts.ts'
import type { Process } from '../../model/process.ts'
import type { CrewGitSpec, CrewSpec } from '../../model/process-spec.ts'

/** The repository and the branch of a crew; null if it works without a repository. `crew`: the crew's process. */
export function crewGitSpec(crew: Pick<Process, 'spec'>): CrewGitSpec | null {
  return crew.spec.crew?.git ?? null
}

export function isWorker({ role }: Member): boolean {
  return role !== 'coordinator'
}

/** Whether the member is starting or on, and has no successor. */
export function isActive({ state, heir }: Member): boolean {
  return (state === 'starting' || state === 'on') && heir === null
}

/** Whether the member can take new work now: it has no task, pause, full context, open job or pending cleanup. */
export function isFree(crew: Crew, member: Member): boolean {
  return (
    member.state === 'on' &&
    isActive(member) &&
    member.phase === 'idle' &&
    !member.held &&
    !member.full &&
    !hasJobsThatNeedMember(crew, member.id) &&
    member.cleanup === null
  )
}

/** Whether the member's files are unused: no turn is in progress and no job is open. */
export function hasUnusedFiles(crew: Crew, { state, turn, id }: Member): boolean {
  return state === 'on' && turn.open === null && !hasJobsThatNeedMember(crew, id)
}

/** Types of jobs that change the member's files or need them unchanged. During such a job, the member must not be in a turn. */
const JOBS_ON_FILES: ReadonlySet<Job['type']> = new Set(['setup', 'prepare', 'reset', 'park', 'verify'])

export function needsUnusedFiles(job: Job): boolean {
  return JOBS_ON_FILES.has(job.type) && !isIndependentJob(job)
}

/** Whether the member is paused because of its own behaviour: repeated calls, or tools that keep failing. */
export function isLooping({ held, heldFor }: Member): boolean {
  return held && (heldFor === 'loop' || heldFor === 'breaker')
}

export function hasJobsThatNeedMember(crew: Crew, id: MemberId): boolean {
  return crew.jobs.some((job) => job.member === id && !isIndependentJob(job))
}

/** Whether the job waits until the branch is free and unchanged. Its member is not needed meanwhile. */
export function isPatientJob(job: Job): boolean {
  return job.type === 'merge' && job.patient === true
}

/** Whether the job runs without its member. Such a job may take long. */
export function isIndependentJob(job: Job): boolean {
  return isPatientJob(job) || (job.type === 'verify' && job.merge !== undefined)
}

/** Whether a role may implement the task: reviewers implement no tasks, researchers only research tasks. */
export function canRoleImplement(role: WorkerRole | 'coordinator', task: Pick<Task, 'role'>): boolean {
  if (task.role === 'researcher') return role === 'researcher' || role === 'generic'
  return role === 'implementer' || role === 'generic'
}

export function canRoleReview(role: WorkerRole | 'coordinator'): boolean {
  return role === 'reviewer' || role === 'generic' || role === 'implementer'
}

/** Whether the member may review the task at some time: its role reviews, and it is not the implementer. */
export function mayReview({ role, id }: Member, { implementer }: Task): boolean {
  return canRoleReview(role) && id !== implementer
}

/** The running coordinator; if two are running, the successor. Undefined when the engine coordinates, or when no coordinator is running. */
export function coordinatorOf(crew: Crew): Member | undefined {
  return crew.members.findLast((member) => member.role === 'coordinator' && member.state === 'on')
}

/**
 * The coordinator that gets messages: the running one, else a starting one. If there is neither, it is the last one that had a process and
 * has no successor, else the last one. A later successor inherits its messages. Undefined when the engine coordinates.
 */
export function coordinatorRecipient(crew: Crew): Member | undefined {
  return (
    coordinatorOf(crew) ??
    lastCoordinator(crew, ({ state }) => state === 'starting') ??
    lastCoordinator(crew, ({ uuid, heir }) => uuid !== null && heir === null) ??
    lastCoordinator(crew, () => true)
  )
}

function lastCoordinator({ members }: Crew, matches: (member: Member) => boolean): Member | undefined {
  return members.findLast((member) => member.role === 'coordinator' && matches(member))
}

/** The chain of predecessors of a member, oldest first. */
export function predecessorsOf({ members }: Pick<Crew, 'members'>, id: MemberId): readonly Member[] {
  const found: Member[] = []
  for (let successor = members.find((member) => member.id === id); successor; successor = found[0]) {
    const predecessor = members.find((member) => member.id === successor?.heirOf && member.heir === successor.id)
    if (!predecessor || found.includes(predecessor)) return found
    found.unshift(predecessor)
  }
  return found
}

/** The last successor of a member, or the member itself. */
export function lastSuccessorOf({ members }: Pick<Crew, 'members'>, id: MemberId): Member | undefined {
  const visited = new Set<MemberId>()
  let last = members.find((member) => member.id === id)
  for (let next = last; next && !visited.has(next.id); next = members.find((member) => member.id === next?.heir)) {
    visited.add(next.id)
    last = next
  }
  return last
}

export function workersOf(crew: Crew): readonly Member[] {
  return crew.members.filter((member) => isWorker(member) && isActive(member))
}

const TASK_INDEXES = new WeakMap<readonly Task[], ReadonlyMap<TaskId, Task>>()

/** The tasks by id. The map is cached per task list, because crews of a thousand tasks use it often. */
export function tasksById({ tasks }: Crew): ReadonlyMap<TaskId, Task> {
  const cached = TASK_INDEXES.get(tasks)
  if (cached) return cached
  const index = new Map(tasks.map((task) => [task.id, task]))
  TASK_INDEXES.set(tasks, index)
  return index
}

/** The task's priority; 0 by default. */
export function priorityOf({ priority = 0 }: Pick<Task, 'priority'>): number {
  return priority
}

/**
 * Sorts tasks: those that block the merge queue first, then by priority. The sort is stable: equal tasks keep their order in the crew's
 * row.
 */
export function sortByRank(tasks: readonly Task[]): readonly Task[] {
  return tasks.some((task) => rankOf(task) !== 0) ? tasks.toSorted((a, b) => rankOf(b) - rankOf(a)) : tasks
}

/** Whether all other tasks must wait until this task has landed. */
export function blocksQueue({ kind, landing }: Task): boolean {
  return kind === 'conflict' || landing?.holds === true
}

/** The sort key of `sortByRank`; higher comes first. */
export function rankOf(task: Task): number {
  return blocksQueue(task) ? Number.MAX_SAFE_INTEGER : priorityOf(task)
}

/** Whether the task is queued, and all tasks that it needs are done. */
export function isReady(crew: Crew, task: Task): boolean {
  return task.state === 'queued' && task.needs.every((need) => tasksById(crew).get(need)?.state === 'done')
}

export function openTasks(crew: Crew): readonly Task[] {
  return crew.tasks.filter((task) => !isClosed(task))
}

/** The task's implementer, if it still has the task. */
export function currentImplementer(crew: Crew, task: Task): Member | undefined {
  return crew.members.find((member) => member.id === task.implementer && (member.task === task.id || member.own === task.id))
}

/** Whether the user approves commits. The engine judges nothing: when it coordinates, the gate `coordinator` also means the user. */
export function isGatedByUser({ gate, coordinator }: CrewSpec): boolean {
  return gate === 'human' || (gate === 'coordinator' && coordinator === 'engine')
}

/** Whether the task ends with a commit. */
export function needsCommit(spec: CrewSpec, task: Task): boolean {
  return spec.git !== null && task.role !== 'researcher'
}

/** Whether the member can review now or later. False for a full context, if the member is idle or awaits its own review. */
export function canReviewLater({ full, phase }: Member): boolean {
  return !full || (phase !== 'idle' && phase !== 'awaiting_review')
}

/** Whether the task needs a worker's review, even if the user is asked for one at the same time. */
export function needsReview({ state, reviews, cleared, ask }: Task): boolean {
  return reviews && !cleared && (state === 'awaiting_review' || (state === 'waiting' && ask?.for === 'review'))
}

/** Whether the task needs a review that no worker can do, now or later. */
export function hasNoReviewer(crew: Crew, task: Task): boolean {
  return needsReview(task) && !workersOf(crew).some((member) => mayReview(member, task) && canReviewLater(member))
}

/** Number of workers lost in a row, including those that are still leaving. */
export function countLosses({ fruitless, members }: Crew): number {
  return fruitless + members.filter(({ state, leave }) => state === 'leaving' && leave?.how === 'lost').length
}

/** Whether the crew has room for another worker. */
export function hasRoom(crew: Crew, { maxWorkers }: CrewSpec): boolean {
  return !crew.ending && workersOf(crew).length < maxWorkers
}

/** After this many workers lost in a row, coordinators and the engine start no more workers. The user still may. */
export const MAX_LOSSES_IN_ROW = 5

/** Whether the engine may start another worker. */
export function canSpawn(crew: Crew, spec: CrewSpec): boolean {
  return countLosses(crew) < MAX_LOSSES_IN_ROW && hasRoom(crew, spec)
}
