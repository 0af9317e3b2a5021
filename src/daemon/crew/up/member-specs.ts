// Builds the specs of a crew's members: one complete template per role. The crew records the templates, so that later members get the same
// spec. Every member must accept messages. A coordinator gets no writing tools if its driver has permissions; otherwise a note states that
// reeve cannot prevent writing. Must never start anything. Test: test/e2e/crew/up.test.ts.
import { findAgent } from '../../../config/agents/find-agents.ts'
import { readRolePrompt } from '../../../config/crew/roles.ts'
import { CAPABILITIES, isExternal } from '../../../kernel/model/capabilities.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import type { CrewUpBody, CrewWhoBody } from '../../../api/views/crew-up.ts'
import type { AgentDefinition } from '../../../config/agents/agent-file.ts'
import type { Paths } from '../../../config/paths.ts'
import { withAbsoluteScriptPath } from './script-path.ts'
import type { CrewDefinition } from './definition.ts'
import type { Settings } from '../../host/settings.ts'
import { checkScript } from '../../operations/check-script.ts'
import { formatOf, type AgentBody, type SpecBuilder } from '../../operations/spec-builder.ts'
import type { Role, TaskAgent } from '../../../kernel/model/crew/words.ts'
import type { RunnableSpec } from '../../../kernel/model/process-spec.ts'
import { WORKER_ROLES } from '../../../kernel/model/crew/words.ts'
import { NATIVE_TOOL_ACCESS, NATIVE_TOOLS } from '../../../kernel/model/words.ts'

export interface MemberTemplatesDeps {
  readonly specs: Pick<SpecBuilder, 'build'>
  readonly settings: Settings
  readonly paths: Paths
}

/** the tools that a coordinator does not get */
const WRITING_TOOLS = NATIVE_TOOLS.filter((tool) => NATIVE_TOOL_ACCESS[tool] !== 'read')

export interface MemberTemplates {
  readonly roles: { readonly [R in Role]?: RunnableSpec }
  readonly secrets: Readonly<Record<string, string>>
  readonly notes: readonly string[]
}

interface BuiltMemberSpec {
  readonly spec: RunnableSpec
  readonly secrets: Readonly<Record<string, string>>
  /** remarks for the user */
  readonly notes: readonly string[]
}

/** Builds the templates of all roles. Errors: those of a spec of an initial role. Any other role is left out if its spec has an error. */
export async function buildRoleTemplates(
  definition: CrewDefinition,
  { env = {} }: Pick<CrewUpBody, 'env'>,
  deps: MemberTemplatesDeps,
): Promise<MemberTemplates> {
  const initialRoles: Role[] = [...(definition.coordinator ? ['coordinator' as const] : []), ...definition.staff.map(({ role }) => role)]
  const roles: { [R in Role]?: RunnableSpec } = {}
  const notes = new Set<string>()
  let secrets: Readonly<Record<string, string>> = {}
  for (const role of [...initialRoles, ...WORKER_ROLES.filter((workerRole) => !initialRoles.includes(workerRole))]) {
    const isNeeded = initialRoles.includes(role)
    const built = await buildRoleTemplate(role, definition, env, deps).catch((error: unknown) => {
      if (isNeeded || !(error instanceof KernelError)) throw error
      return null
    })
    if (!built) continue
    roles[role] = built.spec
    secrets = { ...secrets, ...built.secrets }
    if (isNeeded) for (const note of built.notes) notes.add(note)
  }
  checkPermissionsApply(definition, Object.values(roles))
  return { roles, secrets, notes: [...notes] }
}

async function buildRoleTemplate(
  role: Role,
  { coordinator, roleAgents, commonAgent, cwd }: CrewDefinition,
  env: Record<string, string>,
  { specs, settings, paths }: MemberTemplatesDeps,
): Promise<BuiltMemberSpec> {
  const roleConfig: CrewWhoBody = role === 'coordinator' ? (coordinator ?? {}) : (roleAgents[role] ?? {})
  const defaultAgent = commonAgent.agent ?? (await settings.configFor(cwd, env, {})).defaultAgent
  const agent = await findAgent(roleConfig.agent ?? defaultAgent, cwd, paths)
  checkTakesMessages(agent, role)
  const model = roleConfig.model ?? (agent.name === defaultAgent || takesCrewModel(agent) ? commonAgent.model : undefined)
  // The crew's permissions apply to workers whose driver has permissions. A role's own permissions always apply.
  const permissions = roleConfig.permissions ?? (hasPermissions(agent) && role !== 'coordinator' ? commonAgent.permissions : undefined)
  return buildMemberSpec(
    role,
    agent,
    {
      cwd,
      env,
      interactive: true,
      agent: agent.name,
      ...(model === undefined ? {} : { model }),
      ...(permissions === undefined ? {} : { permissions }),
      ...(roleConfig.limits ? { limits: roleConfig.limits } : {}),
    },
    { specs, paths },
  )
}

/** Builds a member's spec with the role's prompt and tool restrictions. */
async function buildMemberSpec(
  role: Role,
  agent: AgentDefinition,
  body: AgentBody,
  { specs, paths }: Pick<MemberTemplatesDeps, 'specs' | 'paths'>,
): Promise<BuiltMemberSpec> {
  const { cwd } = body
  const { spec, secrets, note } = await specs.build({
    ...body,
    ...(role === 'coordinator' && CAPABILITIES[agent.driver].enforcement !== 'no' ? { deny: WRITING_TOOLS } : {}),
  })
  const resolved = withAbsoluteScript(spec)
  await checkScript(resolved)
  const { prompt } = await readRolePrompt(role, cwd, paths)
  return {
    spec: { ...resolved, system: systemPromptOf(agent, prompt) },
    secrets,
    notes: [note, agentNote(agent, spec, role)].filter((text) => text !== null),
  }
}

/**
 * The template of a role with the agent and model of a task. Limits and permissions of the role stay. `crewSecrets`: the secrets of the
 * crew. Errors: those of a spec.
 */
export async function buildWithTaskAgent(
  template: RunnableSpec,
  {
    role,
    taskAgent,
    crewSecrets,
  }: { readonly role: Role; readonly taskAgent: TaskAgent; readonly crewSecrets: Readonly<Record<string, string>> },
  deps: Pick<MemberTemplatesDeps, 'specs' | 'paths'>,
): Promise<BuiltMemberSpec> {
  const { cwd, env, limits, permissions } = template
  const agent = await findAgent(taskAgent.agent ?? template.agent, cwd, deps.paths)
  checkTakesMessages(agent, role)
  const permissionField = hasPermissions(agent) && permissions !== undefined ? { permissions: permissions.default } : {}
  const built = await buildMemberSpec(
    role,
    agent,
    {
      cwd,
      env: { ...env, ...crewSecrets },
      interactive: true,
      agent: agent.name,
      ...(taskAgent.model === undefined ? {} : { model: taskAgent.model }),
      ...permissionField,
      limits,
    },
    deps,
  )
  // An external agent also gets the keys with which its crew was started.
  const credentials =
    isExternal(built.spec) && isExternal(template)
      ? [...new Set([...built.spec.credentials, ...template.credentials])]
      : built.spec.credentials
  return { ...built, spec: { ...built.spec, env, credentials } }
}

/** Makes a script's path absolute, because members work in other directories. */
function withAbsoluteScript<S extends RunnableSpec>(spec: S): S {
  const { model, cwd } = spec
  return model === null ? spec : { ...spec, model: withAbsoluteScriptPath(model, cwd) }
}

function hasPermissions({ driver }: Pick<RunnableSpec, 'driver'>): boolean {
  return CAPABILITIES[driver].enforcement !== 'no'
}

/** Errors: INVALID if the crew's `permissions` apply to no worker, and no task names an agent to which they could apply. */
function checkPermissionsApply({ commonAgent: { permissions }, tasks }: CrewDefinition, specs: readonly RunnableSpec[]): void {
  if (permissions === undefined || specs.some(hasPermissions) || tasks.some(({ agent }) => agent !== undefined)) return
  throw new KernelError(
    'INVALID',
    'each worker of this crew is a command, for which `permissions` would have no effect',
    undefined,
    'Agents with the driver native or acp have permissions. Only its own flags restrict a command.',
  )
}

/** The system prompt: the prompt of the role, after the agent's own prompt if the user defined the agent. */
function systemPromptOf({ source, system }: AgentDefinition, prompt: string): string {
  return source === 'built-in' || system === null ? prompt : `${system}\n\n${prompt}`
}

/** Whether the crew's model applies to the agent: a native agent without a model of its own. External agents use other model names. */
function takesCrewModel({ driver, model }: AgentDefinition): boolean {
  return driver === 'native' && model === null
}

function checkTakesMessages(agent: AgentDefinition, role: Role): void {
  const { name, driver } = agent
  if (CAPABILITIES[driver].acceptsMessages || formatOf(agent) !== null) return
  throw new KernelError(
    'INVALID',
    `agent "${name}" takes no messages while it runs, so it cannot be a ${role} of a crew`,
    undefined,
    'Agents with the driver native or acp can, and commands with a known `format` of JSON lines; `reeve agents` lists them.',
  )
}

function agentNote({ name, driver }: AgentDefinition, { permissions }: RunnableSpec, role: Role): string | null {
  const { enforcement } = CAPABILITIES[driver]
  if (enforcement === 'no')
    return `agent ${name} does not ask reeve before it acts${role === 'coordinator' ? ', and reeve cannot keep a coordinator from writing files' : ''}; only its own flags restrict it`
  if (enforcement === 'asked' && role === 'coordinator')
    return `agent ${name}: as coordinator it may not write files, which reeve enforces only where the agent asks`
  if (permissions?.default === 'plan') return `agent ${name} plans first, and the user approves the plan: \`reeve answer\``
  return (permissions?.default ?? (enforcement === 'asked' ? 'ask' : 'allow')) === 'ask'
    ? `agent ${name} asks the user before it acts: \`reeve answer\`, or --permissions allow`
    : null
}
