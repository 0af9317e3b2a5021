// Builds the spec of a process from the request, the agent file and the configuration, for a spawn and for a resume. The specs of crews and
// of runs are built in crew-up.ts and runs.ts. An option that a driver cannot enforce is refused, never ignored. Starts nothing.
// Test: test/tables/daemon/operations/spec-builder.test.ts, test/e2e/daemon/api.test.ts, test/e2e/external/acp.test.ts.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { unknownToolMessage, type AgentDefinition } from '../../config/agents/agent-file.ts'
import { findDistrust, shadowedAgentNote } from '../../config/agents/agent-trust.ts'
import { GRACE_MS } from '../../config/agents/built-in-agents.ts'
import { findAgent } from '../../config/agents/find-agents.ts'
import { splitEnv } from '../../config/credentials/secret-variables.ts'
import { readInstructions } from '../../config/instructions.ts'
import { findSkills } from '../../config/skills.ts'
import { labelsRule } from '../../config/label-rules.ts'
import { toLivenessSpec } from '../../config/keys/liveness.ts'
import { selectServers } from '../../config/mcp/select-servers.ts'
import {
  applyResumeRules,
  applySpawnRules,
  callRulesIn,
  toolNamesIn,
  withCallRules,
  driverDependentRules,
  invalidRuleMessage,
} from '../../config/permissions.ts'
import { isScripted, keyVariableNames, requiredKeyNames } from '../../config/credentials/model-keys.ts'
import { askingModeFor } from '../../drivers/acp/asking-mode.ts'
import { recognizeFormat, parseKnownCommand } from '../../drivers/command/formats/formats.ts'
import { CAPABILITIES, isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { deniedToPrograms, fitToParent, startsPrograms } from '../../kernel/state/permissions.ts'
import { applyLimitChange } from '../../kernel/state/limits.ts'
import { isToolAllowed, namesServer, serverPrefix } from '../../kernel/state/tool-lists.ts'
import { ruleBypassProblem } from '../../kernel/state/tool-rules.ts'
import { restartPolicyFrom, supervisorSpecFrom } from '../../kernel/supervise/policy-from-config.ts'
import { checkInstalled } from '../incarnation/check-installed.ts'
import { withRealPaths } from './permission-paths.ts'
import { limitChange, unenforceableLimits } from './request-limits.ts'
import type { ResumeBody, SpawnBody } from '../../api/views/process.ts'
import type { Config } from '../../config/config.ts'
import type { Paths } from '../../config/paths.ts'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import type { Labels, Permissions } from '../../kernel/model/spec-parts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Settings } from '../host/settings.ts'
import type { OutputFormat } from '../../kernel/model/words.ts'
import type {
  AcpSpec,
  CommandSpec,
  ExternalSpec,
  NativeSpec,
  ProcessSpec,
  RunnableSpec,
  SupervisorProcessSpec,
} from '../../kernel/model/process-spec.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'

export interface SpecBuilderDeps {
  readonly reads: ProcessQueries
  readonly containments: ContainmentManager
  readonly settings: Settings
  readonly paths: Paths
}

/** A request for a process that runs an agent or a command. */
export type AgentBody = SpawnBody & { supervisor?: never }

export interface BuiltSpec<S = RunnableSpec | SupervisorProcessSpec> {
  readonly spec: S
  /** the secrets of the request's environment, which must not be recorded */
  readonly secrets: Secrets
  /** a remark for the user, such as that an agent file hides another one */
  readonly note: string | null
}

type Without<S, K extends PropertyKey> = S extends unknown ? Omit<S, K> : never
/** The fields of a spec that depend on the driver. */
type DriverFields<S = NativeSpec | AcpSpec | CommandSpec> = Without<S, 'name' | 'cwd' | 'env' | 'interactive' | 'containment' | 'intent'>
type Secrets = Readonly<Record<string, string>>

/** the prefix of a model reference that replays a process */
const REPLAY_PREFIX = 'replay:'

export class SpecBuilder {
  readonly #deps: SpecBuilderDeps

  constructor(deps: SpecBuilderDeps) {
    this.#deps = deps
  }

  /**
   * Builds the spec of a spawn, and checks that it can be enforced here. `trustsNames`: the user has named the agent of the request.
   * Errors: INVALID, AGENT_INVALID, COMMAND_NOT_FOUND.
   */
  build(body: AgentBody, trustsNames?: boolean): Promise<BuiltSpec<RunnableSpec>>
  build(body: SpawnBody, trustsNames?: boolean): Promise<BuiltSpec>
  async build(body: SpawnBody, trustsNames = true): Promise<BuiltSpec> {
    await checkCwd(body.cwd)
    checkInput(body)
    const { settings, containments } = this.#deps
    const config = await settings.configFor(
      body.cwd,
      body.env ?? {},
      withoutUndefined({ agent: body.agent, containment: body.containment }),
    )
    const { recorded: env, secrets } = splitEnv(
      withoutTempPaths(body.env ?? {}, join(this.#deps.paths.state, 'tmp')),
      keyVariableNames(config.providers),
    )
    // Fails if the requested kind of containment does not work.
    containments.plan('probe', 0, config.containment)
    const shared = {
      name: checkProcessName(body.name),
      cwd: body.cwd,
      env,
      interactive: body.interactive ?? false,
      containment: config.containment,
      intent: body.intent ?? body.argv?.join(' ') ?? '',
    }
    if (body.supervisor !== undefined)
      return {
        spec: {
          ...shared,
          ...labelsOf(body),
          ...buildSupervisorFields(body),
          ...restartsOf(body),
          interactive: false,
          containment: 'group',
        },
        secrets: {},
        note: null,
      }
    const agent = body.argv ? null : await findAgent(body.agent ?? config.defaultAgent, body.cwd, this.#deps.paths)
    const driverFields = agent
      ? await this.#buildTrustedFields(agent, body, config, { secrets, trustsNames })
      : withOwnTools(buildCommandFields(body, Object.keys(secrets), config), null, body)
    const { texts, problems } = await textsFor(agent, body, driverFields, this.#deps.paths)
    const builtSpec: RunnableSpec = {
      ...shared,
      ...labelsOf(body, agent?.labels),
      ...driverFields,
      ...restartsOf(body),
      ...removalOf(body, agent),
    }
    const spec = builtSpec.driver === 'native' ? { ...builtSpec, ...texts } : builtSpec
    if (spec.driver === 'acp') askingModeFor(spec)
    if (!body.argv) checkInstalled(spec)
    await checkEnforceable(spec, containments)
    const notes = [agent && (await shadowedAgentNote(agent, this.#deps.paths)), ...problems].filter((note) => note !== null)
    return { spec, secrets, note: notes.length === 0 ? null : notes.join('; ') }
  }

  /** Builds the fields of a spec for a trusted agent. Errors: AGENT_INVALID for an agent whose program the user does not trust. */
  async #buildTrustedFields(
    agent: AgentDefinition,
    body: SpawnBody,
    config: Config,
    { secrets, trustsNames }: { readonly secrets: Secrets; readonly trustsNames: boolean },
  ): Promise<DriverFields> {
    await checkTrusted(agent, body.agent !== undefined && trustsNames, { paths: this.#deps.paths, trusted: config.trusted })
    return this.#buildAgentFields(agent, body, config, secrets)
  }

  /** Builds the fields of a spec for an agent, by its driver. */
  async #buildAgentFields(agent: AgentDefinition, body: SpawnBody, config: Config, secrets: Secrets): Promise<DriverFields> {
    if ((body.intent ?? '') === '' && !body.interactive) throw new KernelError('INVALID', 'no task: give an intent, or --interactive')
    checkRules(body)
    const shared = {
      ...livenessFields(agent, config, body),
      ...(agent.restart === undefined ? {} : { restart: restartPolicyFrom(agent.restart) }),
    }
    if (agent.driver === 'native') return withOwnTools({ ...(await this.#buildNativeFields(agent, body)), ...shared }, agent, body)
    const driverFields = agent.driver === 'acp' ? await this.#buildAcpFields(agent, body) : buildProgramFields(agent, body, agent.driver)
    const rest = {
      ...gatewayOf(agent, body, config),
      credentials: Object.keys(secrets),
      limits: { ...agent.limits, ...body.limits },
    }
    if (driverFields.driver === 'command' && driverFields.format === undefined)
      return withOwnTools({ ...driverFields, ...shared, ...rest }, agent, body)
    return withOwnTools({ ...driverFields, ...shared, ...rawOutputFields(agent, config), ...rest }, agent, body)
  }

  async #buildNativeFields(agent: AgentDefinition, body: SpawnBody): Promise<DriverFields<NativeSpec>> {
    refuseOptions(agent, body, ['gateway'])
    const { agent: name, model: requested, containment, effort: requestedEffort, fallback: requestedFallback } = body
    const config = await this.#deps.settings.configFor(
      body.cwd,
      body.env ?? {},
      withoutUndefined({ agent: name, model: requested, containment, effort: requestedEffort, fallback: requestedFallback }),
    )
    const chosenModel = requested ?? agent.model ?? config.defaultModel
    const effort = requestedEffort ?? agent.effort ?? config.effort
    if (chosenModel === null) throw new KernelError('INVALID', 'no model: give --model provider/name, or set defaultModel in config.yaml')
    const model = await this.#withFullUuid(chosenModel)
    const fallback = await Promise.all((requestedFallback ?? fallbackOf(chosenModel, agent, config)).map((ref) => this.#withFullUuid(ref)))
    const servers = await selectServers({ cwd: body.cwd, paths: this.#deps.paths, agent, chosen: body.mcp })
    return {
      agent: agent.name,
      driver: 'native',
      model,
      ...(effort === null ? {} : { effort }),
      ...(fallback.length === 0 ? {} : { fallback }),
      ...(servers.length === 0 ? {} : { mcp: servers }),
      ...toolsOf(agent, body),
      ...nativePermissionsOf(agent, body),
      system: agent.system,
      argv: null,
      credentials: credentialsOf(model, fallback, config),
      limits: { ...agent.limits, ...body.limits },
    }
  }

  /**
   * Builds the fields of an ACP agent. It brings its own MCP servers, so configured servers are passed only if the request or the agent
   * file names them.
   */
  async #buildAcpFields(agent: AgentDefinition, body: SpawnBody): Promise<Omit<DriverFields<AcpSpec>, 'credentials' | 'limits'>> {
    refuseOptions(agent, body, ['effort', 'fallback', 'instructions', 'skills'])
    refuseCallRules(agent, body)
    const hasNamedServers = body.mcp !== undefined || agent.mcp !== null
    const servers = hasNamedServers ? await selectServers({ cwd: body.cwd, paths: this.#deps.paths, agent, chosen: body.mcp }) : []
    return {
      agent: agent.name,
      driver: 'acp',
      model: body.model ?? agent.model,
      ...(servers.length === 0 ? {} : { mcp: servers }),
      ...toolsOf(agent, body),
      ...permissionsOf(agent, body),
      ...modeOf(agent, body),
      ...(agent.asks ? { asks: true as const } : {}),
      ...graceOf(agent.graceMs, null),
      system: agent.system,
      argv: commandOf(agent),
    }
  }

  /**
   * Replaces the reference in a `replay:` model by the whole UUID, so that it always means the same process. Returns other models
   * unchanged. Errors: those of `resolve`, INVALID.
   */
  async #withFullUuid(model: string): Promise<string> {
    if (!model.startsWith(REPLAY_PREFIX)) return model
    const { uuid, spec } = await this.#deps.reads.resolve(model.slice(REPLAY_PREFIX.length))
    if (spec.driver !== 'native')
      throw new KernelError('INVALID', `${uuid} cannot be replayed: a process of the driver ${spec.driver} has no recorded steps`)
    return `${REPLAY_PREFIX}${uuid}`
  }

  /** Returns the spec with the overrides of a resume; null if there are none. Errors: as for `build`. */
  async applyOverrides({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>, body: ResumeBody): Promise<ProcessSpec | null> {
    checkOverride(spec, body)
    checkRules(body)
    const { effort, cwd, allow, deny, gateway } = body
    const { limits } = body.fork ? limitChange(body) : {}
    const name = body.name === undefined ? undefined : (checkProcessName(body.name) ?? undefined)
    if (cwd !== undefined) await checkCwd(cwd)
    const model = body.model === undefined ? undefined : await this.#withFullUuid(body.model)
    if (model === `${REPLAY_PREFIX}${uuid}`) throw new KernelError('INVALID', 'a process cannot replay itself')
    if (
      model === undefined &&
      effort === undefined &&
      limits === undefined &&
      name === undefined &&
      cwd === undefined &&
      allow === undefined &&
      deny === undefined &&
      gateway === undefined
    )
      return null
    const { capabilities: _, ...rest } = spec
    const rules = withoutUndefined({ allow, deny })
    const lists = applyResumeRules(spec, rules)
    // `checkOverride` has refused the fields that the driver does not support.
    const overridden = {
      ...rest,
      ...lists,
      ...resumedPermissions(spec, rules, lists),
      ...withoutUndefined({ effort, model, name, cwd, gateway }),
      limits: limits ? applyLimitChange(spec.limits, limits) : spec.limits,
      ...(namesServer(serverPrefix('reeve'), allow ?? []) ? { reeve: true } : {}),
    } as ProcessSpec
    const next = await withRealPaths(overridden)
    if (next.driver === 'acp') askingModeFor(next)
    await checkEnforceable(next, this.#deps.containments)
    if (model === undefined || next.driver !== 'native') return next
    const config = await this.#deps.settings.configFor(spec.cwd, spec.env, { model })
    return { ...next, credentials: credentialsOf(model, [], config), ...(isScripted(model) ? { fallback: [] } : {}) }
  }
}

/** Checks that restrictions of programs can be enforced on this machine. Errors: INVALID. */
async function checkEnforceable(requested: ProcessSpec, containments: ContainmentManager): Promise<void> {
  const { spec } = fitToParent(requested, null)
  if (spec.capabilities?.network === 'off') await containments.checkOffline()
  if (deniedToPrograms(spec).length > 0 && startsPrograms(spec)) await containments.checkSocketMount()
}

/** Checks that the user trusts the agent file. Errors: AGENT_INVALID for a program of a repository that the user did not request. */
async function checkTrusted(agent: AgentDefinition, isNamed: boolean, context: Parameters<typeof findDistrust>[2]): Promise<void> {
  const distrust = await findDistrust(agent, isNamed, context)
  if (distrust !== null) throw new KernelError('AGENT_INVALID', distrust.why, undefined, distrust.hint)
}

/** Returns whether the process is removed at its end. Errors: INVALID for a process that may restart, which needs its history. */
function removalOf({ removeAtEnd, restart, childId }: SpawnBody, agent: AgentDefinition | null): { readonly removeAtEnd?: true } {
  if (!removeAtEnd) return {}
  if (childId !== undefined)
    throw new KernelError('INVALID', 'a child of a supervisor cannot be removed at its end, because it may restart')
  const policy = restart ?? agent?.restart
  if (policy !== undefined && policy !== 'no')
    throw new KernelError('INVALID', 'a process with a restart policy cannot be removed at its end')
  return { removeAtEnd: true }
}

/** Returns the labels of the agent file with those of the request. */
function labelsOf({ labels: requested = {} }: SpawnBody, own: Labels = {}): { readonly labels?: Labels } {
  const labels = labelsRule.safeParse({ ...own, ...requested })
  if (!labels.success) throw new KernelError('INVALID', labels.error.issues[0]?.message ?? 'invalid labels')
  return Object.keys(labels.data).length === 0 ? {} : { labels: labels.data }
}

/** The options of a spawn that apply to a supervisor. */
const SUPERVISOR_OPTIONS: ReadonlySet<string> = new Set<keyof SpawnBody>([
  'supervisor',
  'name',
  'cwd',
  'env',
  'parent',
  'childId',
  'restart',
  'limits',
  'labels',
])

/**
 * Builds the fields of a supervisor. It runs no program, so it refuses options of programs and agents. Its limits apply to all its children
 * together.
 */
function buildSupervisorFields(body: SpawnBody): DriverFields<SupervisorProcessSpec> {
  const { supervisor, limits = {} } = body
  const unsupported = Object.entries(body)
    .filter(([key, value]) => value !== undefined && !SUPERVISOR_OPTIONS.has(key))
    .map(([key]) => key)
  if (unsupported.length > 0) throw new KernelError('INVALID', `a supervisor has no ${unsupported.join(', ')}: its children have`)
  if (typeof supervisor !== 'object') throw new KernelError('INTERNAL', 'the name of the supervisor was not resolved')
  const { children: _, ...settings } = supervisor
  return {
    agent: 'supervisor',
    driver: 'supervisor',
    model: null,
    system: null,
    tools: null,
    deny: [],
    argv: null,
    credentials: [],
    limits,
    supervisor: supervisorSpecFrom(settings),
  }
}

/**
 * Removes variables that contain a path in the temporary folder of an incarnation. An agent's shell passes them on to `reeve`, and they
 * may lead to the agent's token.
 */
function withoutTempPaths(env: Readonly<Record<string, string>>, tmpDir: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => !value.startsWith(`${tmpDir}/`)))
}

function restartsOf({ restart, childId }: SpawnBody): Pick<ProcessSpec, 'restart' | 'childId'> {
  return { ...(restart === undefined ? {} : { restart: restartPolicyFrom(restart) }), ...(childId === undefined ? {} : { childId }) }
}

/**
 * Checks that the process can have the input of the request, which is never recorded and so reaches one incarnation only. Errors: INVALID.
 */
function checkInput({ input, argv, restart, childId }: SpawnBody): void {
  if (!input) return
  if (argv === undefined)
    throw new KernelError('INVALID', 'only a command has input on stdin', undefined, 'Give an agent its text as the intent.')
  const mayRestart = childId !== undefined || (restart !== undefined && restartPolicyFrom(restart).type !== 'temporary')
  if (mayRestart)
    throw new KernelError(
      'INVALID',
      'a command with input cannot be restarted: the input is not recorded, so the second start would have none',
      undefined,
      "Let the command read a file (`-- sh -c 'CMD < FILE'`), or give it no input (`< /dev/null`).",
    )
}

/** Builds the fields of a plain command, or of a known program given as a command line. */
function buildCommandFields(body: SpawnBody, credentials: readonly string[], config: Config): DriverFields<CommandSpec> {
  const argv = body.argv ?? []
  checkRules(body)
  if (argv.length === 0) throw new KernelError('INVALID', 'no command after --')
  const format = recognizeFormat(argv)
  checkCommand(body, format === null)
  return {
    agent: 'command',
    driver: 'command',
    model: null,
    system: null,
    ...toolsOf({ tools: null, deny: [] }, body),
    argv,
    ...(body.input ? { input: true } : {}),
    ...(format === null ? {} : { format, ...rawOutputFields(null, config) }),
    ...graceOf(null, format),
    credentials,
    limits: body.limits ?? {},
    ...livenessFields(null, format === null ? plainCommandLiveness(config) : config, body),
    ...gatewayOf(null, body, config),
  }
}

/** Builds the fields of an agent whose program receives the task on its command line. */
function buildProgramFields(
  agent: AgentDefinition,
  body: SpawnBody,
  driver: 'command',
): Without<DriverFields<CommandSpec>, 'credentials' | 'limits'> {
  const { intent = '', interactive = false } = body
  const { agent: _, intent: __, argv: ___, interactive: ____, ...rest } = body
  const format = formatOf(agent)
  if (interactive) checkInteractive(agent, format)
  checkCommand(
    { ...rest, ...(agent.reeve && rest.reeve === undefined ? { reeve: true } : {}), limits: { ...agent.limits, ...body.limits } },
    format === null,
    `agent "${agent.name}"`,
  )
  return {
    agent: agent.name,
    driver,
    model: null,
    system: interactive ? agent.system : null,
    ...toolsOf(agent, body),
    // The intent of an interactive agent is its first message.
    argv: [...commandOf(agent), ...(intent === '' || interactive ? [] : [intent])],
    ...(format === null ? {} : { format }),
    ...graceOf(agent.graceMs, format),
  }
}

/** The liveness settings of a plain command, which may be silent: only the check for a stopped program applies. */
function plainCommandLiveness({ liveness: { stopped } }: Config): Pick<Config, 'liveness'> {
  return { liveness: stopped === undefined ? {} : { stopped } }
}

/** The liveness settings: those of the agent file take precedence over the user's. */
function livenessFields(
  agent: AgentDefinition | null,
  { liveness }: Pick<Config, 'liveness'>,
  body: SpawnBody,
): Pick<RunnableSpec, 'liveness' | 'wake'> {
  const settings = { ...toLivenessSpec(liveness), ...agent?.liveness }
  return { ...(Object.keys(settings).length === 0 ? {} : { liveness: settings }), ...((body.wake ?? agent?.wake) ? { wake: true } : {}) }
}

/**
 * Adds reeve's own tools if the request or the agent file asks for them, or if the list of tools names one. A request for all of them
 * also adds them to the list.
 */
function withOwnTools(fields: DriverFields, agent: AgentDefinition | null, { reeve = agent?.reeve }: SpawnBody): DriverFields {
  const prefix = serverPrefix('reeve')
  const { tools } = fields
  const isNamed = tools !== null && namesServer(prefix, tools)
  if (reeve === false || !(reeve || isNamed)) return fields
  return { ...fields, reeve: true, tools: tools === null || isNamed ? tools : [...tools, prefix] }
}

/** The gateway mode of the request, else of the agent file, else of the user's configuration. */
function gatewayOf(
  agent: AgentDefinition | null,
  body: SpawnBody,
  { gateway: { mode } }: Pick<Config, 'gateway'>,
): Pick<CommandSpec, 'gateway'> {
  const gateway = body.gateway ?? agent?.gateway ?? mode
  return gateway === 'auto' ? {} : { gateway }
}

/** Which raw output lines are kept: the setting of the agent file, else that of the configuration. */
function rawOutputFields(agent: AgentDefinition | null, { keep_raw: configured }: Pick<Config, 'keep_raw'>): Pick<ExternalSpec, 'keepRaw'> {
  const keepRaw = agent?.keepRaw ?? configured
  return keepRaw === 'off' ? {} : { keepRaw }
}

/** The grace period in the agent file; default: the measured one of a known program. */
function graceOf(configured: number | null, format: OutputFormat | null): { readonly graceMs?: number } {
  const graceMs = configured ?? (format === 'claude' || format === 'codex' ? GRACE_MS[format] : null)
  return graceMs === null ? {} : { graceMs }
}

/** The command line of an agent. Errors: AGENT_INVALID. */
function commandOf(agent: AgentDefinition): readonly string[] {
  if (agent.command === null)
    throw new KernelError('AGENT_INVALID', `agent "${agent.name}" has the driver ${agent.driver} and no \`command\``)
  return agent.command
}

/** The format of the JSON lines that the program writes; null if reeve does not understand its output. */
export function formatOf({ format, command }: Pick<AgentDefinition, 'format' | 'command'>): OutputFormat | null {
  return format ?? recognizeFormat(command ?? [])
}

/** Checks that an agent can be interactive: each turn is a separate program, which must continue the last session. Errors: INVALID. */
function checkInteractive(agent: AgentDefinition, format: OutputFormat | null): void {
  const problem = `agent "${agent.name}" takes no messages while it runs`
  if (format === null)
    throw new KernelError(
      'INVALID',
      `${problem}: the output of its program is not understood, so its session is unknown`,
      undefined,
      'A program that writes the JSON lines of Claude Code, Codex, Gemini CLI or OpenCode can. If its command line does not show the format, set `format` in the agent file.',
    )
  const {
    format: { title, keepsNoSession },
    command,
  } = parseKnownCommand(commandOf(agent), format)
  if (keepsNoSession(command))
    throw new KernelError('INVALID', `${problem}: its command line disables the sessions of ${title}, and each message continues a session`)
}

/**
 * Refuses options without an effect on a command, such as a budget for a program that does not report its model calls.
 * `subject` begins the error message. Errors: INVALID.
 */
function checkCommand(body: Partial<Omit<SpawnBody, 'argv'>>, isPlain: boolean, subject = 'a plain command'): void {
  const {
    agent,
    model,
    effort,
    fallback,
    instructions,
    skills,
    allow,
    deny,
    mcp,
    permissions,
    interactive,
    gateway,
    reeve,
    limits = {},
  } = body
  const unsupportedLimits = isPlain ? unenforceableLimits(limits, gateway === 'on') : {}
  const agentRules = { allow: driverDependentRules(allow ?? []), deny: driverDependentRules(deny ?? []) }
  const unsupportedRules = {
    ...(agentRules.allow.length > 0 || allow?.length === 0 ? { allow } : {}),
    ...(agentRules.deny.length > 0 ? { deny } : {}),
  }
  const candidates = Object.entries({
    agent,
    model,
    effort,
    fallback,
    instructions,
    skills,
    ...unsupportedRules,
    mcp,
    permissions,
    interactive: interactive || undefined,
    reeve: (isPlain && reeve) || undefined,
    ...unsupportedLimits,
  })
  const unsupported = candidates.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (unsupported.length > 0) throw new KernelError('INVALID', `${subject} has no ${unsupported.join(', ')}: reeve cannot enforce that`)
}

/** Checks that a resume overrides only options that a spawn of the same driver supports. Errors: INVALID. */
function checkOverride(spec: ProcessSpec, { model, effort, ...body }: ResumeBody): void {
  const limits = { ...body.limits, ...body.raise }
  const { supervisesChildren, enforcement } = CAPABILITIES[spec.driver]
  if (supervisesChildren && body.gateway !== undefined)
    throw new KernelError('INVALID', `a ${spec.driver} has no gateway: it calls no model itself`)
  if (supervisesChildren || enforcement === 'no')
    return checkCommand(
      withoutUndefined({ model, effort, limits, gateway: body.gateway ?? spec.gateway, allow: body.allow, deny: body.deny }),
      isPlainCommand(spec),
      isPlainCommand(spec) ? undefined : `agent "${spec.agent}"`,
    )
  if (spec.driver === 'native' && body.gateway !== undefined)
    throw new KernelError('INVALID', `agent "${spec.agent}" has no gateway: reeve calls its models itself`)
  if (spec.driver === 'acp' && effort !== undefined)
    throw new KernelError('INVALID', `agent "${spec.agent}" has no effort: reeve cannot enforce that`)
}

/** Errors: INVALID if the request has one of these options. */
function refuseOptions(agent: AgentDefinition, body: SpawnBody, unsupported: readonly (keyof SpawnBody)[]): void {
  const requested = unsupported.filter((name) => body[name] !== undefined)
  if (requested.length > 0)
    throw new KernelError('INVALID', `agent "${agent.name}" has no ${requested.join(', ')}: reeve cannot enforce that`)
}

/** Checks the words and tool names of permissions. Errors: INVALID. */
function checkRules({ allow = [], deny = [] }: Pick<SpawnBody, 'allow' | 'deny'>): void {
  const problem = invalidRuleMessage({ allow, deny }) ?? unknownToolMessage(toolNamesIn([...allow, ...deny]))
  if (problem !== null) throw new KernelError('INVALID', problem)
}

function toolsOf(
  agent: Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'>,
  { allow, deny }: SpawnBody,
): Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'> {
  return applySpawnRules(agent, withoutUndefined({ allow, deny }))
}

/** The policy for permission requests. The request's policy replaces only the default of the agent file, not its rules for single tools. */
function permissionsOf(agent: AgentDefinition, { permissions }: SpawnBody): { readonly permissions?: Permissions } {
  const policy = permissions ?? agent.permissions?.default
  if (policy === 'plan')
    throw new KernelError(
      'INVALID',
      `agent "${agent.name}" cannot be held to \`plan\`: only native agents can`,
      undefined,
      'Some agents have a mode for planning, such as `mode: plan` in the agent file of Claude Code. Their own settings then decide.',
    )
  return policy === undefined ? {} : { permissions: { ...agent.permissions, default: policy } }
}

interface FoundTexts {
  readonly texts: Pick<NativeSpec, 'instructions' | 'skills'>
  /** why files were left out */
  readonly problems: readonly string[]
}

/** Reads the instructions of the repository, and finds the skills, for a native agent. External agents read them themselves. */
async function textsFor(
  agent: AgentDefinition | null,
  body: SpawnBody,
  lists: Pick<ProcessSpec, 'tools' | 'deny'>,
  paths: Paths,
): Promise<FoundTexts> {
  if (agent?.driver !== 'native') return { texts: {}, problems: [] }
  const { instructions, problems } =
    (body.instructions ?? agent.instructions ?? true) ? await readInstructions(body.cwd) : { instructions: null, problems: [] }
  const named = agent.skills === false ? undefined : agent.skills
  const found =
    (body.skills ?? agent.skills !== false) && isToolAllowed('skill', lists)
      ? await findSkills(body.cwd, paths, named)
      : { skills: [], problems: [] }
  return {
    texts: { ...(instructions ? { instructions } : {}), ...(found.skills.length === 0 ? {} : { skills: found.skills }) },
    problems: [...problems, ...found.problems],
  }
}

/** The session mode of the agent file. The mode of a built-in agent does not replace the agent's own settings where these decide. */
function modeOf({ mode, source }: AgentDefinition, { permissions }: SpawnBody): Pick<AcpSpec, 'mode'> {
  return mode === null || (permissions === 'agent' && source === 'built-in') ? {} : { mode }
}

/** The permissions of a new native agent. Errors: INVALID for a rule that the agent could bypass, and for a policy of external agents. */
function nativePermissionsOf(agent: AgentDefinition, body: SpawnBody): { readonly permissions?: Permissions } {
  const { permissions: policy, allow, deny } = body
  if (policy === 'agent')
    throw new KernelError('INVALID', `agent "${agent.name}" has no settings of its own: \`agent\` is for external agents`)
  return checkedPermissions(withCallRules(agent.permissions, withoutUndefined({ policy, allow, deny })), toolsOf(agent, body))
}

/**
 * The permissions after a resume that ends with these lists of tools. Without permissions each call may run, so only a denial adds
 * some. Errors: INVALID.
 */
function resumedPermissions(
  spec: ProcessSpec,
  { allow, deny }: Pick<ResumeBody, 'allow' | 'deny'>,
  lists: Pick<ProcessSpec, 'tools' | 'deny'>,
): { readonly permissions?: Permissions } {
  if (spec.driver !== 'native') {
    refuseCallRules({ name: spec.agent }, withoutUndefined({ allow, deny }))
    return {}
  }
  if (allow === undefined && deny === undefined) return {}
  const before = spec.permissions ?? null
  return checkedPermissions(withCallRules(before, withoutUndefined({ allow: before === null ? undefined : allow, deny })), lists)
}

function checkedPermissions(
  permissions: Permissions | null,
  lists: Pick<ProcessSpec, 'tools' | 'deny'>,
): { readonly permissions?: Permissions } {
  if (permissions === null) return {}
  const bypassable = ruleBypassProblem(permissions, lists)
  if (bypassable === null) return { permissions }
  throw new KernelError(
    'INVALID',
    bypassable,
    undefined,
    'Deny bash, or let it ask: `--permissions ask`, with `--allow` for the commands that may run.',
  )
}

/** Errors: INVALID for rules with a pattern, because an external agent describes its calls in its own way. */
function refuseCallRules({ name }: Pick<AgentDefinition, 'name'>, { allow = [], deny = [] }: Pick<SpawnBody, 'allow' | 'deny'>): void {
  const [rule] = callRulesIn([...allow, ...deny])
  if (rule !== undefined)
    throw new KernelError('INVALID', `\`${rule}\` cannot be enforced for agent "${name}": only native agents have rules for single calls`)
}

/** The fallback models. A scripted model, which costs nothing, gets no configured fallback, which would cost money. */
function fallbackOf(model: string, agent: AgentDefinition, config: Config): readonly string[] {
  if (isScripted(model) && model !== agent.model) return []
  return agent.fallback ?? (isScripted(model) ? [] : config.fallback)
}

/**
 * Returns the names of the keys that the model needs. The keys of fallback models are optional, but their providers are checked.
 * Errors: INVALID for an unknown provider.
 */
function credentialsOf(model: string, fallback: readonly string[], { providers }: Config): readonly string[] {
  for (const ref of fallback) requiredKeyNames(ref, providers)
  return requiredKeyNames(model, providers)
}

/** Errors: INVALID if there is no such directory. */
async function checkCwd(cwd: string): Promise<void> {
  // The next line reports a missing directory as INVALID.
  const found = await stat(cwd).catch(() => null)
  if (!found?.isDirectory()) throw new KernelError('INVALID', `${cwd} is not a directory`)
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Checks the name of a process; null if it has none. Errors: INVALID. */
export function checkProcessName(name: string | undefined): string | null {
  if (name === undefined) return null
  if (!NAME.test(name) || /^\d+$/.test(name))
    throw new KernelError(
      'INVALID',
      `"${name}" is not a valid name: use 1 to 64 of [A-Za-z0-9._-], beginning with a letter or digit, not only digits`,
    )
  return name
}
