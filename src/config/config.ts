// Loads the configuration. The precedence is: flags, environment, the project's reeve.yaml, the user's config.yaml, defaults. Defines every
// key and its default. The file of a project comes with a repository. It may choose agents and models. It may define supervisors, crews and
// runs, because only a command of the user starts their programs. Only the user's file may have keys that start programs by themselves,
// send API keys elsewhere, or affect other projects. Test: test/tables/config/config.test.ts.
import * as z from 'zod'
import { KernelError } from '../kernel/model/errors.ts'
import type { HomeBudgets } from '../kernel/model/home.ts'
import type { Effort, KeepRaw, McpServer } from '../kernel/model/spec-parts.ts'
import { COMPOSE_HINT, composeKeys, composeAgentsRule, composeFile, type ComposeFile } from './compose.ts'
import { crewKeys, findCrewByName, crewsRule, type NamedCrew } from './crew/crews.ts'
import { GATEWAY_DEFAULTS, GATEWAY_KEYS, RATE_LIMIT_KEYS, gatewayRule, type GatewayConfig } from './keys/gateway.ts'
import { suggestKey } from './keys/suggest.ts'
import { BUDGET_KEYS, budgetsRule } from './keys/budgets.ts'
import { GC_DEFAULTS, GC_KEYS, gcRule, type GcConfig } from './keys/gc.ts'
import { problemError } from './problem.ts'
import { nearestFile, readText, trustedOwners } from './untrusted-files.ts'
import { issueText } from './zod-messages.ts'
import { FILE_LIMIT_KEYS, fileLimitsRule } from './limit-rules.ts'
import { LIVENESS_KEYS, livenessFileRule, type LivenessConfig } from './keys/liveness.ts'
import { SERVER_KEYS, configLocation, serversOf, serversRule } from './mcp/parse-servers.ts'
import { NOTIFICATION_KEYS, WEBHOOK_KEYS, notificationsRule, type NotificationsConfig } from './keys/notifications.ts'
import type { Env, Paths } from './paths.ts'
import { BACKOFF_KEYS } from './restart-rules.ts'
import { CHILD_KEYS, SUPERVISOR_KEYS, findSupervisorByName, supervisorsRule, type FileSupervisor } from './supervisors.ts'
import { PRICE_KEYS, pricesRule, type PricesConfig } from './keys/prices.ts'
import { STORE_DEFAULTS, STORE_KEYS, storeRule, type StoreConfig } from './keys/store.ts'
import { WEB_DEFAULTS, WEB_KEYS, webRule, type WebConfig } from './keys/web.ts'
import { parseOnce } from './parse-once.ts'
import { parseYaml, type YamlFormat } from './yaml.ts'
import { type ContainmentKind, type Limits, CONTAINMENT_KINDS, EFFORTS, PROVIDER_KINDS, type ProviderKind } from '../kernel/model/words.ts'
import { withoutUndefined } from '../kernel/util/without-undefined.ts'

/** Facts about a model, which replace those of the built-in tables. */
export interface ModelFacts {
  /** the size of the context, in tokens */
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
}

/** A provider of models. */
export interface Provider {
  /** the part before the slash in `provider/model` */
  readonly name: string
  /** the wire format: Anthropic's Messages, OpenAI's Responses, Gemini's, or OpenAI's chat completions, which many providers use */
  readonly kind: ProviderKind
  readonly baseURL: string
  /** the name of the variable or credential with the key; null: the provider needs no key */
  readonly apiKeyEnv: string | null
  /** the variable with the URL that the provider's own client reads; if it is set, it replaces `baseURL` */
  readonly baseURLEnv?: string
  /** facts by the name of the model */
  readonly models?: Readonly<Record<string, ModelFacts>> | undefined
}

export interface Config {
  /** maximum number of live processes; suspended ones are not counted */
  readonly maxProcesses: number
  readonly defaultAgent: string
  /** `provider/name`; null: each agent or `--model` must name a model */
  readonly defaultModel: string | null
  /** the models to use when an agent's model fails, unless its agent file names others */
  readonly fallback: readonly string[]
  readonly effort: Effort | null
  /** the providers of the user, then the built-in ones with other names */
  readonly providers: readonly Provider[]
  readonly containment: ContainmentKind | 'auto'
  /** the command line of a program that prints a key; `{name}` stands for the name of the key */
  readonly keyCommand: readonly string[] | null
  /** the directories whose files may name programs to start, with all directories below them */
  readonly trusted: readonly string[]
  /** the thresholds for silent, stalled and so on that differ from the defaults; an agent file can replace them */
  readonly liveness: LivenessConfig
  /** how and about which events reeve notifies the user */
  readonly notifications: NotificationsConfig
  /** the default limits of processes without a parent */
  readonly limits: Limits
  /** how much all processes together may spend in a day and in a month */
  readonly budgets: HomeBudgets
  /** which raw output lines of external agents are kept */
  readonly keep_raw: KeepRaw | 'off'
  /** which ended processes are kept */
  readonly gc: GcConfig
  /** prices by `provider/model`; they replace those of the built-in table */
  readonly prices: PricesConfig
  /** whether and how external agents call their models through reeve */
  readonly gateway: GatewayConfig
  /** the kinds of requests that the web page may send although they are refused by default */
  readonly web: WebConfig
  /** which database keeps the processes */
  readonly store: StoreConfig
}

export const DEFAULTS: Config = {
  maxProcesses: 10_000,
  defaultAgent: 'default',
  defaultModel: null,
  fallback: [],
  effort: null,
  providers: [
    {
      name: 'anthropic',
      kind: 'anthropic',
      baseURL: 'https://api.anthropic.com/v1',
      apiKeyEnv: 'ANTHROPIC_API_KEY',
      baseURLEnv: 'ANTHROPIC_BASE_URL',
    },
    { name: 'openai', kind: 'openai', baseURL: 'https://api.openai.com/v1', apiKeyEnv: 'OPENAI_API_KEY', baseURLEnv: 'OPENAI_BASE_URL' },
    {
      name: 'google',
      kind: 'google',
      baseURL: 'https://generativelanguage.googleapis.com/v1beta',
      apiKeyEnv: 'GEMINI_API_KEY',
      baseURLEnv: 'GOOGLE_GEMINI_BASE_URL',
    },
    {
      name: 'openai-chat',
      kind: 'openai-compatible',
      baseURL: 'https://api.openai.com/v1',
      apiKeyEnv: 'OPENAI_API_KEY',
      baseURLEnv: 'OPENAI_BASE_URL',
    },
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
  limits: {},
  budgets: {},
  keep_raw: 'off',
  gc: GC_DEFAULTS,
  prices: {},
  gateway: GATEWAY_DEFAULTS,
  web: WEB_DEFAULTS,
  store: STORE_DEFAULTS,
}

const MAX_PROVIDERS = 100
const word = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of letters, digits, dots, dashes and underscores')

export const modelRule = z
  .string()
  .regex(/^((script|replay):.+|[^/\s:]+\/\S+)$/, 'expected provider/name, script:FILE or replay:UUID')
  .max(1000)
export const fallbackRule = z.array(modelRule).max(10)
export const effortRule = z.enum(EFFORTS)
export const keepRawRule = z.enum(['off', 'last', 'all'])
const variable = z.string().regex(/^[A-Za-z_]\w{0,127}$/, 'expected the name of a variable, never a key itself')

const modelFacts = z.strictObject({ contextWindow: z.int().positive().optional(), maxOutputTokens: z.int().positive().optional() })
const provider = z.strictObject({
  name: word,
  kind: z.enum(PROVIDER_KINDS),
  baseURL: z.url({ protocol: /^https?$/, error: 'expected a URL with http or https' }),
  apiKeyEnv: variable.nullable().default(null),
  models: z.record(z.string().min(1).max(200), modelFacts).optional(),
})

const projectKeys = {
  defaultAgent: word.optional(),
  defaultModel: modelRule.optional(),
  fallback: fallbackRule.optional(),
  effort: effortRule.optional(),
  supervisors: supervisorsRule.optional(),
  crews: crewsRule.optional(),
}
const userKeys = {
  ...projectKeys,
  maxProcesses: z.int().min(1).max(1_000_000).optional(),
  providers: z.array(provider).max(MAX_PROVIDERS).optional(),
  containment: z.enum(['auto', ...CONTAINMENT_KINDS]).optional(),
  keyCommand: z.array(z.string().max(4096)).min(1).max(100).optional(),
  trusted: z.array(z.string().startsWith('/', 'expected an absolute path').max(4096)).max(1000).optional(),
  mcp: serversRule.optional(),
  limits: fileLimitsRule.optional(),
  budgets: budgetsRule.optional(),
  keep_raw: keepRawRule.optional(),
  gc: gcRule.optional(),
  prices: pricesRule.optional(),
  liveness: livenessFileRule.optional(),
  notifications: notificationsRule.optional(),
  gateway: gatewayRule.optional(),
  web: webRule.optional(),
  store: storeRule.optional(),
} satisfies Record<keyof Config | 'mcp' | 'supervisors' | 'crews', z.ZodType>

export type UserFile = z.infer<z.ZodObject<typeof userKeys, z.core.$strict>>
/** The keys of a project's file. Only it may have `agents`: a compose run belongs to its project. */
const projectFileKeys = { ...projectKeys, agents: composeAgentsRule.optional() }
type ProjectFile = z.infer<z.ZodObject<typeof projectFileKeys, z.core.$strict>>

export const USER_FORMAT: YamlFormat<UserFile> = {
  schema: z.strictObject(userKeys).superRefine(checkRateLimits),
  knownKeys: (path) => {
    const [key, at, part] = path
    const supervised = supervisorKeys([key ?? '', at ?? '', part ?? ''])
    if (supervised) return supervised
    if (key === 'crews') return crewKeys(path)
    if (key === 'mcp') return SERVER_KEYS
    if (key === 'limits') return FILE_LIMIT_KEYS
    if (key === 'budgets') return BUDGET_KEYS
    if (key === 'gc') return GC_KEYS
    if (key === 'liveness') return LIVENESS_KEYS
    if (key === 'notifications') return at === 'webhook' ? WEBHOOK_KEYS : NOTIFICATION_KEYS
    if (key === 'gateway') return at === 'rateLimits' ? RATE_LIMIT_KEYS : GATEWAY_KEYS
    if (key === 'prices') return PRICE_KEYS
    if (key === 'web') return WEB_KEYS
    if (key === 'store') return STORE_KEYS
    return Object.keys(key !== 'providers' ? userKeys : part === 'models' ? modelFacts.shape : provider.shape)
  },
  hintOf: (key) => hintOfUserKey(key),
}
/** The keys whose parts the user sets one by one. */
const KEYS_WITH_PARTS = ['limits', 'budgets', 'gc', 'liveness', 'notifications', 'gateway', 'web', 'store'] as const

/**
 * Returns what to do about an unknown key; undefined if nothing is similar. `keys`: the known keys there; default: those of the user's
 * file.
 */
export function hintOfUserKey(key: string, keys: readonly string[] = USER_FORMAT.knownKeys([])): string | undefined {
  const parts = KEYS_WITH_PARTS.flatMap((group) => USER_FORMAT.knownKeys([group]).map((part) => `${group}.${part}`))
  return suggestKey(key, keys, parts)
}
const projectFormat: YamlFormat<ProjectFile> = {
  schema: z.strictObject(projectFileKeys),
  knownKeys: (path) =>
    supervisorKeys(path) ??
    (path[0] === 'crews' ? crewKeys(path) : path[0] === 'agents' ? composeKeys(path) : Object.keys(projectFileKeys)),
}

/** Refuses rate limits for unknown providers, because the limit of a misspelt provider would have no effect. */
function checkRateLimits({ gateway, providers = [] }: UserFile, context: z.core.$RefinementCtx<UserFile>): void {
  const names = [...new Set([...providers, ...DEFAULTS.providers].map(({ name }) => name))]
  const unknown = Object.keys(gateway?.rateLimits ?? {}).find((name) => !names.includes(name))
  if (unknown === undefined) return
  context.addIssue({
    code: 'custom',
    path: ['gateway', 'rateLimits', unknown],
    message: `there is no provider of this name; there are ${names.join(', ')}`,
  })
}

function supervisorKeys([key, , part]: readonly PropertyKey[]): readonly string[] | null {
  if (key !== 'supervisors') return null
  if (part === 'backoff') return BACKOFF_KEYS
  return part === 'children' ? CHILD_KEYS : SUPERVISOR_KEYS
}

/** The flags of the command line for one run. */
export interface ConfigFlags {
  readonly agent?: string
  readonly model?: string
  readonly containment?: ContainmentKind | 'auto'
  readonly effort?: Effort
  readonly fallback?: readonly string[]
}

export interface ConfigSources {
  readonly paths: Paths
  /** the directory in or above which the reeve.yaml is; null: only the user's file is read, as for the daemon */
  readonly cwd: string | null
  /** the environment, which may set REEVE_AGENT, REEVE_MODEL, REEVE_EFFORT, REEVE_CONTAINMENT and REEVE_MAX_PROCESSES */
  readonly env?: Env
  readonly flags?: ConfigFlags
}

/** Loads and merges all sources. Errors: AGENT_INVALID with `file:line` for an invalid file, INVALID for an invalid variable. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const layers = await readLayers(sources)
  // MCP servers are left out, because they contain secrets and the result is shown to users. Supervisors and crews are found by name.
  const {
    mcp: _,
    supervisors: __,
    crews: ___,
    ...values
  }: UserFile = Object.assign({}, ...layers.map((layer) => layer.values), fromFlags(sources.flags ?? {}))
  const providers = values.providers ?? []
  const builtIn = DEFAULTS.providers.filter(({ name }) => !providers.some((provider) => provider.name === name))
  return {
    ...DEFAULTS,
    ...withoutUndefined(values),
    gc: { ...GC_DEFAULTS, ...withoutUndefined(values.gc ?? {}) },
    gateway: { ...GATEWAY_DEFAULTS, ...withoutUndefined(values.gateway ?? {}) },
    web: { ...WEB_DEFAULTS, ...withoutUndefined(values.web ?? {}) },
    store: { ...STORE_DEFAULTS, ...withoutUndefined(values.store ?? {}) },
    providers: [...providers, ...builtIn],
  }
}

/** The values of one source. */
export interface Layer {
  readonly source: 'user' | 'project' | 'environment'
  readonly values: UserFile
  /** returns the file or variable that sets a key */
  readonly where: (key: string) => string
}

/** Reads all sources except flags and defaults. A later source has precedence. Errors: those of `loadConfig`. */
export async function readLayers({ paths, cwd, env = {} }: ConfigSources): Promise<readonly Layer[]> {
  const user = await readFormat(paths.configFile, USER_FORMAT)
  const project = cwd === null ? null : await nearestFile(cwd, 'reeve.yaml')
  const { agents: _, ...projectValues }: ProjectFile =
    project === null || cwd === null ? {} : await readProject(project, await trustedOwners(cwd))
  return [
    { source: 'user', values: user, where: () => paths.configFile },
    { source: 'project', values: projectValues, where: () => project ?? '' },
    { source: 'environment', values: fromEnv(env), where: variableOf },
  ]
}

/**
 * Finds a supervisor by name, in the nearest reeve.yaml or the user's file. Errors: those of `loadConfig`; AGENT_INVALID if there is none.
 */
export async function findSupervisor(name: string, cwd: string, paths: Paths): Promise<FileSupervisor> {
  const layer = await findLayer('supervisors', name, { paths, cwd })
  return findSupervisorByName(layer?.values.supervisors ?? {}, name, layer?.where('supervisors') ?? '')
}

/**
 * Returns the file with the entry of that name: the nearest reeve.yaml, else the user's file. Without a name any entry counts. If neither
 * file has the entry, returns the one that the error should name.
 */
async function findLayer(key: 'supervisors' | 'crews', name: string | undefined, sources: ConfigSources): Promise<Layer | undefined> {
  const [user, project] = await readLayers(sources)
  const hasEntry = (layer: Layer | undefined): boolean =>
    name === undefined ? layer?.values[key] !== undefined : Object.hasOwn(layer?.values[key] ?? {}, name)
  return hasEntry(project) || (!hasEntry(user) && project?.where(key)) ? project : user
}

/**
 * Finds a crew by name, or the only crew: in `file`, else in the nearest reeve.yaml or the user's file. Errors: those of `loadConfig`;
 * AGENT_INVALID if there is none.
 */
export async function findCrew(
  name: string | undefined,
  { cwd, file, paths }: { readonly cwd: string; readonly file?: string; readonly paths: Paths },
): Promise<NamedCrew> {
  if (file !== undefined) {
    const own = await readProject(file)
    if (own.crews === undefined && !(await readText(file))) throw problemError({ file, line: 0, message: 'the file does not exist' })
    return findCrewByName(own.crews ?? {}, name, file)
  }
  const layer = await findLayer('crews', name, { paths, cwd })
  return findCrewByName(layer?.values.crews ?? {}, name, layer?.where('crews') ?? '')
}

/**
 * Finds the agents of a compose run, in `file` or the nearest reeve.yaml: all, or `chosen` with their dependencies. Errors: those of
 * `loadConfig`; AGENT_INVALID if there are none.
 */
export async function findCompose(cwd: string, file: string | undefined, chosen: readonly string[] = []): Promise<ComposeFile> {
  const path = file ?? (await nearestFile(cwd, 'reeve.yaml'))
  if (path === null) throw new KernelError('AGENT_INVALID', `there is no reeve.yaml in ${cwd} or above it`, undefined, COMPOSE_HINT)
  const project: ProjectFile = await readProject(path, file === undefined ? await trustedOwners(cwd) : undefined)
  if (file !== undefined && (await readText(file)) === null) throw problemError({ file, line: 0, message: 'the file does not exist' })
  return composeFile(project.agents, path, chosen)
}

/** Returns the MCP servers in the user's file, with their secrets. Errors: those of `loadConfig`. */
export async function readUserServers({ configFile }: Paths): Promise<readonly McpServer[]> {
  const { mcp }: UserFile = await readFormat(configFile, USER_FORMAT)
  return mcp ? serversOf(mcp, configLocation(configFile)) : []
}

/**
 * Reads a project's file. The parsed file is cached, because each node of a run reads it. The user's file is never cached: it may have
 * secrets.
 */
function readProject(file: string, trusted?: ReadonlySet<number>): Promise<ProjectFile> {
  return readFormat(file, projectFormat, { ...(trusted && { trusted }), parse: parseOnce })
}

interface ReadOptions {
  /** the user IDs that may own the file; absent: any */
  readonly trusted?: ReadonlySet<number>
  readonly parse?: typeof parseYaml
}

async function readFormat<T>(
  file: string,
  format: YamlFormat<T>,
  { trusted, parse = parseYaml }: ReadOptions = {},
): Promise<T | Record<string, never>> {
  const found = await readText(file, trusted)
  if (found === null) return {}
  const parsed = parse(found.text, format, file)
  if (!parsed.ok) throw problemError({ ...parsed.problem, message: userOnlyMessage(parsed.problem.message, format.knownKeys([])) })
  return parsed.value
}

/** Returns a better message about an unknown key, if the key is allowed in the user's file. */
function userOnlyMessage(message: string, known: readonly string[]): string {
  const key = /^unknown key `(\w+)`/.exec(message)?.[1]
  if (!key || known.includes(key) || !(key in userKeys)) return message
  return `\`${key}\` can be set only in the user's config.yaml; a project may set ${known.join(', ')}`
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
  if (result.success) return withoutUndefined(result.data)
  const issue = result.error.issues[0]
  throw new KernelError('INVALID', `${variableOf(String(issue?.path[0]))}: ${issue ? issueText(issue) : 'not valid'}`)
}

/** Returns the variable that sets a key: REEVE_MODEL for `defaultModel`. */
function variableOf(key: string): string {
  return `REEVE_${key
    .replace(/^default/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()}`
}

function fromFlags(flags: ConfigFlags): Partial<Config> {
  return withoutUndefined({
    defaultAgent: flags.agent,
    defaultModel: flags.model,
    containment: flags.containment,
    effort: flags.effort,
    fallback: flags.fallback,
  })
}
