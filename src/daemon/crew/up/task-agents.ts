// Builds the specs of members for tasks that name an agent or a model, before anything starts. Guarantees that a task with an
// unusable agent or model is refused when it is added. Starts nothing. Test: test/e2e/crew/task-agents.test.ts.
import { spawnRoleFor } from '../../../kernel/crew/decide/engine.ts'
import { toTaskAgent, taskAgentText } from '../../../kernel/crew/state/eligible-workers.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { buildWithTaskAgent, type MemberTemplatesDeps } from './member-specs.ts'
import type { NewTask } from '../../../kernel/model/crew/commands.ts'
import type { TaskAgent, WorkerRole } from '../../../kernel/model/crew/words.ts'
import type { RunnableSpec, CrewSpec } from '../../../kernel/model/process-spec.ts'

type TaskRequest = Pick<NewTask, 'id' | 'title' | 'kind' | 'role' | 'agent' | 'model' | 'taken'>

/** The template of a worker for tasks with a certain agent or model. */
export interface TaskAgentTemplate {
  /** see `taskAgentKey` */
  readonly key: string
  readonly role: WorkerRole
  /** the agent and model that the task names, for messages */
  readonly agentText: string
  readonly spec: RunnableSpec
  readonly secrets: Readonly<Record<string, string>>
}

/** The key of a template. Tasks that the same worker can do have the same key. */
export function taskAgentKey(role: WorkerRole, taskAgent: TaskAgent): string {
  return `${role} ${JSON.stringify(taskAgent)}`
}

/**
 * Builds one template for each distinct key. `crewSecrets`: the secrets of the crew. Errors: those of a spec, with the name of the task.
 */
export async function buildTaskAgentTemplates(
  tasks: readonly TaskRequest[],
  crew: Pick<CrewSpec, 'roles' | 'staff'>,
  crewSecrets: Readonly<Record<string, string>>,
  deps: Pick<MemberTemplatesDeps, 'specs' | 'paths'>,
): Promise<readonly TaskAgentTemplate[]> {
  const templates = new Map<string, TaskAgentTemplate>()
  for (const task of tasks) {
    const taskAgent = toTaskAgent(task)
    if (!taskAgent || task.taken) continue
    if (task.kind === 'human')
      throw new KernelError('INVALID', `a task of kind \`human\` cannot have \`${taskAgent.agent === undefined ? 'model' : 'agent'}\``)
    const role = spawnRoleFor(crew, { role: task.role ?? null })
    const template = role && crew.roles[role]
    const agentText = taskAgentText(taskAgent)
    const key = role && taskAgentKey(role, taskAgent)
    if (!role || !template || !key || templates.has(key)) continue
    const { spec, secrets } = await buildWithTaskAgent(template, { role, taskAgent, crewSecrets }, deps).catch((error: unknown) => {
      throw error instanceof KernelError
        ? new KernelError(
            error.code,
            `task ${task.id ?? `"${task.title}"`}, which is for ${agentText}: ${error.message}`,
            error.details,
            error.hint,
          )
        : error
    })
    templates.set(key, { key, role, agentText, spec, secrets })
  }
  return [...templates.values()]
}
