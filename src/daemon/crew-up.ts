// `crew up`: from what a file and a request say to a crew that is there with its tasks, in one decision. Owns the order: all that
// can be wrong is found before anything starts. Test: test/e2e/crew-up.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { Git } from '../drivers/files/git.ts'
import { KernelError } from '../kernel/errors.ts'
import { definitionOf, type Definition } from './crew-definition.ts'
import { findGround, type Ground } from './crew-ground.ts'
import { templatesOf, type Templates, type TemplatesParts } from './crew-templates.ts'
import type { CrewUpBody, CrewUpView } from '../api/crew-up-views.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Keys } from './keys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reads } from './reads.ts'

export interface CrewUpParts extends TemplatesParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly keys: Keys
  readonly container: Container
  readonly tmpDir: string
  /** throws while nothing new may start */
  readonly mayStart: () => void
}

/** Errors: those of a spawn, of files (AGENT_INVALID) and of the repository. Then there is no crew. */
export async function crewUp(body: CrewUpBody, parts: CrewUpParts): Promise<CrewUpView> {
  parts.mayStart()
  const definition = await definitionOf(body, parts.paths)
  const templates = await templatesOf(definition, body, parts)
  const ground = definition.worktrees ? await groundOf(definition, templates, parts) : null
  const uuid = uuidv7()
  const spec = specOf(definition, templates, ground)
  try {
    await findKeys(uuid, templates, parts.keys)
    await begin(uuid, spec, definition, parts)
  } catch (error) {
    parts.keys.forget(uuid)
    throw error
  }
  const { reads } = parts
  const notes = [...templates.notes, ...(ground?.notes ?? [])]
  return { version: 1, process: reads.view(await reads.get(uuid)), branch: ground?.git.branch ?? null, base: ground?.git.base ?? null, tasks: definition.tasks.length, notes }
}

/** Both are decided in the same batch: there is no crew without its tasks. */
async function begin(uuid: Uuid, spec: ProcessSpec, { tasks }: Definition, { pipeline, reads }: CrewUpParts): Promise<void> {
  const requests = [pipeline.request({ type: 'spawn', by: 'user', uuid, spec, parent: null })]
  if (tasks.length > 0) requests.push(pipeline.request({ type: 'crew', by: 'user', uuid, command: { type: 'add_tasks', tasks } }))
  const failed = (await Promise.allSettled(requests)).find((each) => each.status === 'rejected')
  if (!failed) return
  if (await reads.find(uuid)) await pipeline.request({ type: 'signal', by: 'user', uuid, signal: 'SIGKILL', subtree: true, graceMs: null, freeze: false }).catch(() => undefined)
  throw failed.reason
}

async function groundOf({ name, cwd }: Definition, { roles }: Templates, { container, tmpDir }: CrewUpParts): Promise<Ground> {
  const env = Object.values(roles)[0]?.env ?? {}
  await using git = new Git(() => container.open(container.plan(uuidv7(), 0, 'auto'), tmpDir))
  return await findGround(git, { name, cwd, env })
}

/** The keys of all its roles, kept under the crew: a member that is made later has them from there. */
async function findKeys(uuid: Uuid, { roles, secrets }: Templates, keys: Keys): Promise<void> {
  let values: Readonly<Record<string, string>> = {}
  for (const [role, spec] of Object.entries(roles)) {
    const found = await keys.of({ uuid, spec }, secrets)
    if (found.missing.length > 0) throw new KernelError('CREDENTIALS_MISSING', `${spec.model ?? spec.agent}, for the role ${role}, needs ${found.missing.join(', ')}`, { missing: found.missing })
    values = { ...values, ...keys.known(uuid) }
  }
  keys.keep(uuid, values)
}

function specOf({ name, cwd, coordinator, staff, all, tasks, gate, merge, reviews, maxAttempts, maxWorkers, handOver, stay }: Definition, { roles }: Templates, ground: Ground | null): ProcessSpec {
  return {
    name, cwd, agent: 'crew', driver: 'crew', intent: `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}`, interactive: false, model: null, system: null, tools: null, deny: [], argv: null,
    env: Object.values(roles)[0]?.env ?? {}, credentials: [], containment: 'group', limits: all.limits ?? {},
    crew: { coordinator: coordinator ? 'agent' : 'engine', gate, merge, reviews, maxAttempts, maxWorkers, staff, git: ground?.git ?? null, handOver, stay, roles },
  }
}
