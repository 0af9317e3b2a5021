// Builds the plan of `crew up`, which the user sees before the start. Pure: takes checked values, returns the view.
// Test: test/e2e/crew/plan.test.ts.
import { spawnRoleFor } from '../../../kernel/crew/decide/engine.ts'
import { sortByRank } from '../../../kernel/crew/state/queries.ts'
import { defaultVerifyCommand } from '../../../kernel/crew/state/verify-rules.ts'
import { toTaskAgent } from '../../../kernel/crew/state/eligible-workers.ts'
import { assignTaskIds } from '../../../kernel/crew/decide/commands/task-commands.ts'
import { isoTime } from '../../views/format-times.ts'
import { taskAgentKey, type TaskAgentTemplate } from './task-agents.ts'
import type { CrewPlanView, CrewRunBody, PlannedMemberView, PlannedTaskView } from '../../../api/views/crew-up.ts'
import type { NewTask } from '../../../kernel/model/crew/commands.ts'
import type { Task } from '../../../kernel/model/crew/crew.ts'
import type { CrewDefinition } from './definition.ts'
import type { CrewRepository } from './repository.ts'
import type { TakeOver } from './take-over.ts'
import type { CrewShellCommand, Role, WorkerRole } from '../../../kernel/model/crew/words.ts'
import type { CrewProcessSpec } from '../../../kernel/model/process-spec.ts'

interface PlanInput {
  readonly definition: CrewDefinition
  readonly spec: CrewProcessSpec
  readonly taskTemplates: readonly TaskAgentTemplate[]
  readonly crewRepository: CrewRepository | null
  readonly takeOver: TakeOver
  readonly copied: readonly string[]
  readonly notes: string[]
}

export function crewPlanView(input: PlanInput): CrewPlanView {
  const {
    definition: { name, cwd, coordinator, gate, merge, reviews, stay, maxAttempts, maxWorkers },
    spec,
    crewRepository,
    takeOver: { tasks, from },
    copied,
    notes,
  } = input
  const { verify, setup, copy = [] } = spec.crew
  return {
    version: 1,
    name,
    cwd,
    branch: crewRepository?.git.branch ?? null,
    base: crewRepository?.git.base ?? null,
    coordinator: coordinator ? 'agent' : 'engine',
    gate,
    merge,
    reviews,
    stay,
    maxAttempts,
    maxWorkers,
    verify: commandView(verify),
    setup: commandView(setup),
    copy: [...copy],
    copied: [...copied],
    limits: spec.limits,
    members: plannedMembers(input),
    tasks: sortByRank(assignTaskIds(tasks) as unknown as readonly Task[]).map((task) => plannedTask(task as unknown as TaskWithId, input)),
    from: from && { ...from, endedAt: from.endedAt === null ? null : isoTime(from.endedAt) },
    notes,
  }
}

function commandView(run: CrewShellCommand | null | false | undefined): CrewRunBody | null {
  return run ? { command: typeof run.command === 'string' ? run.command : [...run.command], timeoutMs: run.timeoutMs } : null
}

function plannedMembers({ definition: { coordinator, staff }, spec: { crew } }: PlanInput): PlannedMemberView[] {
  const memberCounts = [...(coordinator ? [{ role: 'coordinator' as const, count: 1 }] : []), ...staff]
  return memberCounts.flatMap(({ role, count }) => {
    const template = crew.roles[role]
    const verify = commandView(canCommit(role) ? defaultVerifyCommand(crew, role) : null)
    return template
      ? [
          {
            role,
            count,
            agent: template.agent,
            model: template.model,
            permissions: template.permissions?.default ?? null,
            limits: template.limits,
            verify,
          },
        ]
      : []
  })
}

/** Whether tasks of this role end with a commit. */
function canCommit(role: Role): boolean {
  return role === 'generic' || role === 'implementer'
}

type TaskWithId = NewTask & { readonly id: string }

function plannedTask(task: TaskWithId, input: PlanInput): PlannedTaskView {
  const { id, title, kind = 'work', role, needs = [], reviews, priority = 0, limits, agent, model, taken } = task
  const {
    definition,
    takeOver: { redoReasons },
  } = input
  const plannedBy = plannedWorker(task, input)
  return {
    id,
    title,
    kind,
    role: role ?? null,
    needs: [...needs],
    reviews: kind === 'work' && role !== 'researcher' && (reviews ?? definition.reviews),
    priority,
    limits: limits ?? null,
    agent: agent ?? null,
    model: model ?? null,
    by: plannedBy,
    verify: plannedVerify(task, plannedBy?.role, input),
    takenOver: taken !== undefined,
    commit: taken?.commit ?? null,
    again: redoReasons.get(id) ?? null,
  }
}

/** The worker that the engine would choose for the task, with its agent and model. Null for a question or a task that is taken over. */
function plannedWorker(task: TaskWithId, { spec: { crew }, taskTemplates }: PlanInput): PlannedTaskView['by'] {
  const role = task.kind !== 'human' && !task.taken ? spawnRoleFor(crew, { role: task.role ?? null }) : undefined
  const taskAgent = toTaskAgent(task)
  const template = role && (taskAgent ? taskTemplates.find(({ key }) => key === taskAgentKey(role, taskAgent))?.spec : crew.roles[role])
  return role && template ? { role, agent: template.agent, model: template.model } : null
}

function plannedVerify(
  { kind, role: taskRole, verify, taken }: TaskWithId,
  role: WorkerRole | undefined,
  { spec: { crew } }: PlanInput,
): CrewRunBody | null {
  if (kind === 'human' || taken) return null
  return commandView(verify ?? (taskRole === 'researcher' ? null : defaultVerifyCommand(crew, role)))
}
