// The one funnel in which a spec is put together from flags, agent file and configuration, for a spawn and for a resume.
// Owns what each driver can be asked for: what nobody could hold it to is refused, never dropped. Starts nothing.
// Test: test/e2e/api.test.ts, test/e2e/external.test.ts.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { wrongTool, type Agent } from '../config/agent-file.ts'
import { distrusted, inPlaceOf } from '../config/agent-trust.ts'
import { findAgent, GRACE_MS } from '../config/agents.ts'
import { splitEnv } from '../config/credentials.ts'
import { livenessOf } from '../config/liveness.ts'
import { mcpServers } from '../config/mcp.ts'
import { changedBy, permittedBy, toolWords, unfitWords, wrongWord } from '../config/permits.ts'
import { isPlayed, keyNames, keysOf } from '../config/model-keys.ts'
import { recognise, spokenBy } from '../drivers/command/formats/formats.ts'
import { isPlainCommand } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { changedLimits } from '../kernel/limits.ts'
import { namesServer, serverPrefix } from '../kernel/tool-names.ts'
import { policyOf, supervisorOf } from '../supervise/asked.ts'
import { checkInstalled } from './installed.ts'
import { withRealPlaces } from './places.ts'
import { limitChange, notOfPrograms } from './limit-change.ts'
import type { ResumeBody, SpawnBody } from '../api/views.ts'
import type { Config } from '../config/config.ts'
import type { Paths } from '../config/paths.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Permissions } from '../kernel/spec.ts'
import type { OutputFormat, Process, ProcessSpec } from '../kernel/types.ts'
import type { Reads } from './reads.ts'
import type { Settings } from './settings.ts'

export interface SpecsParts {
  readonly reads: Reads
  readonly container: Container
  readonly settings: Settings
  readonly paths: Paths
}

/** What all drivers have alike, and what each has of its own. */
type Shared = 'name' | 'cwd' | 'env' | 'interactive' | 'containment' | 'intent'
type Own = Omit<ProcessSpec, Shared>
type Secrets = Readonly<Record<string, string>>

/** begins the reference of a model that replays a process */
const REPLAY = 'replay:'

export class Specs {
  readonly #parts: SpecsParts

  constructor(parts: SpecsParts) {
    this.#parts = parts
  }

  /** For a spawn; `note` is what who asked for it should know. Errors: INVALID, AGENT_INVALID, COMMAND_NOT_FOUND. */
  async of(body: SpawnBody): Promise<{ readonly spec: ProcessSpec; readonly secrets: Secrets; readonly note: string | null }> {
    await checkCwd(body.cwd)
    const { settings, container } = this.#parts
    const config = await settings.of(body.cwd, body.env ?? {}, defined({ agent: body.agent, containment: body.containment }))
    const { recorded: env, secrets } = splitEnv(withoutPlaces(body.env ?? {}, join(this.#parts.paths.state, 'tmp')), keyNames(config.providers))
    container.plan('probe', 0, config.containment)
    const shared = { name: checkName(body.name), cwd: body.cwd, env, interactive: body.interactive ?? false, containment: config.containment, intent: body.intent ?? body.argv?.join(' ') ?? '' }
    if (body.supervisor !== undefined) return { spec: { ...shared, ...supervisorSpec(body), ...restartsOf(body), interactive: false, containment: 'group' }, secrets: {}, note: null }
    const agent = body.argv ? null : await findAgent(body.agent ?? config.defaultAgent, body.cwd, this.#parts.paths)
    const own = agent ? await this.#agentSpec(agent, body, config, secrets) : withReeve(commandSpec(body, Object.keys(secrets), config), null, body)
    const spec = { ...shared, ...own, ...restartsOf(body) }
    if (!body.argv) checkInstalled(spec)
    if (spec.capabilities?.network === 'off') await container.checkOffline()
    return { spec, secrets, note: agent && await inPlaceOf(agent, this.#parts.paths) }
  }

  async #agentSpec(agent: Agent, body: SpawnBody, config: Config, secrets: Secrets): Promise<Own> {
    await checkTrusted(agent, body, { paths: this.#parts.paths, trusted: config.trusted })
    if ((body.intent ?? '') === '' && !body.interactive) throw new KernelError('INVALID', 'what is it to do? Give an intent, or --interactive')
    checkPermits(body)
    const watched = { ...watchedOf(agent, config, body), ...(agent.restart === undefined ? {} : { restart: policyOf(agent.restart) }) }
    if (agent.driver === 'native') return withReeve({ ...(await this.#nativeSpec(agent, body)), ...watched }, agent, body)
    const own = agent.driver === 'acp' ? await this.#acpSpec(agent, body) : programSpec(agent, body)
    return withReeve({ ...own, ...watched, ...gatewayOf(agent, body, config), credentials: Object.keys(secrets), limits: { ...agent.limits, ...body.limits } }, agent, body)
  }

  async #nativeSpec(agent: Agent, body: SpawnBody): Promise<Own> {
    refuse(agent, body, ['permissions', 'gateway'])
    const { agent: name, model: said, containment, effort: hard, fallback: others } = body
    const config = await this.#parts.settings.of(body.cwd, body.env ?? {}, defined({ agent: name, model: said, containment, effort: hard, fallback: others }))
    const chosen = said ?? agent.model ?? config.defaultModel
    const effort = hard ?? agent.effort ?? config.effort
    if (chosen === null) throw new KernelError('INVALID', 'no model: give --model provider/name, or set defaultModel in config.yaml')
    const model = await this.#wholeRef(chosen)
    const fallback = await Promise.all((others ?? fallbackOf(chosen, agent, config)).map((ref) => this.#wholeRef(ref)))
    const servers = await mcpServers({ cwd: body.cwd, paths: this.#parts.paths, agent, chosen: body.mcp })
    return {
      agent: agent.name,
      driver: agent.driver,
      model,
      ...(effort === null ? {} : { effort }),
      ...(fallback.length === 0 ? {} : { fallback }),
      ...(servers.length === 0 ? {} : { mcp: servers }),
      ...toolsOf(agent, body),
      system: agent.system,
      argv: null,
      credentials: credentialsOf(model, fallback, config),
      limits: { ...agent.limits, ...body.limits },
    }
  }

  /** It knows its own servers, and what is configured here for others is not forced on it: only what is named. */
  async #acpSpec(agent: Agent, body: SpawnBody): Promise<Omit<Own, 'credentials' | 'limits'>> {
    refuse(agent, body, ['effort', 'fallback'])
    const named = body.mcp !== undefined || agent.mcp !== null
    const servers = named ? await mcpServers({ cwd: body.cwd, paths: this.#parts.paths, agent, chosen: body.mcp }) : []
    return {
      agent: agent.name,
      driver: 'acp',
      model: body.model ?? agent.model,
      ...(servers.length === 0 ? {} : { mcp: servers }),
      ...toolsOf(agent, body),
      ...permissionsOf(agent, body),
      ...(agent.mode === null ? {} : { mode: agent.mode }),
      ...graceOf(agent.graceMs, null),
      system: agent.system,
      argv: commandOf(agent),
    }
  }

  /** What is replayed is named by its whole UUID, so that it stays the same process. Errors: those of `resolve`, INVALID. */
  async #wholeRef(model: string): Promise<string> {
    if (!model.startsWith(REPLAY)) return model
    const { uuid, spec } = await this.#parts.reads.resolve(model.slice(REPLAY.length))
    if (spec.driver !== 'native') throw new KernelError('INVALID', `${uuid} cannot be replayed: a process of the driver ${spec.driver} has no steps of ours`)
    return `${REPLAY}${uuid}`
  }

  /** The spec with what a resume says otherwise; null if it says nothing. */
  async overridden({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>, body: ResumeBody): Promise<ProcessSpec | null> {
    checkOverride(spec, body)
    checkPermits(body)
    const { effort, cwd, allow, deny, gateway } = body
    const { limits } = body.fork ? limitChange(body) : {}
    const name = body.name === undefined ? undefined : (checkName(body.name) ?? undefined)
    if (cwd !== undefined) await checkCwd(cwd)
    const model = body.model === undefined ? undefined : await this.#wholeRef(body.model)
    if (model === `${REPLAY}${uuid}`) throw new KernelError('INVALID', 'a process cannot replay itself')
    if (model === undefined && effort === undefined && limits === undefined && name === undefined && cwd === undefined && allow === undefined && deny === undefined && gateway === undefined) return null
    const { capabilities: _, ...rest } = spec
    const said = await withRealPlaces({ ...rest, ...changedBy(spec, defined({ allow, deny })), ...defined({ effort, model, name, cwd, gateway }), limits: limits ? changedLimits(spec.limits, limits) : spec.limits, ...(namesServer(serverPrefix('reeve'), allow ?? []) ? { reeve: true as const } : {}) })
    if (said.capabilities?.network === 'off') await this.#parts.container.checkOffline()
    if (model === undefined || spec.driver !== 'native') return said
    const config = await this.#parts.settings.of(spec.cwd, spec.env, { model })
    return { ...said, credentials: credentialsOf(model, [], config), ...(isPlayed(model) ? { fallback: [] } : {}) }
  }
}

/** Errors: AGENT_INVALID for a program that a repository names and nobody asked for. */
async function checkTrusted(agent: Agent, body: SpawnBody, around: Parameters<typeof distrusted>[2]): Promise<void> {
  const wrong = await distrusted(agent, body.agent !== undefined, around)
  if (wrong !== null) throw new KernelError('AGENT_INVALID', wrong.why, undefined, wrong.hint)
}

const OF_SUPERVISORS: ReadonlySet<string> = new Set<keyof SpawnBody>(['supervisor', 'name', 'cwd', 'env', 'parent', 'childId', 'restart', 'limits'])

/** There is no program, so that all of what programs and agents have is refused; its limits are those of all its children together. */
function supervisorSpec(body: SpawnBody): Own {
  const { supervisor, limits = {} } = body
  const wrong = Object.entries(body).filter(([key, value]) => value !== undefined && !OF_SUPERVISORS.has(key)).map(([key]) => key)
  if (wrong.length > 0) throw new KernelError('INVALID', `a supervisor has no ${wrong.join(', ')}: its children have`)
  if (typeof supervisor !== 'object') throw new KernelError('INTERNAL', 'a supervisor is known by now')
  const { children: _, ...asked } = supervisor
  return { agent: 'supervisor', driver: 'supervisor', model: null, system: null, tools: null, deny: [], argv: null, credentials: [], limits, supervisor: supervisorOf(asked) }
}

/** What an agent starts from its shell has the environment of that: what names a place of that incarnation's own is its alone, and may hold its token. */
function withoutPlaces(env: Readonly<Record<string, string>>, tmpDir: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => !value.startsWith(`${tmpDir}/`)))
}

function restartsOf({ restart, childId }: SpawnBody): Pick<ProcessSpec, 'restart' | 'childId'> {
  return { ...(restart === undefined ? {} : { restart: policyOf(restart) }), ...(childId === undefined ? {} : { childId }) }
}

function commandSpec(body: SpawnBody, credentials: readonly string[], config: Config): Own {
  const argv = body.argv ?? []
  checkPermits(body)
  if (argv.length === 0) throw new KernelError('INVALID', 'no command after --')
  const format = recognise(argv)
  checkCommand(body, format === null)
  return {
    agent: 'command', driver: 'command', model: null, system: null, ...toolsOf({ tools: null, deny: [] }, body),
    argv, ...(format === null ? {} : { format }), ...graceOf(null, format), credentials, limits: body.limits ?? {},
    ...watchedOf(null, format === null ? ofProgram(config) : config, body), ...gatewayOf(null, body, config),
  }
}

/** An agent that is told by its command line what to do. */
function programSpec(agent: Agent, body: SpawnBody): Omit<Own, 'credentials' | 'limits'> {
  const { intent = '', interactive = false } = body
  const { agent: _, intent: __, argv: ___, interactive: ____, ...rest } = body
  const format = formatOf(agent)
  if (interactive) checkConverses(agent, format)
  checkCommand({ ...rest, ...(agent.reeve && rest.reeve === undefined ? { reeve: true } : {}), limits: { ...agent.limits, ...body.limits } }, format === null, `agent "${agent.name}"`)
  return {
    agent: agent.name, driver: 'command', model: null, system: interactive ? agent.system : null, ...toolsOf(agent, body),
    // In a conversation what it is to do is its first message.
    argv: [...commandOf(agent), ...(intent === '' || interactive ? [] : [intent])], ...(format === null ? {} : { format }), ...graceOf(agent.graceMs, format),
  }
}

/** A plain command may well be silent; that somebody has stopped it is as true of it as of any other. */
function ofProgram({ liveness: { stopped } }: Config): Pick<Config, 'liveness'> {
  return { liveness: stopped === undefined ? {} : { stopped } }
}

/** When it counts as silent and so on: its agent's word before the user's. */
function watchedOf(agent: Agent | null, { liveness }: Pick<Config, 'liveness'>, body: SpawnBody): Pick<ProcessSpec, 'liveness' | 'wake'> {
  const said = { ...livenessOf(liveness), ...agent?.liveness }
  return { ...(Object.keys(said).length === 0 ? {} : { liveness: said }), ...((body.wake ?? agent?.wake) ? { wake: true } : {}) }
}

/** reeve's own tools: where it is told so, its agent says so, or its list names one. Who asks for all of them has them beside its list. */
function withReeve(own: Own, agent: Agent | null, { reeve = agent?.reeve }: SpawnBody): Own {
  const prefix = serverPrefix('reeve')
  const isNamed = own.tools !== null && namesServer(prefix, own.tools)
  if (reeve === false || !(reeve || isNamed)) return own
  return { ...own, reeve: true, tools: own.tools === null || isNamed ? own.tools : [...own.tools, prefix] }
}

/** Whether its models are called through the gateway: as this process is told, else its agent's word, else the user's. */
function gatewayOf(agent: Agent | null, body: SpawnBody, { gateway: { mode } }: Pick<Config, 'gateway'>): Pick<ProcessSpec, 'gateway'> {
  const gateway = body.gateway ?? agent?.gateway ?? mode
  return gateway === 'auto' ? {} : { gateway }
}

/** What its file says, else what was measured of the program that it is known to be. */
function graceOf(said: number | null, format: OutputFormat | null): { readonly graceMs?: number } {
  const graceMs = said ?? (format === 'claude' || format === 'codex' ? GRACE_MS[format] : null)
  return graceMs === null ? {} : { graceMs }
}

function commandOf(agent: Agent): readonly string[] {
  if (agent.command === null) throw new KernelError('AGENT_INVALID', `agent "${agent.name}" has the driver ${agent.driver} and no \`command\``)
  return agent.command
}

/** The JSON lines that its program writes; null: nobody here understands them. */
export function formatOf({ format, command }: Pick<Agent, 'format' | 'command'>): OutputFormat | null {
  return format ?? recognise(command ?? [])
}

/** Each turn of a command is a program of its own, which goes on with the session of the one before. Errors: INVALID. */
function checkConverses(agent: Agent, format: OutputFormat | null): void {
  const who = `agent "${agent.name}" takes no messages while it runs`
  if (format === null) throw new KernelError('INVALID', `${who}: the output of its program is not understood, so that nobody knows which session to go on with`, undefined, 'A program that writes the JSON lines of Claude Code, Codex, Gemini CLI or OpenCode can, with its `format` in the agent file where its command line does not say so.')
  const { format: { title, forgets }, command } = spokenBy(commandOf(agent), format)
  if (forgets(command)) throw new KernelError('INVALID', `${who}: its command line tells ${title} to keep no session, and each message goes on with that`)
}

/** What only agents have would hold nothing here: a budget, say, of a program that calls its models by itself and does not say so. */
function checkCommand(body: Partial<Omit<SpawnBody, 'argv'>>, isPlain: boolean, who = 'a plain command'): void {
  const { agent, model, effort, fallback, allow, deny, mcp, permissions, interactive, gateway, reeve, limits = {} } = body
  const counted = isPlain ? notOfPrograms(limits, gateway === 'on') : {}
  const unfit = { allow: unfitWords(allow ?? []), deny: unfitWords(deny ?? []) }
  const lists = { ...(unfit.allow.length > 0 || allow?.length === 0 ? { allow } : {}), ...(unfit.deny.length > 0 ? { deny } : {}) }
  const given = Object.entries({ agent, model, effort, fallback, ...lists, mcp, permissions, interactive: interactive || undefined, reeve: (isPlain && reeve) || undefined, ...counted })
  const wrong = given.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (wrong.length > 0) throw new KernelError('INVALID', `${who} has no ${wrong.join(', ')}: reeve cannot hold it to them`)
}

/** A resume can override what a spawn could have asked for. */
function checkOverride(spec: ProcessSpec, { model, effort, ...body }: ResumeBody): void {
  const limits = { ...body.limits, ...body.raise }
  if (spec.driver !== 'native' && spec.driver !== 'acp') return checkCommand(defined({ model, effort, limits, gateway: body.gateway ?? spec.gateway, allow: body.allow, deny: body.deny }), isPlainCommand(spec), isPlainCommand(spec) ? undefined : `agent "${spec.agent}"`)
  if (spec.driver === 'native' && body.gateway !== undefined) throw new KernelError('INVALID', `agent "${spec.agent}" has no gateway: reeve calls its models itself`)
  if (spec.driver === 'acp' && effort !== undefined) throw new KernelError('INVALID', `agent "${spec.agent}" has no effort: reeve cannot hold it to that`)
}

function refuse(agent: Agent, body: SpawnBody, wrong: readonly (keyof SpawnBody)[]): void {
  const given = wrong.filter((name) => body[name] !== undefined)
  if (given.length > 0) throw new KernelError('INVALID', `agent "${agent.name}" has no ${given.join(', ')}: reeve cannot hold it to them`)
}

function checkPermits({ allow = [], deny = [] }: Pick<SpawnBody, 'allow' | 'deny'>): void {
  const wrong = wrongWord({ allow, deny }) ?? wrongTool(toolWords([...allow, ...deny]))
  if (wrong !== null) throw new KernelError('INVALID', wrong)
}

function toolsOf(agent: Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'>, { allow, deny }: SpawnBody): Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'> {
  return permittedBy(agent, defined({ allow, deny }))
}

/** A word for this one process is about what nobody has named one by one. */
function permissionsOf(agent: Agent, { permissions }: SpawnBody): { readonly permissions?: Permissions } {
  if (permissions === undefined) return agent.permissions === null ? {} : { permissions: agent.permissions }
  return { permissions: { ...agent.permissions, default: permissions } }
}

/** What stands in for a model that is paid for does not stand in for one that is played: that costs nothing, and is to go on costing nothing. */
function fallbackOf(model: string, agent: Agent, config: Config): readonly string[] {
  if (isPlayed(model) && model !== agent.model) return []
  return agent.fallback ?? (isPlayed(model) ? [] : config.fallback)
}

/** The names of the keys that the first model needs; a fallback goes without. Errors: INVALID for a provider that nobody configured. */
function credentialsOf(model: string, fallback: readonly string[], { providers }: Config): readonly string[] {
  for (const ref of fallback) keysOf(ref, providers)
  return keysOf(model, providers)
}

async function checkCwd(cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => null)
  if (!found?.isDirectory()) throw new KernelError('INVALID', `${cwd} is not a directory`)
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Errors: INVALID. */
export function checkName(name: string | undefined): string | null {
  if (name === undefined) return null
  if (!NAME.test(name) || /^\d+$/.test(name)) throw new KernelError('INVALID', `"${name}" is no name: it is 1 to 64 of A-Z a-z 0-9 . _ -, begins with a letter or digit, and is not all digits`)
  return name
}

/** Without what was not given: absent and undefined are told apart. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
