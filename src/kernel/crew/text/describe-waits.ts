// Describes for the user what each open task of a crew waits for. Must never guess: each text follows from the state of the crew.
// Test: test/tables/kernel/crew/decide/engine.test.ts.
import {
  canSpawn,
  coordinatorOf,
  hasJobsThatNeedMember,
  hasRoom,
  hasNoReviewer,
  isActive,
  isPatientJob,
  isReady,
  isWorker,
  openTasks,
  tasksById,
  workersOf,
} from '../state/queries.ts'
import { taskName } from './task-text.ts'
import { stateText } from '../state/phases.ts'
import { awaitsVerify } from '../state/verify-rules.ts'
import { groupWaits } from './group-waits.ts'
import { canImplement, taskAgentText } from '../state/eligible-workers.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** One text per thing that the crew waits for: tasks, then members, then the crew. Empty if all open work is in progress. */
export function describeWaits(crew: Crew, spec: CrewSpec): readonly string[] {
  const open = openTasks(crew)
  const waits = open.flatMap((task) => {
    const line = describeTaskWait(crew, spec, task)
    return line === null ? [] : [{ task, line }]
  })
  return [
    ...groupWaits(waits),
    ...crew.members.flatMap((member) => describeMemberWait(member) ?? []),
    ...describeCrewWaits(crew, spec, open),
  ]
}

function askReasonText({ silent }: Task, kind: NonNullable<Task['ask']>['for']): string {
  if (kind === 'human') return 'it is a question'
  if (kind === 'gate') return 'its commit needs an approval'
  return silent ? 'no reviewer gave a verdict' : 'no worker can review it'
}

function describeTaskWait(crew: Crew, spec: CrewSpec, task: Task): string | null {
  const worker = crew.members.find(
    (member) => member.id === (task.state === 'in_review' ? task.reviewer : task.implementer) && member.task === task.id,
  )
  if (task.ask)
    return `${taskName(task)} waits for the user: ${askReasonText(task, task.ask.for)} (${task.ask.for === 'human' ? 'reeve answer' : 'reeve crew approve, reeve crew deny'})`
  if (task.landing?.blocked !== undefined && crew.jobs.some((job) => isPatientJob(job) && 'task' in job && job.task === task.id))
    return `${taskName(task)} is committed and waits to be merged: ${task.landing.blocked}`
  if (task.conflict !== null) return `${taskName(task)} is committed, and waits for ${task.conflict} to resolve its conflict`
  if (worker?.held)
    return `${taskName(task)} is ${stateText(task.state)} with ${worker.id}, which is paused${pauseReasonText(worker)}: resume or stop that worker (reeve resume)`
  if (task.state === 'approved' && task.cleared) return `${taskName(task)} is approved, and waits until another task has landed`
  if (worker && spec.coordinator === 'agent' && isReportOverdue(crew, worker, task))
    return `${taskName(task)} is ${stateText(task.state)} with ${worker.id}, which ended its turn without a report: send it a message (reeve crew send)`
  if (awaitsVerify(crew, spec, task))
    return crew.jobs.some((job) => job.type === 'verify' && job.task === task.id)
      ? null
      : `${taskName(task)} waits until the turn of ${task.implementer ?? 'its worker'} ends, then its verify command runs`
  if (task.state === 'approved') return `${taskName(task)} waits for the coordinator's approval`
  if (task.state === 'awaiting_review' && !task.reviews) return `${taskName(task)} waits for the coordinator's approval`
  if (hasNoReviewer(crew, task)) return `${taskName(task)} waits for a review, and no worker is free: ${reviewersText(crew, task)}`
  if (task.state === 'awaiting_review') return `${taskName(task)} waits for a reviewer`
  return task.state === 'queued' ? describeQueuedTask(crew, spec, task) : null
}

/** Whether the member owes a report, its turn is over, and no message or job will make it continue. */
function isReportOverdue(crew: Crew, member: Member, task: Task): boolean {
  const { state, phase, turn, told, held, heir, id } = member
  const isReportDue = phase === 'reviewing' ? task.briefed : (phase === 'implementing' || phase === 'addressing_feedback') && task.prepared
  return isReportDue && state === 'on' && heir === null && !held && !told && turn.open === null && !hasJobsThatNeedMember(crew, id)
}

function reviewersText(crew: Crew, task: Task): string {
  const waitingIds = crew.members
    .filter((member) => isWorker(member) && isActive(member) && member.phase === 'awaiting_review' && member.id !== task.implementer)
    .map(({ id }) => id)
  if (waitingIds.length === 0) return 'no other worker can review'
  return `${waitingIds.join(', ')} ${waitingIds.length === 1 ? 'awaits its own review' : 'await their own reviews'}`
}

function describeQueuedTask(crew: Crew, spec: CrewSpec, task: Task): string | null {
  const unmetNeeds = findUnmetNeeds(crew, task)
  if (unmetNeeds.length > 0) return `${taskName(task)} waits for ${unmetNeeds.join(', ')}`
  if (!isReady(crew, task)) return null
  const idleWorkers = crew.members.filter((member) => isWorker(member) && isActive(member) && member.phase === 'idle')
  const pausedWorkers = idleWorkers.filter(({ held }) => held)
  if (pausedWorkers.length > 0 && pausedWorkers.length === idleWorkers.length)
    return `${taskName(task)} waits for a worker: ${pausedWorkers.map(({ id }) => id).join(', ')} ${pausedWorkers.length === 1 ? 'is' : 'are'} idle and paused`
  if (spec.coordinator === 'agent') return `${taskName(task)} waits for the coordinator to assign it`
  if (task.who && !workersOf(crew).some((member) => canImplement(member, task)))
    return `${taskName(task)} waits for a worker with ${taskAgentText(task.who)}${hasRoom(crew, spec) ? '' : `: all ${spec.maxWorkers} workers have work`}`
  return `${taskName(task)} waits for a worker${canSpawn(crew, spec) ? '' : `: the crew starts no more than ${spec.maxWorkers}`}`
}

/**
 * The needed tasks that are not done, in the order of the crew's tasks. Lists show this for each task, so most tasks are looked up alone.
 */
function findUnmetNeeds(crew: Crew, { needs }: Task): readonly string[] {
  const index = tasksById(crew)
  const unmet = new Set(needs.filter((id) => (index.get(id)?.state ?? 'done') !== 'done'))
  return unmet.size < 2 ? [...unmet] : crew.tasks.flatMap(({ id }) => (unmet.has(id) ? [id] : []))
}

function describeMemberWait({ id, state, leave }: Member): string | null {
  if (state === 'starting') return `${id} is being started`
  return state === 'leaving' ? `${id} is leaving: ${leave?.reason ?? 'it was asked to'}` : null
}

function describeCrewWaits(crew: Crew, spec: CrewSpec, open: readonly Task[]): readonly string[] {
  const jobs = crew.jobs
    .filter((job) => job.type !== 'spawn' && !isPatientJob(job))
    .map((job) => `${job.type} of ${'task' in job ? job.task : job.member} is in progress`)
  const coordinator = coordinatorOf(crew)
  const hasNoCoordinator =
    spec.coordinator === 'agent' &&
    !coordinator &&
    crew.begun &&
    !crew.members.some(({ role, state }) => role === 'coordinator' && state === 'starting')
  if (hasNoCoordinator) return [...jobs, 'no coordinator is running: resume or replace it, or stop the crew']
  if (coordinator?.held) return [...jobs, `${coordinator.id} is paused${pauseReasonText(coordinator)}`]
  const mustEnd = coordinator && !hasJobsThatNeedMember(crew, coordinator.id) && open.length === 0 && crew.tasks.length > 0 && !crew.ending
  return mustEnd ? [...jobs, `${coordinator.id} must end the crew or add tasks`] : jobs
}

function pauseReasonText({ heldFor }: Member): string {
  return heldFor === undefined ? '' : ` (${heldFor})`
}
