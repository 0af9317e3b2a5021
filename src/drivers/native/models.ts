// From a model's reference to a model: `PROVIDER/NAME` of a configured provider, or `script:FILE`. Keys and addresses come from the launch alone, never from the daemon's environment.
// Test: test/tables/native-models.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { Effort } from '../../kernel/types.ts'
import { anthropicWire } from './anthropic.ts'
import { googleWire } from './google.ts'
import type { Model } from './model.ts'
import { chatWire } from './openai-chat.ts'
import { openaiWire } from './openai.ts'
import { windowTokens } from './prices.ts'
import type { OwnPrices } from './prices.ts'
import { scriptModel } from './script.ts'
import { SdkModel } from './sdk-model.ts'
import type { Endpoint, Wire } from './wire.ts'

/** A provider of the configuration. */
export interface ProviderConfig {
  readonly name: string
  readonly kind: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  readonly baseURL: string
  /** the variable that holds the key; null if the server wants none */
  readonly apiKeyEnv: string | null
  /** the variable that moves it, as its own client's does; it wins over `baseURL` */
  readonly baseURLEnv?: string
  /** what is known of its models, by name; it wins over the tables */
  readonly models?: Readonly<Record<string, { readonly contextWindow?: number | undefined; readonly maxOutputTokens?: number | undefined }>> | undefined
}

export interface ModelOptions {
  readonly providers: readonly ProviderConfig[]
  /** the user's own */
  readonly prices?: OwnPrices | undefined
  /** of an answer; lowered to what is known of the model */
  readonly maxOutputTokens: number
  /** how much it thinks; null or absent leaves it to the provider */
  readonly effort?: Effort | null
  /** the same for all calls of a process, so that they find the same cache */
  readonly cacheKey?: string
  readonly idleMs: number
  /** where a script's path begins */
  readonly cwd: string
  /** a value of the launch's credentials or environment */
  lookup(name: string): string | undefined
}

const SCRIPT = 'script:'

/** Errors: `INVALID` for a reference that names no model, `CREDENTIALS_MISSING`, `AGENT_INVALID` for a bad script. */
export async function resolveModel(ref: string | null, options: ModelOptions): Promise<Model> {
  if (ref === null) throw new KernelError('INVALID', 'a native agent needs a model: PROVIDER/NAME or script:FILE')
  if (ref.startsWith(SCRIPT)) return scriptModel(ref, { file: ref.slice(SCRIPT.length), cwd: options.cwd })
  const slash = ref.indexOf('/')
  const [provider, name] = [ref.slice(0, Math.max(0, slash)), ref.slice(slash + 1)]
  const config = findProvider(provider, options)
  if (name === '') throw new KernelError('INVALID', `model ${ref} has no name after the provider`)
  const { effort = null, cacheKey = null, idleMs } = options
  const endpoint: Endpoint = { provider, baseURL: config.baseURL, apiKey: findKey(config, ref, options), effort, cacheKey }
  const own = config.models?.[name]
  const window = own?.contextWindow ?? await windowTokens({ provider, model: name, baseURL: config.baseURL, own: options.prices })
  const maxOutputTokens = own?.maxOutputTokens ?? lowered(options.maxOutputTokens, window)
  return new SdkModel({ provider, name, baseURL: config.baseURL, secret: endpoint.apiKey, wire: await WIRES[config.kind](endpoint, name), window, effort, maxOutputTokens, idleMs, prices: options.prices })
}

const WIRES: Readonly<Record<ProviderConfig['kind'], (endpoint: Endpoint, name: string) => Promise<Wire>>> = {
  anthropic: anthropicWire, openai: openaiWire, google: googleWire, 'openai-compatible': chatWire,
}

/** Half of a small window is left for the question. */
function lowered(maxOutputTokens: number, window: number | null): number {
  return window === null ? maxOutputTokens : Math.max(1, Math.min(maxOutputTokens, Math.floor(window / 2)))
}

function findProvider(name: string, { providers, lookup }: ModelOptions): ProviderConfig {
  const found = providers.find((each) => each.name === name)
  if (found) return { ...found, baseURL: (found.baseURLEnv && lookup(found.baseURLEnv)) || found.baseURL }
  const known = providers.map((each) => each.name)
  throw new KernelError('INVALID', `no provider is called "${name}"; there are ${known.join(', ')} and script:FILE`, { providers: known })
}

function findKey(config: ProviderConfig, ref: string, options: ModelOptions): string | null {
  if (config.apiKeyEnv === null) return null
  const key = options.lookup(config.apiKeyEnv)
  if (key) return key
  throw new KernelError('CREDENTIALS_MISSING', `model ${ref} needs ${config.apiKeyEnv}, which is not set`, { variable: config.apiKeyEnv })
}
