// The requests that change something, from the API's words to the kernel's: checked once here, trusted inside.
// Owns how a spec is put together from flags, agent file and configuration: the one funnel, used by spawn and resume.
// Test: test/e2e/api.test.ts.
import { stat } from 'node:fs/promises'
import { v7 as uuidv7 } from 'uuid'
import { wrongTool, type Agent } from '../config/agent-file.ts'
import { findAgent } from '../config/agents.ts'
import { splitEnv } from '../config/credentials.ts'
import { mcpServers } from '../config/mcp.ts'
import { isPlayed, keyNames, keysOf } from '../config/model-keys.ts'
import { KernelError } from '../kernel/errors.ts'
import { SIGNALS } from '../kernel/signals.ts'
import type { PauseBody, ProcessView, ResumeBody, SignalBody, SpawnBody, SteerView } from '../api/views.ts'
import type { Config } from '../config/config.ts'
import type { Paths } from '../config/paths.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Process, ProcessSpec, Sender, Signal } from '../kernel/types.ts'
import type { Keys } from './keys.ts'
import type { Pipeline, RequestBody } from './pipeline.ts'
import type { Reads } from './reads.ts'
import type { Settings } from './settings.ts'
import type { Waiter } from './waiter.ts'

export interface OperationsParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly waiter: Waiter
  readonly keys: Keys
  readonly container: Container
  readonly settings: Settings
  readonly paths: Paths
  /** throws while nothing new may start */
  readonly mayStart: () => void
}

const BY: Sender = 'user'
/** begins the reference of a model that replays a process */
const REPLAY = 'replay:'

/** How long a resume waits for the last incarnation's release. */
const RELEASE_MS = 10_000

export class Operations {
  readonly #parts: OperationsParts

  constructor(parts: OperationsParts) {
    this.#parts = parts
  }

  async spawn(body: SpawnBody): Promise<ProcessView> {
    const { pipeline, keys, reads, mayStart } = this.#parts
    mayStart()
    const { spec, secrets } = await this.#spec(body)
    const parent = body.parent === undefined ? null : await reads.resolve(body.parent)
    const uuid = uuidv7()
    const found = await keys.of({ uuid, spec }, secrets)
    if (found.missing.length > 0 && spec.driver !== 'command') {
      keys.forget(uuid)
      throw new KernelError('CREDENTIALS_MISSING', `${spec.model ?? spec.agent} needs ${found.missing.join(', ')}`, { missing: found.missing })
    }
    try {
      await pipeline.request({ type: 'spawn', by: BY, uuid, spec, parent: parent?.uuid ?? null })
    } catch (error) {
      keys.forget(uuid)
      throw error
    }
    return reads.view(await reads.get(uuid))
  }

  async signal(ref: string, body: SignalBody): Promise<SteerView> {
    const process = await this.#parts.reads.resolve(ref)
    const signal = signalOf(body.signal)
    // It may start what waits, as a resume does.
    if (signal === 'SIGRESUME') this.#parts.mayStart()
    return this.#steer(process, { type: 'signal', by: BY, uuid: process.uuid, signal, subtree: body.subtree ?? false, graceMs: body.graceMs ?? null, freeze: false })
  }

  async pause(ref: string, body: PauseBody): Promise<SteerView> {
    const process = await this.#parts.reads.resolve(ref)
    return this.#steer(process, { type: 'signal', by: BY, uuid: process.uuid, signal: 'SIGPAUSE', subtree: body.subtree ?? false, graceMs: null, freeze: body.now ?? false })
  }

  async resume(ref: string, body: ResumeBody): Promise<SteerView> {
    const { reads, pipeline, keys, settings, mayStart } = this.#parts
    mayStart()
    const process = await this.#released(await reads.resolve(ref))
    const { uuid } = process
    const spec = await this.#override(process, body)
    const { secrets } = splitEnv(body.env ?? {}, keyNames(settings.now.providers))
    const { missing } = await keys.of({ uuid, spec: spec ?? process.spec }, secrets)
    const frozen = process.life.state === 'dead' ? process : null
    const message = body.message === undefined ? null : { id: uuidv7(), text: body.message }
    const { subtree = false, only = false, rerun = false } = body
    try {
      // Both are said in one go, so that they are decided together: the answer shows the process without its hold.
      const resumed = this.#steer(process, { type: 'resume', by: BY, uuid, frozen, message, spec, subtree, only, rerun })
      if (missing.length > 0 || !isHeldFor(process, 'credentials')) return await resumed
      pipeline.submit({ type: 'release', uuid, reason: 'credentials' })
      return woken(await resumed)
    } catch (error) {
      if ((await reads.get(uuid)).life.state === 'dead') keys.forget(uuid)
      throw error
    }
  }

  async send(ref: string, text: string): Promise<{ id: string; queueCount: number }> {
    const { reads, pipeline } = this.#parts
    const process = await reads.resolve(ref)
    const id = uuidv7()
    await pipeline.request({ type: 'send', by: BY, uuid: process.uuid, id, text })
    return { id, queueCount: (await reads.get(process.uuid)).queue.length }
  }

  /** A zombie is reaped first; one that cannot be released stays what it is, and the kernel says so. */
  async #released(process: Process): Promise<Process> {
    if (process.life.state !== 'zombie') return process
    return (await this.#parts.waiter.wait(process.uuid, 'exited', RELEASE_MS, new AbortController().signal)).process
  }

  async #steer(process: Process, request: RequestBody): Promise<SteerView> {
    const { pipeline, reads } = this.#parts
    const done = await pipeline.request(request)
    const view = reads.view(await reads.get(process.uuid))
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    const { affected, childrenGoOn, note } = done
    return { version: 1, affected, process: view, ...(childrenGoOn > 0 ? { childrenGoOn } : {}), ...(note === null ? {} : { note }) }
  }

  async #spec(body: SpawnBody): Promise<{ readonly spec: ProcessSpec; readonly secrets: Readonly<Record<string, string>> }> {
    await checkCwd(body.cwd)
    const { settings, container } = this.#parts
    const flags = { ...(body.agent === undefined ? {} : { agent: body.agent }), ...(body.model === undefined ? {} : { model: body.model }), ...(body.containment === undefined ? {} : { containment: body.containment }), ...(body.effort === undefined ? {} : { effort: body.effort }), ...(body.fallback === undefined ? {} : { fallback: body.fallback }) }
    const config = await settings.of(body.cwd, body.env ?? {}, flags)
    const { recorded: env, secrets } = splitEnv(body.env ?? {}, keyNames(config.providers))
    container.plan('probe', 0, config.containment)
    const shared = { name: checkName(body.name), cwd: body.cwd, env, interactive: body.interactive ?? false, containment: config.containment, intent: body.intent ?? body.argv?.join(' ') ?? '' }
    const own = body.argv ? commandSpec(body, Object.keys(secrets)) : await this.#agentSpec(body, config)
    return { spec: { ...shared, ...own }, secrets }
  }

  async #agentSpec(body: SpawnBody, config: Config): Promise<Omit<ProcessSpec, 'name' | 'cwd' | 'env' | 'interactive' | 'containment' | 'intent'>> {
    const agent = await findAgent(body.agent ?? config.defaultAgent, body.cwd, this.#parts.paths)
    const chosen = body.model ?? agent.model ?? config.defaultModel
    const effort = body.effort ?? agent.effort ?? config.effort
    if (agent.driver !== 'native') throw new KernelError('AGENT_INVALID', `agent "${agent.name}" wants the driver ${agent.driver}, which is not there yet`)
    if (chosen === null) throw new KernelError('INVALID', 'no model: give --model provider/name, or set defaultModel in config.yaml')
    const wrong = wrongTool([...(body.allow ?? []), ...(body.deny ?? [])])
    if (wrong !== null) throw new KernelError('INVALID', wrong)
    if ((body.intent ?? '') === '' && !body.interactive) throw new KernelError('INVALID', 'what is it to do? Give an intent, or --interactive')
    const model = await this.#wholeRef(chosen)
    const fallback = await Promise.all((body.fallback ?? fallbackOf(chosen, agent, config)).map((ref) => this.#wholeRef(ref)))
    const servers = await mcpServers({ cwd: body.cwd, paths: this.#parts.paths, agent, chosen: body.mcp })
    return {
      agent: agent.name,
      driver: agent.driver,
      model,
      ...(effort === null ? {} : { effort }),
      ...(fallback.length === 0 ? {} : { fallback }),
      ...(servers.length === 0 ? {} : { mcp: servers }),
      system: agent.system,
      tools: body.allow ?? agent.tools,
      deny: [...agent.deny, ...(body.deny ?? [])],
      argv: null,
      credentials: credentialsOf(model, fallback, config),
      limits: { ...agent.limits, ...body.limits },
    }
  }

  /** What is replayed is named by its whole UUID, so that it stays the same process. Errors: those of `resolve`, INVALID. */
  async #wholeRef(model: string): Promise<string> {
    if (!model.startsWith(REPLAY)) return model
    const { uuid, spec } = await this.#parts.reads.resolve(model.slice(REPLAY.length))
    if (spec.driver !== 'native') throw new KernelError('INVALID', `${uuid} cannot be replayed: a process of the driver ${spec.driver} has no steps`)
    return `${REPLAY}${uuid}`
  }

  /** The spec with what a resume says otherwise; null if it says nothing. */
  async #override({ uuid, spec }: Process, body: ResumeBody): Promise<ProcessSpec | null> {
    if (spec.driver === 'command') checkCommand(body)
    const { effort, limits } = body
    const model = body.model === undefined ? undefined : await this.#wholeRef(body.model)
    if (model === `${REPLAY}${uuid}`) throw new KernelError('INVALID', 'a process cannot replay itself')
    if (model === undefined && effort === undefined && limits === undefined) return null
    const said = { ...spec, ...(effort === undefined ? {} : { effort }), limits: { ...spec.limits, ...limits } }
    if (model === undefined) return said
    const config = await this.#parts.settings.of(spec.cwd, spec.env, { model })
    return { ...said, model, credentials: credentialsOf(model, [], config), ...(isPlayed(model) ? { fallback: [] } : {}) }
  }
}

function commandSpec(body: SpawnBody, secrets: readonly string[]): Omit<ProcessSpec, 'name' | 'cwd' | 'env' | 'interactive' | 'containment' | 'intent'> {
  if (body.argv?.length === 0) throw new KernelError('INVALID', 'no command after --')
  checkCommand(body)
  return {
    agent: 'command', driver: 'command', model: null, system: null, tools: null, deny: [],
    argv: body.argv ?? [], credentials: secrets, limits: body.limits ?? {},
  }
}

/** What only agents have would hold nothing here: a budget, say, of a program that calls its models by itself. */
function checkCommand({ agent, model, allow, deny, mcp, interactive, limits = {} }: Partial<Omit<SpawnBody, 'argv'>>): void {
  const { maxSteps, budgetUsd, budgetTokens } = limits
  const given = Object.entries({ agent, model, allow, deny, mcp, interactive: interactive || undefined, maxSteps, budgetUsd, budgetTokens })
  const wrong = given.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (wrong.length > 0) throw new KernelError('INVALID', `a plain command has no ${wrong.join(', ')}: reeve cannot hold it to them`)
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

function checkName(name: string | undefined): string | null {
  if (name === undefined) return null
  if (!NAME.test(name) || /^\d+$/.test(name)) throw new KernelError('INVALID', `"${name}" is no name: it is 1 to 64 of A-Z a-z 0-9 . _ -, begins with a letter or digit, and is not all digits`)
  return name
}

function signalOf(signal: string | number): Signal {
  const known = Object.entries(SIGNALS).find(([name, row]) => name === signal || row.number === signal)
  if (!known) throw new KernelError('INVALID', `there is no signal ${signal}; there are ${Object.keys(SIGNALS).join(', ')}`)
  return known[0] as Signal
}

/** The kernel answered before the keys' hold was gone. */
function woken(answer: SteerView): SteerView {
  if (answer.process.status === 'suspended') return answer
  const { note: _, ...rest } = answer
  return { ...rest, affected: Math.max(1, answer.affected) }
}

function isHeldFor(process: Process, reason: string): boolean {
  return process.life.state === 'running' && process.life.holds.some((hold) => hold.reason === reason)
}
