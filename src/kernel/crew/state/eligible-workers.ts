// Decides which workers suit a task that requires a certain agent or model, and which worker to retire when the crew is full. Also has the
// text for a choice of agent and model. Must never retire a worker that another ready task of the same or a higher rank could use.
// Test: test/tables/kernel/crew/state/eligible-workers.test.ts.
import { canRoleImplement, sortByRank, isFree, isReady, openTasks, rankOf, workersOf } from './queries.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { TaskAgent, WorkerRole } from '../../model/crew/words.ts'

type WorkerKind = Pick<Member, 'role' | 'who'>
type TaskRequirements = Pick<Task, 'role' | 'who' | 'kind'>

/** The agent and model that a task or a spawn requires. Undefined for the role's default. */
export function toTaskAgent({ agent, model }: TaskAgent): TaskAgent | undefined {
  return agent === undefined && model === undefined
    ? undefined
    : { ...(agent === undefined ? {} : { agent }), ...(model === undefined ? {} : { model }) }
}

/** Describes a choice of agent and model, for users and members. */
export function taskAgentText({ agent, model }: TaskAgent = {}): string {
  const parts = [agent === undefined ? '' : `agent ${agent}`, model === undefined ? '' : `model ${model}`].filter((part) => part !== '')
  return parts.length === 0 ? 'the usual agent' : parts.join(', ')
}

function isSameAgentChoice(first: TaskAgent = {}, second: TaskAgent = {}): boolean {
  return first.agent === second.agent && first.model === second.model
}

/** Whether the worker has the agent and model of the task. Any worker may resolve a conflict, because a conflict task blocks all others. */
export function matchesTaskAgent({ who }: WorkerKind, task: TaskRequirements): boolean {
  return task.kind === 'conflict' || isSameAgentChoice(who, task.who)
}

/** Whether the member has a suitable role, and the agent and model that the task requires. */
export function canImplement(member: WorkerKind, task: TaskRequirements): boolean {
  return canRoleImplement(member.role, task) && matchesTaskAgent(member, task)
}

/** Whether retiring a worker could help this task, because the task or a suitable worker requires a certain agent or model. */
export function needsDedicatedWorker(crew: Crew, task: Task): boolean {
  return task.who !== undefined || workersOf(crew).some((member) => member.who !== undefined && canRoleImplement(member.role, task))
}

function isIdle(crew: Crew, member: Member): boolean {
  return isFree(crew, member) && member.turn.open === null
}

/** An idle worker that was spawned for a certain agent or model, which no open task requires. */
export function findUnneededWorker(crew: Crew): Member | undefined {
  const open = openTasks(crew)
  return workersOf(crew).find(
    (member) => member.who !== undefined && isIdle(crew, member) && !open.some(({ who }) => isSameAgentChoice(who, member.who)),
  )
}

/**
 * The idle worker to retire, so that a worker of `role` can be started. Never a worker that another ready task of the same
 * or a higher rank could use. Prefers workers that can do this kind of task, then workers of `role`. Authors of parked tasks come last.
 */
export function findWorkerToRetire(crew: Crew, task: Task, role: WorkerRole): Member | undefined {
  const otherReadyTasks = sortByRank(crew.tasks).filter(
    (candidate) => candidate.id !== task.id && candidate.kind !== 'human' && isReady(crew, candidate) && rankOf(candidate) >= rankOf(task),
  )
  const capableWorkers = workersOf(crew).filter((member) => canRoleImplement(member.role, task))
  const idleWorkers = (capableWorkers.length > 0 ? capableWorkers : workersOf(crew)).filter(
    (member) => isIdle(crew, member) && !otherReadyTasks.some((other) => canImplement(member, other)),
  )
  const withoutParkedTask = idleWorkers.filter(
    ({ id }) => !crew.tasks.some((candidate) => candidate.parked && candidate.implementer === id),
  )
  return withoutParkedTask.find((member) => member.role === role) ?? withoutParkedTask[0] ?? idleWorkers[0]
}
