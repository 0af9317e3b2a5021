// The configuration: flags over environment over the project's reeve.yaml over the user's config.yaml over defaults.
// Owns every key and its default. A project's file comes with a repository, so it may choose an agent and a model, but
// nothing that runs programs, moves keys or touches other projects: those keys are the user's alone.
// Test: test/tables/config.test.ts.
import * as z from 'zod'
import { KernelError } from '../kernel/errors.ts'
import type { McpServer } from '../kernel/spec.ts'
import type { ContainmentKind, Effort } from '../kernel/types.ts'
import { COMPOSE_HINT, agentKeys, agentsRule, composeFile, type ComposeFile } from './compose.ts'
import { crewKeys, crewNamed, crewsRule, type NamedCrew } from './crews.ts'
import { GATEWAY_DEFAULTS, GATEWAY_KEYS, RATE_LIMIT_KEYS, gatewayRule, type GatewayConfig } from './gateway.ts'
import { GC_DEFAULTS, GC_KEYS, gcRule, type GcConfig } from './gc.ts'
import { nearest, problemError, readText, trustedOwners } from './files.ts'
import { issueWords } from './issues.ts'
import { LIVENESS_KEYS, livenessFileRule, type LivenessFile } from './liveness.ts'
import { SERVER_KEYS, placeOf, serversOf, serversRule } from './mcp-file.ts'
import { NOTIFICATION_KEYS, WEBHOOK_KEYS, notificationsRule, type NotificationsConfig } from './notifications.ts'
import type { Env, Paths } from './paths.ts'
import { BACKOFF_KEYS } from './restart.ts'
import { CHILD_KEYS, SUPERVISOR_KEYS, supervisorNamed, supervisorsRule, type SupervisorFile } from './supervisors.ts'
import { PRICE_KEYS, pricesRule, type PricesConfig } from './prices.ts'
import { parseYaml, type Format } from './yaml.ts'

/** What is known of a model and stands in no table, or is to be otherwise. */
export interface ModelFacts {
  /** tokens that its context holds */
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
}

/** Where models come from; `name` is the part before the slash in `provider/model`. */
export interface Provider {
  readonly name: string
  /** the wire format: Anthropic's Messages, OpenAI's Responses, Gemini's, or OpenAI's chat completions, which many speak */
  readonly kind: ProviderKind
  readonly baseURL: string
  /** the name of the variable or credential that holds the key; null for endpoints without one */
  readonly apiKeyEnv: string | null
  /** the variable that moves it, as its own client's does; it wins over `baseURL` */
  readonly baseURLEnv?: string
  /** by the model's name */
  readonly models?: Readonly<Record<string, ModelFacts>> | undefined
}

export interface Config {
  /** live, not suspended processes that the table may have */
  readonly maxProcesses: number
  readonly defaultAgent: string
  /** `provider/name`, or null: then each agent or `--model` must name one */
  readonly defaultModel: string | null
  /** models that are asked when an agent's own cannot answer; an agent file's own list comes first */
  readonly fallback: readonly string[]
  readonly effort: Effort | null
  /** the user's, before the built-in ones of the same name */
  readonly providers: readonly Provider[]
  readonly containment: ContainmentKind | 'auto'
  /** argv of a program that prints a key; `{name}` is replaced by the key's name */
  readonly keyCommand: readonly string[] | null
  /** directories whose files may name programs to start (MCP servers): these and all below */
  readonly trusted: readonly string[]
  /** when an agent counts as silent, stalled and so on, as far as it is not as built in; its own file comes first */
  readonly liveness: LivenessFile
  /** what tells a person, and of what */
  readonly notifications: NotificationsConfig
  /** which ended processes are kept */
  readonly gc: GcConfig
  /** what models cost, by `provider/model`; they win over the table that comes with reeve */
  readonly prices: PricesConfig
  /** how agents of others call their models */
  readonly gateway: GatewayConfig
}

export const DEFAULTS: Config = {
  maxProcesses: 10_000,
  defaultAgent: 'default',
  defaultModel: null,
  fallback: [],
  effort: null,
  providers: [
    { name: 'anthropic', kind: 'anthropic', baseURL: 'https://api.anthropic.com/v1', apiKeyEnv: 'ANTHROPIC_API_KEY', baseURLEnv: 'ANTHROPIC_BASE_URL' },
    { name: 'openai', kind: 'openai', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', baseURLEnv: 'OPENAI_BASE_URL' },
    { name: 'google', kind: 'google', baseURL: 'https://generativelanguage.googleapis.com/v1beta', apiKeyEnv: 'GEMINI_API_KEY', baseURLEnv: 'GOOGLE_GEMINI_BASE_URL' },
    { name: 'openai-chat', kind: 'openai-compatible', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', baseURLEnv: 'OPENAI_BASE_URL' },
    { name: 'openrouter', kind: 'openai-compatible', baseURL: 'https://openrouter.ai/api/v1', apiKeyEnv: 'OPENROUTER_API_KEY' },
    { name: 'deepseek', kind: 'openai-compatible', baseURL: 'https://api.deepseek.com/v1', apiKeyEnv: 'DEEPSEEK_API_KEY' },
    { name: 'ollama', kind: 'openai-compatible', baseURL: 'http://127.0.0.1:11434/v1', apiKeyEnv: null },
    { name: 'lmstudio', kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1234/v1', apiKeyEnv: null },
    { name: 'vllm', kind: 'openai-compatible', baseURL: 'http://127.0.0.1:8000/v1', apiKeyEnv: null },
  ],
  containment: 'auto',
  keyCommand: null,
  trusted: [],
  liveness: {},
  notifications: {},
  gc: GC_DEFAULTS,
  prices: {},
  gateway: GATEWAY_DEFAULTS,
}

const MAX_PROVIDERS = 100
const word = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of letters, digits, dots, dashes and underscores')
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]
const KINDS = ['anthropic', 'openai', 'google', 'openai-compatible'] as const
export type ProviderKind = (typeof KINDS)[number]

export const modelRule = z.string().regex(/^((script|replay):.+|[^/\s:]+\/\S+)$/, 'expected provider/name, script:FILE or replay:UUID').max(1000)
export const fallbackRule = z.array(modelRule).max(10)
export const effortRule = z.enum(EFFORTS)
const variable = z.string().regex(/^[A-Za-z_]\w{0,127}$/, 'expected the name of a variable, never a key itself')

const modelFacts = z.strictObject({ contextWindow: z.int().positive().optional(), maxOutputTokens: z.int().positive().optional() })
const provider = z.strictObject({
  name: word,
  kind: z.enum(KINDS),
  baseURL: z.url({ protocol: /^https?$/, error: 'expected a URL with http or https' }),
  apiKeyEnv: variable.nullable().default(null),
  models: z.record(z.string().min(1).max(200), modelFacts).optional(),
})

const projectKeys = { defaultAgent: word.optional(), defaultModel: modelRule.optional(), fallback: fallbackRule.optional(), effort: effortRule.optional(), supervisors: supervisorsRule.optional(), crews: crewsRule.optional() }
const userKeys = {
  ...projectKeys,
  maxProcesses: z.int().min(1).max(1_000_000).optional(),
  providers: z.array(provider).max(MAX_PROVIDERS).optional(),
  containment: z.enum(['auto', 'cgroup', 'pidns', 'group']).optional(),
  keyCommand: z.array(z.string().max(4096)).min(1).max(100).optional(),
  trusted: z.array(z.string().startsWith('/', 'expected an absolute path').max(4096)).max(1000).optional(),
  mcp: serversRule.optional(),
  gc: gcRule.optional(),
  prices: pricesRule.optional(),
  liveness: livenessFileRule.optional(),
  notifications: notificationsRule.optional(),
  gateway: gatewayRule.optional(),
}

export type UserFile = z.infer<z.ZodObject<typeof userKeys, z.core.$strict>>
/** What runs as a whole stands with what it works on, and is nobody's default. */
const projectFileKeys = { ...projectKeys, agents: agentsRule.optional() }
type ProjectFile = z.infer<z.ZodObject<typeof projectFileKeys, z.core.$strict>>

export const USER_FORMAT: Format<UserFile> = {
  schema: z.strictObject(userKeys).superRefine(checkRateLimits),
  known: (path) => {
    const [key, at, part] = path
    const supervised = supervisorKeys([key ?? '', at ?? '', part ?? ''])
    if (supervised) return supervised
    if (key === 'crews') return crewKeys(path)
    if (key === 'mcp') return SERVER_KEYS
    if (key === 'gc') return GC_KEYS
    if (key === 'liveness') return LIVENESS_KEYS
    if (key === 'notifications') return at === 'webhook' ? WEBHOOK_KEYS : NOTIFICATION_KEYS
    if (key === 'gateway') return at === 'rateLimits' ? RATE_LIMIT_KEYS : GATEWAY_KEYS
    if (key === 'prices') return PRICE_KEYS
    return Object.keys(key !== 'providers' ? userKeys : part === 'models' ? modelFacts.shape : provider.shape)
  },
}
const projectFormat: Format<ProjectFile> = {
  schema: z.strictObject(projectFileKeys),
  known: (path) => supervisorKeys(path) ?? (path[0] === 'crews' ? crewKeys(path) : path[0] === 'agents' ? agentKeys(path) : Object.keys(projectFileKeys)),
}

/** One that is written wrongly would hold nothing, and nobody would hear of it. */
function checkRateLimits({ gateway, providers = [] }: UserFile, context: z.core.$RefinementCtx<UserFile>): void {
  const names = [...new Set([...providers, ...DEFAULTS.providers].map(({ name }) => name))]
  const wrong = Object.keys(gateway?.rateLimits ?? {}).find((name) => !names.includes(name))
  if (wrong === undefined) return
  context.addIssue({ code: 'custom', path: ['gateway', 'rateLimits', wrong], message: `there is no provider of this name; there are ${names.join(', ')}` })
}

function supervisorKeys([key, , part]: readonly PropertyKey[]): readonly string[] | null {
  if (key !== 'supervisors') return null
  if (part === 'backoff') return BACKOFF_KEYS
  return part === 'children' ? CHILD_KEYS : SUPERVISOR_KEYS
}

/** What the command line was given for one run; absent is not said. */
export interface Flags {
  readonly agent?: string
  readonly model?: string
  readonly containment?: ContainmentKind | 'auto'
  readonly effort?: Effort
  readonly fallback?: readonly string[]
}

export interface ConfigSources {
  readonly paths: Paths
  /** the directory above which a reeve.yaml is looked for; null for the daemon's own settings */
  readonly cwd: string | null
  /** whose REEVE_AGENT, REEVE_MODEL, REEVE_CONTAINMENT and REEVE_MAX_PROCESSES count */
  readonly env?: Env
  readonly flags?: Flags
}

/** Throws AGENT_INVALID with `file:line` for a bad file, and INVALID for a bad variable. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const layers = await readLayers(sources)
  // The servers have secrets in them, and what comes out here is shown.
  const { mcp: _, supervisors: __, crews: ___, ...said }: UserFile = Object.assign({}, ...layers.map((layer) => layer.said), fromFlags(sources.flags ?? {}))
  const providers = said.providers ?? []
  const builtIn = DEFAULTS.providers.filter((one) => !providers.some((own) => own.name === one.name))
  return { ...DEFAULTS, ...defined(said), gc: { ...GC_DEFAULTS, ...defined(said.gc ?? {}) }, gateway: { ...GATEWAY_DEFAULTS, ...defined(said.gateway ?? {}) }, providers: [...providers, ...builtIn] }
}

/** What one source says, and in which file or variable. */
export interface Layer {
  readonly source: 'user' | 'project' | 'environment'
  readonly said: UserFile
  readonly where: (key: string) => string
}

/** All sources but flags and defaults; a later one wins. Throws as `loadConfig` does. */
export async function readLayers({ paths, cwd, env = {} }: ConfigSources): Promise<readonly Layer[]> {
  const user = await readFormat(paths.configFile, USER_FORMAT)
  const project = cwd === null ? null : await nearest(cwd, 'reeve.yaml')
  const { agents: _, ...said }: ProjectFile = project === null || cwd === null ? {} : await readFormat(project, projectFormat, await trustedOwners(cwd))
  return [
    { source: 'user', said: user, where: () => paths.configFile },
    { source: 'project', said, where: () => project ?? '' },
    { source: 'environment', said: fromEnv(env), where: variableOf },
  ]
}

/** A supervisor by its name: the nearest reeve.yaml's, or the user's. Throws as `loadConfig` does, and AGENT_INVALID where there is none. */
export async function findSupervisor(name: string, cwd: string, paths: Paths): Promise<SupervisorFile> {
  const layer = await layerOf('supervisors', name, { paths, cwd })
  return supervisorNamed(layer?.said.supervisors ?? {}, name, layer?.where('supervisors') ?? '')
}

/** Whose word counts: the nearest reeve.yaml's where it has one of that name (or any, without one), else the user's. */
async function layerOf(key: 'supervisors' | 'crews', name: string | undefined, sources: ConfigSources): Promise<Layer | undefined> {
  const [user, project] = await readLayers(sources)
  const has = (layer: Layer | undefined): boolean => (name === undefined ? layer?.said[key] !== undefined : Object.hasOwn(layer?.said[key] ?? {}, name))
  return has(project) || (!has(user) && project?.where(key)) ? project : user
}

/** A crew by its name, or the only one: of a file, or of the nearest reeve.yaml, or the user's. Throws as `loadConfig` does, and AGENT_INVALID where there is none. */
export async function findCrew(name: string | undefined, { cwd, file, paths }: { readonly cwd: string; readonly file?: string; readonly paths: Paths }): Promise<NamedCrew> {
  if (file !== undefined) {
    const own = await readFormat(file, projectFormat)
    if (own.crews === undefined && !(await readText(file))) throw problemError({ file, line: 0, message: 'it is not there' })
    return crewNamed(own.crews ?? {}, name, file)
  }
  const layer = await layerOf('crews', name, { paths, cwd })
  return crewNamed(layer?.said.crews ?? {}, name, layer?.where('crews') ?? '')
}

/** The agents of a file, or of the nearest reeve.yaml: all, or some with what they need. Throws as `loadConfig` does, and AGENT_INVALID where there are none. */
export async function findCompose(cwd: string, file: string | undefined, chosen: readonly string[] = []): Promise<ComposeFile> {
  const path = file ?? await nearest(cwd, 'reeve.yaml')
  if (path === null) throw new KernelError('AGENT_INVALID', `there is no reeve.yaml in ${cwd} or above it`, undefined, COMPOSE_HINT)
  const said: ProjectFile = await readFormat(path, projectFormat, file === undefined ? await trustedOwners(cwd) : undefined)
  if (file !== undefined && (await readText(file)) === null) throw problemError({ file, line: 0, message: 'it is not there' })
  return composeFile(said.agents, path, chosen)
}

/** The user's MCP servers as they are written, with their secrets. Throws as `loadConfig` does. */
export async function userServers({ configFile }: Paths): Promise<readonly McpServer[]> {
  const { mcp }: UserFile = await readFormat(configFile, USER_FORMAT)
  return mcp ? serversOf(mcp, placeOf(configFile)) : []
}

async function readFormat<T>(file: string, format: Format<T>, trusted?: ReadonlySet<number>): Promise<T | Record<string, never>> {
  const found = await readText(file, trusted)
  if (found === null) return {}
  const parsed = parseYaml(found.text, format, file)
  if (!parsed.ok) throw problemError({ ...parsed.problem, message: forUserAlone(parsed.problem.message, format.known([])) })
  return parsed.value
}

/** A user's key in a project's file is not unknown, it is not allowed there. */
function forUserAlone(message: string, known: readonly string[]): string {
  const key = /^unknown key `(\w+)`/.exec(message)?.[1]
  if (!key || known.includes(key) || !(key in userKeys)) return message
  return `\`${key}\` is the user's to set, in config.yaml; a project may set ${known.join(', ')}`
}

function fromEnv(env: Env): UserFile {
  const given = {
    defaultAgent: env['REEVE_AGENT'] || undefined,
    defaultModel: env['REEVE_MODEL'] || undefined,
    effort: env['REEVE_EFFORT'] || undefined,
    containment: env['REEVE_CONTAINMENT'] || undefined,
    maxProcesses: env['REEVE_MAX_PROCESSES'] ? Number(env['REEVE_MAX_PROCESSES']) : undefined,
  }
  const result = USER_FORMAT.schema.safeParse(given)
  if (result.success) return defined(result.data)
  const issue = result.error.issues[0]
  throw new KernelError('INVALID', `${variableOf(String(issue?.path[0]))}: ${issue ? issueWords(issue) : 'not valid'}`)
}

/** `defaultModel` is REEVE_MODEL. */
function variableOf(key: string): string {
  return `REEVE_${key.replace(/^default/, '').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`
}

function fromFlags(flags: Flags): Partial<Config> {
  return defined({ defaultAgent: flags.agent, defaultModel: flags.model, containment: flags.containment, effort: flags.effort, fallback: flags.fallback })
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the keys that are undefined, so that they cover nothing in a spread. */
function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>
}
