// Queries about verify commands (`verify:`): the command of a task, and whether the task must wait until it passes.
// Must never change anything. Test: test/tables/kernel/crew/decide/verify.test.ts.
import type { CrewFact } from '../../model/crew/facts.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'
import type { CrewShellCommand, Role } from '../../model/crew/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** The verify command for a task without its own: the role's command, else the crew's. Null if there is none. */
export function defaultVerifyCommand(
  { verify, verifyBy }: Pick<CrewSpec, 'verify' | 'verifyBy'>,
  role: Role | undefined,
): CrewShellCommand | null {
  const ofRole = role === undefined || role === 'coordinator' ? undefined : verifyBy?.[role]
  return ofRole === undefined ? (verify ?? null) : ofRole || null
}

/**
 * Whether the task has a verify command: its own, that of the implementer's role, or the crew's. Questions for the user and research
 * tasks have none by default.
 */
export function hasVerifyCommand({ members }: Pick<Crew, 'members'>, spec: CrewSpec, task: Task): boolean {
  if (task.verify !== undefined || task.kind === 'human') return task.verify === 'own'
  if (task.role === 'researcher') return false
  return defaultVerifyCommand(spec, members.find(({ id }) => id === task.implementer)?.role) !== null
}

/** The task's verify command. If the task has its own, `facts` must have the fact with it. Null if there is none. */
export function verifyCommandOf(crew: Crew, spec: CrewSpec, task: Task, facts: readonly CrewFact[]): CrewShellCommand | null {
  if (!hasVerifyCommand(crew, spec, task)) return null
  if (task.verify === 'own') return facts.find((fact) => fact.type === 'task.added')?.verify || null
  return defaultVerifyCommand(spec, crew.members.find(({ id }) => id === task.implementer)?.role)
}

/** Whether the task was reported, and its verify command has not passed yet. */
export function awaitsVerify(crew: Crew, spec: CrewSpec, task: Task): boolean {
  return task.state === 'awaiting_review' && !task.check?.ok && hasVerifyCommand(crew, spec, task)
}

/** Whether this git tree may be merged: the task has no verify command, or the command has passed on exactly this tree. */
export function isTreeVerified(crew: Crew, spec: CrewSpec, task: Task, tree: string | undefined): boolean {
  if (!hasVerifyCommand(crew, spec, task)) return true
  return task.check?.ok === true && tree !== undefined && task.check.tree === tree
}
