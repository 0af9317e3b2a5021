// The engine: a coordinator without a model. It assigns reviews before tasks, each by rank (`sortByRank`). It starts missing workers, and
// retires those that are full, loop, or are not needed. It asks the user for a review that no worker can do, and fails tasks that no worker
// can do. It ends the crew when no task is open. The engine runs after each command. Must never assign work to a member that is paused or
// leaving, or whose context is full.
// Tests: test/tables/kernel/crew/decide/engine.test.ts, test/simulation/crew.test.ts.
import { canAskUser } from './user-questions.ts'
import {
  canSpawn,
  MAX_LOSSES_IN_ROW,
  needsReview,
  mayReview,
  isLooping,
  hasRoom,
  sortByRank,
  isFree,
  isReady,
  countLosses,
  openTasks,
  canReviewLater,
  workersOf,
} from '../state/queries.ts'
import { availableReviewers } from '../state/reviewers.ts'
import { awaitsVerify } from '../state/verify-rules.ts'
import { canImplement, needsDedicatedWorker, findWorkerToRetire, findUnneededWorker, taskAgentText } from '../state/eligible-workers.ts'
import { uncheckedText } from '../../model/crew/unchecked-tasks.ts'
import type { Command } from '../../model/crew/commands.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { WorkerRole } from '../../model/crew/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** The engine's next command; null when it has none. */
type NextCommand = Command | null

/** The most urgent command. The engine runs again after it, so each run needs to find only one. */
export function nextEngineCommand(crew: Crew, spec: CrewSpec): NextCommand {
  if (!crew.begun || crew.ending) return null
  return (
    completeIfDone(crew, spec) ??
    retireFullWorker(crew) ??
    stopLoopingWorker(crew) ??
    assignReviews(crew, spec) ??
    assignTasks(crew, spec) ??
    retireUnneededWorker(crew)
  )
}

function completeIfDone(crew: Crew, { stay }: CrewSpec): NextCommand {
  if (stay || crew.tasks.length === 0 || openTasks(crew).length > 0) return null
  const count = (state: Task['state']): number => crew.tasks.filter((task) => task.state === state).length
  const failed = count('failed')
  const parts = [
    `${count('done')} of ${crew.tasks.length} tasks are done${uncheckedText(crew.tasks)}`,
    failed > 0 && `${failed} failed`,
    count('cancelled') > 0 && `${count('cancelled')} cancelled`,
  ]
  return { type: 'complete_crew', outcome: failed > 0 ? 'failed' : 'completed', summary: parts.filter(Boolean).join(', ') }
}

/** Retires an idle worker whose context is used up. */
function retireFullWorker(crew: Crew): NextCommand {
  const member = workersOf(crew).find(
    (member) => member.full && member.phase === 'idle' && member.state === 'on' && member.turn.open === null,
  )
  return member ? { type: 'retire_worker', member: member.id, reason: 'its context is used up' } : null
}

/** Stops an idle worker that is paused in a loop. The worker was kept only until its commit was done. */
function stopLoopingWorker(crew: Crew): NextCommand {
  const member = workersOf(crew).find((member) => member.phase === 'idle' && member.state === 'on' && isLooping(member))
  return member
    ? { type: 'stop_worker', member: member.id, reason: `it was paused in a loop (${member.heldFor ?? 'reason unknown'})` }
    : null
}

/** Retires a worker whose agent or model no open task requires. */
function retireUnneededWorker(crew: Crew): NextCommand {
  const member = findUnneededWorker(crew)
  return member ? { type: 'retire_worker', member: member.id, reason: `no task is left for ${taskAgentText(member.who)}` } : null
}

function assignReviews(crew: Crew, spec: CrewSpec): NextCommand {
  for (const task of sortByRank(crew.tasks)) {
    const command = needsReview(task) && !awaitsVerify(crew, spec, task) ? reviewCommand(crew, spec, task) : null
    // If the user was already asked for the review, a worker may still take it. But no worker is started, and the user is not asked again.
    if (command && (task.state === 'awaiting_review' || command.type === 'assign_review')) return command
  }
  return null
}

/**
 * After this many reviews of a task without a verdict, workers that were not asked yet are no longer preferred. If the number has also
 * reached the crew's `maxAttempts`, only the user is asked.
 */
const MAX_UNREVIEWED = 10

/**
 * The command that gets a task reviewed; null to wait. Prefers workers that never implemented the task, and of these, workers that were
 * not asked yet. If all of them are busy, the engine waits. If there are none, it starts one, takes an earlier implementer, or asks the
 * user.
 */
function reviewCommand(crew: Crew, spec: CrewSpec, task: Task): NextCommand {
  const askUser: NextCommand = canAskUser(crew) ? { type: 'ask_review', task: task.id } : null
  const reviewers = workersOf(crew).filter((member) => mayReview(member, task))
  const uninvolved = reviewers.filter(({ id }) => !task.implementers.includes(id))
  const unasked = task.unreviewed >= MAX_UNREVIEWED ? [] : uninvolved.filter(({ id }) => !task.silent?.members.includes(id))
  const isExhausted = task.unreviewed >= spec.maxAttempts
  for (const group of isExhausted ? [unasked] : [unasked, uninvolved]) {
    const chosen = findFirstByRole(availableReviewers(crew, spec, group), REVIEWERS)
    if (chosen) return { type: 'assign_review', task: task.id, member: chosen.id }
    if (group.some(canReviewLater)) return null
  }
  if (isExhausted) return askUser
  const role = roleFor(spec, REVIEWERS)
  if (role && canSpawn(crew, spec)) return { type: 'spawn_worker', role }
  // An earlier implementer reviews only if there is no other worker, even if the others cannot review any more.
  if (uninvolved.length > 0) return askUser
  const [earlier] = availableReviewers(crew, spec, reviewers)
  if (earlier) return { type: 'assign_review', task: task.id, member: earlier.id }
  return reviewers.some(canReviewLater) ? null : askUser
}

function assignTasks(crew: Crew, spec: CrewSpec): NextCommand {
  for (const task of sortByRank(crew.tasks)) {
    if (task.kind === 'human' || !isReady(crew, task)) continue
    const command = assignmentCommand(crew, spec, task)
    if (command) return command
  }
  return null
}

function assignmentCommand(crew: Crew, spec: CrewSpec, task: Task): NextCommand {
  const capable = workersOf(crew).filter((member) => canImplement(member, task))
  const chosen = chooseWorker(
    crew,
    task,
    capable.filter((member) => isFree(crew, member)),
  )
  if (chosen) return { type: 'assign_task', task: task.id, member: chosen.id }
  const staffCount = spec.staff.reduce((sum, { count }) => sum + count, 0)
  // The crew has all of its workers: the task waits for one that can do it.
  if (capable.some((member) => !member.held) && workersOf(crew).length >= staffCount) return null
  // A suitable worker that will soon be free is enough.
  if (capable.some((member) => member.state === 'starting' || (member.phase === 'idle' && !member.held && !member.full))) return null
  const role = spawnRoleFor(spec, task)
  if (role && canSpawn(crew, spec)) return { type: 'spawn_worker', role, ...(task.who === undefined ? {} : { task: task.id }) }
  if (capable.length === 0 && role && countLosses(crew) < MAX_LOSSES_IN_ROW && !hasRoom(crew, spec) && needsDedicatedWorker(crew, task))
    return makeRoom(crew, task, role)
  return capable.length === 0
    ? { type: 'mark_task_failed', task: task.id, reason: `no worker can do it, and none can be started${lastLossText(crew)}` }
    : null
}

/** Retires a worker to make room for another. Null if no worker can leave yet. */
function makeRoom(crew: Crew, task: Task, role: WorkerRole): NextCommand {
  const member = findWorkerToRetire(crew, task, role)
  return member ? { type: 'retire_worker', member: member.id, reason: `it makes room for a worker with ${taskAgentText(task.who)}` } : null
}

function lastLossText(crew: Crew): string {
  const losses = countLosses(crew)
  const lastLostMember = crew.members.findLast(({ leave }) => leave?.how === 'lost')
  if (losses === 0 || !lastLostMember?.leave) return ''
  const { reason } = lastLostMember.leave
  return losses === 1 ? `: the last worker was lost: ${reason}` : `: ${losses} workers in a row were lost; the last reason: ${reason}`
}

/** The best free worker. Prefers a worker that has not tried the task yet. For a conflict, prefers another worker than its author. */
function chooseWorker(crew: Crew, task: Task, free: readonly Member[]): Member | undefined {
  const author = crew.tasks.find(({ conflict }) => conflict === task.id)?.implementer
  const order = task.role === 'researcher' ? RESEARCHERS : IMPLEMENTERS
  // The files of the last attempt were kept, and their author knows them.
  const lastImplementer = task.keeps ? free.find(({ id }) => id === task.implementers.at(-1)) : undefined
  const others = free.filter(({ id }) => !task.implementers.includes(id))
  return (
    lastImplementer ??
    findFirstByRole(
      others.filter(({ id }) => id !== author),
      order,
    ) ??
    findFirstByRole(others, order) ??
    findFirstByRole(free, order)
  )
}

const REVIEWERS: readonly WorkerRole[] = ['reviewer', 'generic', 'implementer']
const IMPLEMENTERS: readonly WorkerRole[] = ['implementer', 'generic']
const RESEARCHERS: readonly WorkerRole[] = ['researcher', 'generic']
const GENERICS_FIRST: readonly WorkerRole[] = ['generic', 'implementer']

function findFirstByRole(members: readonly Member[], order: readonly WorkerRole[]): Member | undefined {
  for (const role of order) {
    const found = members.find((member) => member.role === role)
    if (found) return found
  }
  return undefined
}

/** The role of a new worker for a task. */
export function spawnRoleFor(spec: Pick<CrewSpec, 'roles' | 'staff'>, { role }: Pick<Task, 'role'>): WorkerRole | undefined {
  return roleFor(spec, role === 'researcher' ? RESEARCHERS : role === 'implementer' || role === null ? IMPLEMENTERS : GENERICS_FIRST)
}

/** The first role in `order` that the crew has a template for. Roles of the initial workers come first. */
function roleFor({ roles, staff }: Pick<CrewSpec, 'roles' | 'staff'>, order: readonly WorkerRole[]): WorkerRole | undefined {
  const available = order.filter((role) => roles[role] !== undefined)
  return available.find((role) => staff.some((entry) => entry.role === role)) ?? available[0]
}
