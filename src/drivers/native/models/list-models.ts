// Requests the list of a provider's models with one GET, limited in time and size. A received list proves the address.
// It proves the key only where the provider checks the key for this request: OpenRouter does not. Must never show the key.
// Test: test/e2e/models/doctor-models.test.ts.
import { z } from 'zod'
import { withAnthropicVersion as anthropicURL } from './anthropic.ts'
import { withGoogleVersion as googleURL } from './google.ts'
import type { ProviderConfig } from './resolve-model.ts'

const TIMEOUT_MS = 5_000
/** The largest accepted list, in bytes. The list of a large aggregator is about 2 MB. */
const MAX_LIST_BYTES = 16 * 1024 * 1024

/** The result of a request for the list of models. */
export interface ModelListing {
  /** true if the server sent its list, or has none */
  readonly ok: boolean
  /** the number of models, or the error, as text for the user */
  readonly detail: string
  /** the models, sorted by name; null if the server does not list them */
  readonly models: readonly ListedModel[] | null
  /** set if no server listens at the address */
  readonly absent?: true
}

export interface ListedModel {
  /** the part after the slash in `provider/model` */
  readonly name: string
  /** the context window in tokens; null if the list does not have it */
  readonly window: number | null
}

interface ListRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

type RequestBuilder = (baseURL: string, key: string | null) => ListRequest

const REQUESTS: Readonly<Record<ProviderConfig['kind'], RequestBuilder>> = {
  anthropic: (baseURL, key) => ({
    url: `${anthropicURL(baseURL)}/models?limit=1000`,
    headers: { 'anthropic-version': '2023-06-01', ...(key === null ? {} : { 'x-api-key': key }) },
  }),
  google: (baseURL, key) => ({ url: `${googleURL(baseURL)}/models?pageSize=1000`, headers: key === null ? {} : { 'x-goog-api-key': key } }),
  openai: requestWithBearer,
  'openai-compatible': requestWithBearer,
}

function requestWithBearer(baseURL: string, key: string | null): ListRequest {
  return { url: `${baseURL.replace(/\/+$/, '')}/models`, headers: key === null ? {} : { authorization: `Bearer ${key}` } }
}

/** Requests the list of a provider's models. Never rejects: `detail` has the error. */
export async function listModels(
  { kind, baseURL }: Pick<ProviderConfig, 'kind' | 'baseURL'>,
  key: string | null,
  timeoutMs = TIMEOUT_MS,
): Promise<ModelListing> {
  const { url, headers } = REQUESTS[kind](baseURL, key)
  const { username = '', password = '' } = URL.parse(url) ?? {}
  // `fetch` refuses an address with a password, and repeats the password in its error message.
  if (username !== '' || password !== '')
    return { ok: false, detail: 'the base URL contains a user name or a password, which a request cannot have: remove it', models: null }
  try {
    // Redirects are not followed: they would send the key to another address.
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    if (response.ok) return listingOf(await readBoundedText(response))
    await response.body?.cancel()
    return refusedListing(response.status)
  } catch (error) {
    return failedListing(error, baseURL, timeoutMs)
  }
}

async function readBoundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_LIST_BYTES) throw new Error(`the list has more than ${MAX_LIST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function listingOf(text: string): ModelListing {
  const list = findList(text)
  if (list === null) return { ok: false, detail: 'the server answers, but not with a list of models: check the base URL', models: null }
  const models = list.flatMap((entry) => toListedModel(entry) ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return { ok: true, detail: `${models.length} ${models.length === 1 ? 'model' : 'models'}`, models }
}

/**
 * The fields of a model in the lists of all providers. Google has `name` and `inputTokenLimit`, OpenRouter `context_length`, and vLLM
 * `max_model_len`.
 */
const modelEntry = z.object({
  id: z.string().optional(),
  name: z.string().optional(),
  supportedGenerationMethods: z.array(z.string()).optional(),
  max_input_tokens: z.number().nullish(),
  inputTokenLimit: z.number().nullish(),
  context_length: z.number().nullish(),
  max_model_len: z.number().nullish(),
})

/** Null for an entry without a name, and for a model of Google that generates no text. */
function toListedModel(entry: unknown): ListedModel | null {
  const { data: model } = modelEntry.safeParse(entry)
  const name = model?.id ?? model?.name?.replace(/^models\//, '')
  if (model === undefined || name === undefined || name === '') return null
  const { supportedGenerationMethods: methods } = model
  if (methods !== undefined && !methods.includes('generateContent')) return null
  return { name, window: model.max_input_tokens ?? model.inputTokenLimit ?? model.context_length ?? model.max_model_len ?? null }
}

/** Finds the list, which is `data` for Anthropic and OpenAI, and `models` for Google. Null if there is none. */
function findList(text: string): readonly unknown[] | null {
  try {
    const { data, models } = JSON.parse(text) as { readonly data?: unknown; readonly models?: unknown }
    return [data, models].find((list) => Array.isArray(list)) ?? null
  } catch {
    // The caller reports that the response contains no list.
    return null
  }
}

function refusedListing(status: number): ModelListing {
  if (status === 401 || status === 403) return { ok: false, detail: `the key is refused (${status})`, models: null }
  // Many small servers have no list, and still answer calls.
  if (status === 404 || status === 405)
    return { ok: true, detail: `the server answers, but has no list of models (${status})`, models: null }
  return { ok: false, detail: `the server answers with the status ${status}`, models: null }
}

function failedListing(error: unknown, baseURL: string, timeoutMs: number): ModelListing {
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error))
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : null
  if (name === 'TimeoutError') return { ok: false, detail: `no answer within ${timeoutMs / 1000} s`, models: null }
  if (code === 'ECONNREFUSED') return { ok: false, detail: `nothing listens at ${baseURL}`, models: null, absent: true }
  return { ok: false, detail: `${baseURL} cannot be reached: ${cause instanceof Error ? cause.message : message}`, models: null }
}
