// Resolves a model's reference: `PROVIDER/NAME` of a configured provider, or `script:FILE`. Keys come only from the launch, and addresses
// from the launch or the configuration, never from the daemon's environment. Test: test/tables/drivers/native/models/resolve-model.test.ts.
import type { Effort } from '../../../kernel/model/spec-parts.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { anthropicWire } from './anthropic.ts'
import { googleWire } from './google.ts'
import type { Model } from './model.ts'
import { chatWire } from './openai-chat.ts'
import { openaiWire } from './openai.ts'
import { windowTokens } from './prices.ts'
import type { UserPrices } from './prices.ts'
import { scriptModel } from '../scripts/script.ts'
import { SdkModel } from './sdk-model.ts'
import type { Endpoint, Wire } from './wire.ts'
import type { ProviderKind } from '../../../kernel/model/words.ts'

/** A model provider, built in or configured by the user. */
export interface ProviderConfig {
  readonly name: string
  readonly kind: ProviderKind
  readonly baseURL: string
  /** the environment variable with the key; null if the server needs no key */
  readonly apiKeyEnv: string | null
  /** the environment variable that overrides `baseURL`; the provider's own client uses the same one */
  readonly baseURLEnv?: string
  /** the limits of its models, by model name; they win over the built-in table */
  readonly models?:
    | Readonly<Record<string, { readonly contextWindow?: number | undefined; readonly maxOutputTokens?: number | undefined }>>
    | undefined
}

export interface ModelOptions {
  readonly providers: readonly ProviderConfig[]
  /** the user's own prices */
  readonly prices?: UserPrices | undefined
  /** the maximum number of tokens of an answer; the configured limit of a model wins, and a small window lowers it */
  readonly maxOutputTokens: number
  /** the reasoning effort; null or absent for the provider's default */
  readonly effort?: Effort | null
  /** a key that all calls of a process send, so that they share a prompt cache */
  readonly cacheKey?: string
  /** a stream without data for this time is cut, in ms */
  readonly idleMs: number
  /** the directory that a script's path is relative to */
  readonly cwd: string
  /** reads a variable from the launch's credentials or environment */
  lookup(name: string): string | undefined
}

const SCRIPT_PREFIX = 'script:'

/**
 * Creates the model that a reference names. Errors: `INVALID` if it names none, `CREDENTIALS_MISSING` if the key is not set,
 * `AGENT_INVALID` for an invalid script.
 */
export async function resolveModel(ref: string, options: ModelOptions): Promise<Model> {
  if (ref.startsWith(SCRIPT_PREFIX)) return scriptModel(ref, { file: ref.slice(SCRIPT_PREFIX.length), cwd: options.cwd })
  const slash = ref.indexOf('/')
  if (slash < 1) throw unknownProvider(`model "${ref}" names no provider; write PROVIDER/NAME with`, options)
  const [provider, name] = [ref.slice(0, slash), ref.slice(slash + 1)]
  const config = findProvider(provider, options)
  if (name === '') throw new KernelError('INVALID', `model ${ref} has no name after the provider`)
  const { effort = null, cacheKey = null, idleMs } = options
  const endpoint: Endpoint = { provider, baseURL: config.baseURL, apiKey: findKey(config, ref, options), effort, cacheKey }
  const modelLimits = config.models?.[name]
  const window =
    modelLimits?.contextWindow ?? (await windowTokens({ provider, model: name, baseURL: config.baseURL, userPrices: options.prices }))
  const maxOutputTokens = modelLimits?.maxOutputTokens ?? fitToWindow(options.maxOutputTokens, window)
  return new SdkModel({
    provider,
    name,
    baseURL: config.baseURL,
    secret: endpoint.apiKey,
    wire: await WIRE_FACTORIES[config.kind](endpoint, name),
    window,
    effort,
    maxOutputTokens,
    idleMs,
    prices: options.prices,
  })
}

const WIRE_FACTORIES: Readonly<Record<ProviderConfig['kind'], (endpoint: Endpoint, name: string) => Promise<Wire>>> = {
  anthropic: anthropicWire,
  openai: openaiWire,
  google: googleWire,
  'openai-compatible': chatWire,
}

/** Lowers the output limit for a small window, so that half of the window is left for the input. */
function fitToWindow(maxOutputTokens: number, window: number | null): number {
  return window === null ? maxOutputTokens : Math.max(1, Math.min(maxOutputTokens, Math.floor(window / 2)))
}

function findProvider(name: string, options: ModelOptions): ProviderConfig {
  const provider = options.providers.find((each) => each.name === name)
  if (!provider) throw unknownProvider(`there is no provider "${name}"; use`, options)
  return { ...provider, baseURL: (provider.baseURLEnv && options.lookup(provider.baseURLEnv)) || provider.baseURL }
}

/** The error for a missing or unknown provider. `problem`: the beginning of its message, before the names of the known ones. */
function unknownProvider(problem: string, { providers }: ModelOptions): KernelError {
  const knownNames = providers.map((each) => each.name)
  return new KernelError('INVALID', `${problem} one of ${knownNames.join(', ')}, or script:FILE`, { providers: knownNames })
}

function findKey(config: ProviderConfig, ref: string, options: ModelOptions): string | null {
  if (config.apiKeyEnv === null) return null
  const key = options.lookup(config.apiKeyEnv)
  if (key) return key
  throw new KernelError('CREDENTIALS_MISSING', `model ${ref} needs ${config.apiKeyEnv}, which is not set`, { variable: config.apiKeyEnv })
}
