// What the members of a crew will be, by role: a whole spec each, recorded with the crew, so that one that is made next week is the
// same. Owns that a coordinator has no tools that write, and that a member takes messages. Starts nothing.
// Test: test/e2e/crew-up.test.ts.
import { resolve } from 'node:path'
import { findAgent } from '../config/agents.ts'
import { WORKER_ROLES } from '../config/crews.ts'
import { rolePrompt } from '../config/roles.ts'
import { CAPABILITIES } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import type { CrewUpBody, CrewWhoBody } from '../api/crew-up-views.ts'
import type { SpawnBody } from '../api/views.ts'
import type { Agent } from '../config/agent-file.ts'
import type { Paths } from '../config/paths.ts'
import type { Role } from '../crew/types.ts'
import type { ProcessSpec } from '../kernel/types.ts'
import type { Definition } from './crew-definition.ts'
import type { Settings } from './settings.ts'
import { checkPlayed } from './played.ts'
import { formatOf, type Specs } from './specs.ts'

export interface TemplatesParts {
  readonly specs: Pick<Specs, 'of'>
  readonly settings: Settings
  readonly paths: Paths
}

/** What a coordinator does without: it gives work to others. */
const WRITING = ['write', 'edit', 'bash']

export interface Templates {
  readonly roles: { readonly [R in Role]?: ProcessSpec }
  readonly secrets: Readonly<Record<string, string>>
  readonly notes: readonly string[]
}

/** Errors: those of a spec, for a role that the crew begins with. One that it may need later is left out where it cannot be. */
export async function templatesOf(definition: Definition, { env = {} }: Pick<CrewUpBody, 'env'>, parts: TemplatesParts): Promise<Templates> {
  const first: Role[] = [...(definition.coordinator ? ['coordinator' as const] : []), ...definition.staff.map(({ role }) => role)]
  const roles: { [R in Role]?: ProcessSpec } = {}
  const notes: string[] = []
  let secrets: Readonly<Record<string, string>> = {}
  for (const role of [...first, ...WORKER_ROLES.filter((each) => !first.includes(each))]) {
    const isNeeded = first.includes(role)
    const made = await template(role, definition, env, parts).catch((error: unknown) => {
      if (isNeeded || !(error instanceof KernelError)) throw error
      return null
    })
    if (!made) continue
    roles[role] = made.spec
    secrets = { ...secrets, ...made.secrets }
    if (isNeeded && made.note !== null && !notes.includes(made.note)) notes.push(made.note)
  }
  return { roles, secrets, notes }
}

async function template(role: Role, { coordinator, who, all, cwd }: Definition, env: Record<string, string>, { specs, settings, paths }: TemplatesParts): Promise<{ spec: ProcessSpec; secrets: Readonly<Record<string, string>>; note: string | null }> {
  const own: CrewWhoBody = role === 'coordinator' ? (coordinator ?? {}) : (who[role] ?? {})
  const usual = all.agent ?? (await settings.of(cwd, env, {})).defaultAgent
  const agent = await findAgent(own.agent ?? usual, cwd, paths)
  checkTalks(agent, role)
  const model = own.model ?? (agent.name === usual || isWithout(agent) ? all.model : undefined)
  const permissions = agent.driver === 'acp' ? (own.permissions ?? (role === 'coordinator' ? undefined : all.permissions)) : undefined
  const body: SpawnBody = {
    cwd, env, interactive: true, agent: agent.name,
    ...(model === undefined ? {} : { model }), ...(permissions === undefined ? {} : { permissions }), ...(own.limits ? { limits: own.limits } : {}), ...(role === 'coordinator' && agent.driver !== 'command' ? { deny: WRITING } : {}),
  }
  const { spec, secrets } = await specs.of(body)
  const whole = fromHere(spec.model, cwd)
  await checkPlayed({ model: whole, cwd })
  const { prompt } = await rolePrompt(role, cwd, paths)
  return { spec: { ...spec, model: whole, system: systemOf(agent, prompt) }, secrets, note: noteOf(agent, spec, role) }
}

/** Its members work elsewhere: a script that the configuration names is where the crew was started. */
function fromHere(model: string | null, cwd: string): string | null {
  return model?.startsWith('script:') ? `script:${resolve(cwd, model.slice('script:'.length))}` : model
}

/** A person's own agent keeps its own words; the built-in ones are for whoever works alone. */
function systemOf({ source, system }: Agent, prompt: string): string {
  return source === 'built-in' || system === null ? prompt : `${system}\n\n${prompt}`
}

/** The crew's model is for its own agent: one of others has its own names for models, and one that says its own means it. */
function isWithout({ driver, model }: Agent): boolean {
  return driver === 'native' && model === null
}

function checkTalks(agent: Agent, role: Role): void {
  const { name, driver } = agent
  if (CAPABILITIES[driver].messages || formatOf(agent) !== null) return
  throw new KernelError('INVALID', `agent "${name}" takes no messages while it runs, so it can be no ${role} of a crew`, undefined, 'An agent with the driver native or acp can, and a command whose JSON lines are known (`format`); `reeve agents` lists them.')
}

function noteOf({ name, driver }: Agent, { permissions }: ProcessSpec, role: Role): string | null {
  if (driver === 'command') return `agent ${name}: reeve is not asked before it acts${role === 'coordinator' ? ', and cannot keep a coordinator from writing files' : ''}; what it may do, its own command line says`
  if (driver !== 'acp') return null
  if (role === 'coordinator') return `agent ${name}: a coordinator may not write files, as far as it asks before it does`
  return (permissions?.default ?? 'ask') === 'ask' ? `agent ${name} asks a person before it acts: \`reeve answer\`, or --permissions allow` : null
}
