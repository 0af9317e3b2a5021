// The driver of native agents: the model is called from here, in the daemon, and the loop is ours. What it needs is loaded
// when the first agent starts, so that a daemon without one carries none of it.
// Tests: test/e2e/native.test.ts and its siblings.
import type { Driver, KernelPort, Launch } from '../port.ts'
import type { FactBody } from '../../kernel/facts.ts'
import type { McpStart } from '../../kernel/mcp.ts'
import type { NativeAgent } from './agent.ts'
import type { Model } from './model.ts'
import type { ModelOptions, ProviderConfig } from './models.ts'
import type { OwnPrices } from './prices.ts'
import type { ReplayPast } from './replay.ts'
import type { RetryPolicy } from './retry.ts'
import type { Freezer } from './tools/freezer.ts'
import type { ToolSource } from './tools/tool.ts'

export interface NativeOptions {
  /** all that there are; looked at whenever an agent starts */
  readonly providers: readonly ProviderConfig[]
  /** the user's own, looked at as often */
  readonly prices?: OwnPrices
  /** sent with every call */
  readonly maxOutputTokens?: number
  readonly retry?: RetryPolicy
  /** a stream that sends nothing for so long is cut */
  readonly idleMs?: number
  /** the MCP servers of a process as they are to be started */
  readonly servers?: (launch: Launch) => Promise<readonly McpStart[]>
}

const MAX_OUTPUT_TOKENS = 16_384
const IDLE_MS = 300_000

export function nativeDriver(options: NativeOptions): Driver {
  return {
    start: (launch, kernel) => start(launch, kernel, options),
  }
}

/** Errors: those of `resolveModel`, for the first model. */
async function start(launch: Launch, kernel: KernelPort, options: NativeOptions): Promise<NativeAgent> {
  const [{ NativeAgent }, { resolveModel }, { loadContext }, { RETRY }, { Toolbox }, { Freezer }, { Chain, LastAsked }] = await Promise.all([
    import('./agent.ts'), import('./models.ts'), import('./load-context.ts'), import('./retry.ts'), import('./tools/toolbox.ts'), import('./tools/freezer.ts'), import('./chain.ts'),
  ])
  const { spec } = launch
  const modelOptions = modelOptionsOf(launch, options)
  const replays = await replaysOf(launch, kernel)
  const load = async (ref: string | null): Promise<Model> => replays.get(ref)?.load() ?? resolveModel(ref, modelOptions)
  const asked = new LastAsked()
  const fallback = spec.fallback ?? []
  const seen = watched(launch.skim, (body) => {
    asked.see(body)
    for (const replay of replays.values()) replay.past.see(body)
  })
  const { context } = await loadContext(fallback.length > 0 || replays.size > 0 ? seen : launch.skim, launch.context)
  const model = new Chain(await load(spec.model), fallback.map((ref) => ({ ref, load: () => load(ref) })))
  await model.goOn(asked)
  const freezer = new Freezer()
  const agent = new NativeAgent({ kernel, launch, model, context, toolbox: new Toolbox(spec, await moreTools(launch, kernel, freezer, options)), freezer, retry: options.retry ?? RETRY })
  // Nobody waits for it, as for the word that the agent is up.
  for (const text of keyless(fallback, modelOptions)) kernel.report({ type: 'note', text }).catch(() => undefined)
  return agent
}

interface ReplayOf {
  readonly past: ReplayPast
  load(): Promise<Model>
}

/** The models of a process that replay another one, by their reference. */
async function replaysOf(launch: Launch, kernel: KernelPort): Promise<ReadonlyMap<string | null, ReplayOf>> {
  const { model, fallback = [] } = launch.spec
  const refs = [model ?? '', ...fallback].filter((ref) => ref.startsWith('replay:'))
  if (refs.length === 0) return new Map()
  const { ReplayPast, replayModel } = await import('./replay.ts')
  return new Map(refs.map((ref) => {
    const past = new ReplayPast(ref)
    return [ref, { past, load: () => replayModel({ ref, launch, past, note: (text) => kernel.report({ type: 'note', text }) }) }]
  }))
}

/** What it has beside the files and the shell. */
async function moreTools(launch: Launch, kernel: KernelPort, freezer: Freezer, options: NativeOptions): Promise<ToolSource | null> {
  const servers = await serversOf(launch, kernel, freezer, options)
  if (!launch.own) return servers
  const { withOwnTools } = await import('./tools/own.ts')
  return withOwnTools(launch.own, servers)
}

/** Nothing of it is started before the first turn. */
async function serversOf(launch: Launch, kernel: KernelPort, freezer: Freezer, { servers }: NativeOptions): Promise<ToolSource | null> {
  const { spec, containment } = launch
  if (servers === undefined || !spec.mcp || spec.mcp.length === 0) return null
  const { McpServers } = await import('../mcp/servers.ts')
  return new McpServers({ starts: () => servers(launch), spec, containment, freezer, report: (report) => kernel.report(report) })
}

function modelOptionsOf({ uuid, spec, credentials }: Launch, options: NativeOptions): ModelOptions {
  return {
    providers: options.providers,
    prices: options.prices,
    maxOutputTokens: options.maxOutputTokens ?? MAX_OUTPUT_TOKENS,
    effort: spec.effort ?? null,
    cacheKey: uuid,
    idleMs: options.idleMs ?? IDLE_MS,
    cwd: spec.cwd,
    lookup: (name) => credentials[name] ?? spec.env[name],
  }
}

/** A fallback without its key holds nobody up, but whoever counts on it is to know before it is needed. */
function keyless(fallback: readonly string[], { providers, lookup }: ModelOptions): readonly string[] {
  return fallback.flatMap((ref) => {
    const key = providers.find((each) => ref.startsWith(`${each.name}/`))?.apiKeyEnv ?? null
    return key === null || lookup(key) ? [] : [`fallback ${ref} cannot be used: ${key} is not set`]
  })
}

type Pages = Launch['skim']

/** The same pages; each fact is seen as it is read, also what a context needs the place of alone. */
function watched(pages: Pages, see: (body: FactBody) => void): Pages {
  return async (afterSeq, limit, { without }) => {
    const page = await pages(afterSeq, limit, { without, marks: [] })
    for (const fact of page) if ('body' in fact) see(fact.body)
    return page
  }
}
