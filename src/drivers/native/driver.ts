// The driver of native agents, whose tool loop and model calls run in the daemon. Loads the loop's modules when the first agent starts, so
// that a daemon without native agents does not load them.
// Tests: test/processes/native.
import type { Driver, KernelPort, Launch } from '../port.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import type { McpStart } from '../../kernel/model/mcp-start.ts'
import type { NativeAgent } from './agent.ts'
import type { Model } from './models/model.ts'
import type { ModelOptions, ProviderConfig } from './models/resolve-model.ts'
import type { UserPrices } from './models/prices.ts'
import type { ReplayProgress } from './replay/replay.ts'
import type { RetryPolicy } from './models/retry.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import type { ToolSource } from './tools/tool.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import type { AcpSpec, NativeSpec } from '../../kernel/model/process-spec.ts'

export interface NativeOptions {
  /** all configured providers; read at each start of an agent */
  readonly providers: readonly ProviderConfig[]
  /** the user's own prices; read at each start of an agent */
  readonly prices?: UserPrices
  /** the maximum number of output tokens of a call */
  readonly maxOutputTokens?: number
  readonly retry?: RetryPolicy
  /** a stream without data for this time is cut, in ms */
  readonly idleMs?: number
  /** reads the MCP servers of a process, with all values that their start needs */
  readonly servers?: (launch: Launch<NativeSpec | AcpSpec>) => Promise<readonly McpStart[]>
}

const DEFAULT_MAX_OUTPUT_TOKENS = 16_384
const DEFAULT_IDLE_MS = 300_000

export function nativeDriver(options: NativeOptions): Driver<NativeSpec> {
  return {
    start: (launch, kernel) => startAgent(launch, kernel, options),
  }
}

/** Starts an agent. Errors: those of `resolveModel` for the first model. */
async function startAgent(launch: Launch<NativeSpec>, kernel: KernelPort, options: NativeOptions): Promise<NativeAgent> {
  const [
    { NativeAgent },
    { resolveModel },
    { loadContext },
    { DEFAULT_RETRY },
    { Toolbox },
    { FreezableTimers },
    { FallbackChain, LastCalledModel },
    { CallPolicy },
  ] = await Promise.all([
    import('./agent.ts'),
    import('./models/resolve-model.ts'),
    import('./context/load-context.ts'),
    import('./models/retry.ts'),
    import('./tools/toolbox.ts'),
    import('../common/freezable-timers.ts'),
    import('./models/fallback-chain.ts'),
    import('./permissions/call-policy.ts'),
  ])
  const { spec } = launch
  const modelOptions = toModelOptions(launch, options)
  const replays = await loadReplays(launch, kernel)
  const loadModel = async (ref: string): Promise<Model> => replays.get(ref)?.load() ?? resolveModel(ref, modelOptions)
  const lastCalled = new LastCalledModel()
  const fallback = spec.fallback ?? []
  const readObservedPage = observePages(launch.filteredHistory, (body) => {
    lastCalled.observe(body)
    for (const replay of replays.values()) replay.progress.observe(body)
  })
  const { context } = await loadContext(fallback.length > 0 || replays.size > 0 ? readObservedPage : launch.filteredHistory, launch.context)
  // The chain loads its models again when one of their keys has changed.
  const keys = (): string => JSON.stringify([spec.model, ...fallback].map((ref) => keyOf(ref, modelOptions)))
  const model = await FallbackChain.create(
    { load: () => loadModel(spec.model), keys },
    fallback.map((ref) => ({ ref, load: () => loadModel(ref) })),
  )
  await model.resumeFrom(lastCalled)
  const timers = new FreezableTimers()
  const agent = new NativeAgent({
    kernel,
    launch,
    model,
    context,
    toolbox: new Toolbox(spec, await loadExtraTools(launch, kernel, timers, options)),
    timers,
    policy: new CallPolicy(spec.permissions, spec.cwd),
    retry: options.retry ?? DEFAULT_RETRY,
  })
  // The start of the agent does not wait until these notes are written to disk.
  for (const text of notesOnMissingKeys(fallback, modelOptions)) kernel.report({ type: 'note', text }).catch(() => undefined)
  return agent
}

interface ReplayedModel {
  /** the progress of earlier incarnations, read from the journal */
  readonly progress: ReplayProgress
  load(): Promise<Model>
}

/** The replayed models of the process, by model reference. */
async function loadReplays(launch: Launch<NativeSpec>, kernel: KernelPort): Promise<ReadonlyMap<string, ReplayedModel>> {
  const { model, fallback = [] } = launch.spec
  const refs = [model, ...fallback].filter((ref) => ref.startsWith('replay:'))
  if (refs.length === 0) return new Map()
  const { ReplayProgress, replayModel } = await import('./replay/replay.ts')
  return new Map(
    refs.map((ref) => {
      const progress = new ReplayProgress(ref)
      return [ref, { progress, load: () => replayModel({ ref, launch, progress, note: (text) => kernel.report({ type: 'note', text }) }) }]
    }),
  )
}

/** The tools in addition to those for files and the shell: reeve's own, and those of the MCP servers. Null if there are none. */
async function loadExtraTools(
  launch: Launch<NativeSpec>,
  kernel: KernelPort,
  timers: FreezableTimers,
  options: NativeOptions,
): Promise<ToolSource | null> {
  const servers = await loadMcpServers(launch, kernel, timers, options)
  if (!launch.ownTools) return servers
  const { withOwnTools } = await import('./tools/reeve-tools.ts')
  return withOwnTools(launch.ownTools, servers)
}

/** The MCP servers of the process, which start at the first turn. Null if there are none. */
async function loadMcpServers(
  launch: Launch<NativeSpec>,
  kernel: KernelPort,
  timers: FreezableTimers,
  { servers }: NativeOptions,
): Promise<ToolSource | null> {
  const { spec, containment } = launch
  if (servers === undefined || !spec.mcp || spec.mcp.length === 0) return null
  const { McpServers } = await import('../mcp/servers.ts')
  return new McpServers({ starts: () => servers(launch), spec, containment, timers, report: (report) => kernel.report(report) })
}

function toModelOptions(
  { uuid, spec, credentials, currentCredentials = () => credentials }: Launch<NativeSpec>,
  options: NativeOptions,
): ModelOptions {
  return {
    providers: options.providers,
    prices: options.prices,
    maxOutputTokens: options.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    effort: spec.effort ?? null,
    cacheKey: uuid,
    idleMs: options.idleMs ?? DEFAULT_IDLE_MS,
    cwd: spec.cwd,
    lookup: (name) => lookUp(currentCredentials(), name) ?? lookUp(spec.env, name),
  }
}

/** Notes about fallbacks whose key is missing. The agent starts without the key, but the user should know before the fallback is needed. */
function notesOnMissingKeys(fallback: readonly string[], options: ModelOptions): readonly string[] {
  return fallback.flatMap((ref) => {
    const name = keyVariableOf(ref, options)
    return name === null || keyOf(ref, options) ? [] : [`fallback ${ref} cannot be used: ${name} is not set`]
  })
}

/** The environment variable with the key of a model; null if the model needs no key. */
function keyVariableOf(ref: string | null, { providers }: ModelOptions): string | null {
  return providers.find((each) => ref?.startsWith(`${each.name}/`))?.apiKeyEnv ?? null
}

function keyOf(ref: string | null, options: ModelOptions): string | null {
  const name = keyVariableOf(ref, options)
  return name === null ? null : (options.lookup(name) ?? null)
}

type ReadPage = Launch['filteredHistory']

/**
 * Returns a reader of the same pages that passes the body of every fact to `observe`. It also reads the bodies that a context does not
 * need.
 */
function observePages(readPage: ReadPage, observe: (body: FactBody) => void): ReadPage {
  return async (afterSeq, limit, { without }) => {
    const page = await readPage(afterSeq, limit, { without, marks: [] })
    for (const fact of page) if ('body' in fact) observe(fact.body)
    return page
  }
}
