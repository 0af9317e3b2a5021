// From a model's reference to a model: `PROVIDER/NAME` of a configured provider, or `script:FILE`. Keys and addresses come from the launch alone, never from the daemon's environment.
// Test: test/tables/native-models.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { Effort } from '../../kernel/types.ts'
import { anthropicModel } from './anthropic.ts'
import type { Model } from './model.ts'
import { openaiModel } from './openai.ts'
import { scriptModel } from './script.ts'
import { SdkModel } from './sdk-model.ts'

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

/** Where a model is called, with its key. */
export interface Endpoint {
  readonly provider: string
  readonly baseURL: string
  readonly apiKey: string | null
}

export interface ModelOptions {
  readonly providers: readonly ProviderConfig[]
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
  const endpoint = { provider, baseURL: config.baseURL, apiKey: findKey(config, ref, options) }
  const isAnthropic = config.kind === 'anthropic'
  const model = await (isAnthropic ? anthropicModel : openaiModel)(endpoint, name)
  return new SdkModel({ provider, name, model, cache: isAnthropic, maxOutputTokens: options.maxOutputTokens, idleMs: options.idleMs })
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
