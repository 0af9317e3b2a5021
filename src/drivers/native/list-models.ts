// Asks an endpoint which models it has: one GET, in each of the wire formats, bounded in time and size. It shows that the
// address and the key are right, and pays for nothing. Must never say the key. Test: test/e2e/doctor-models.test.ts.
import { versioned as anthropicURL } from './anthropic.ts'
import { versioned as googleURL } from './google.ts'
import type { ProviderConfig } from './models.ts'

const LIMIT_MS = 5_000
/** Of a list; that of a large aggregator has about 2 MB. */
const MAX_LIST_BYTES = 16 * 1024 * 1024

export interface Listed {
  readonly ok: boolean
  readonly detail: string
  /** how many models; null if it does not say */
  readonly models: number | null
  /** nobody is at the address */
  readonly absent?: true
}

interface Question {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

type Ask = (baseURL: string, key: string | null) => Question

const QUESTIONS: Readonly<Record<ProviderConfig['kind'], Ask>> = {
  anthropic: (baseURL, key) => ({ url: `${anthropicURL(baseURL)}/models?limit=1000`, headers: { 'anthropic-version': '2023-06-01', ...(key === null ? {} : { 'x-api-key': key }) } }),
  google: (baseURL, key) => ({ url: `${googleURL(baseURL)}/models?pageSize=1000`, headers: key === null ? {} : { 'x-goog-api-key': key } }),
  openai: bearer,
  'openai-compatible': bearer,
}

function bearer(baseURL: string, key: string | null): Question {
  return { url: `${baseURL.replace(/\/+$/, '')}/models`, headers: key === null ? {} : { authorization: `Bearer ${key}` } }
}

/** Never rejects: what goes wrong is told in `detail`. */
export async function listModels({ kind, baseURL }: Pick<ProviderConfig, 'kind' | 'baseURL'>, key: string | null, limitMs = LIMIT_MS): Promise<Listed> {
  const { url, headers } = QUESTIONS[kind](baseURL, key)
  const { username = '', password = '' } = URL.parse(url) ?? {}
  // `fetch` refuses it, and would repeat the password in its error.
  if (username !== '' || password !== '') return { ok: false, detail: 'the base URL has a name or a password in it, and no request can have one', models: null }
  try {
    // A redirect is not followed: the key would go along.
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(limitMs) })
    if (response.ok) return countOf(await boundedText(response))
    await response.body?.cancel()
    return refusal(response.status)
  } catch (error) {
    return trouble(error, baseURL, limitMs)
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_LIST_BYTES) throw new Error(`the list has more than ${MAX_LIST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** `data` with Anthropic and OpenAI, `models` with Google. */
function countOf(text: string): Listed {
  const list = listIn(text)
  if (list === null) return { ok: false, detail: 'answers, but not with a list of models: is the base URL right?', models: null }
  return { ok: true, detail: `${list.length} ${list.length === 1 ? 'model' : 'models'}`, models: list.length }
}

function listIn(text: string): readonly unknown[] | null {
  try {
    const { data, models } = JSON.parse(text) as { readonly data?: unknown; readonly models?: unknown }
    return [data, models].find((list) => Array.isArray(list)) ?? null
  } catch {
    return null
  }
}

function refusal(status: number): Listed {
  if (status === 401 || status === 403) return { ok: false, detail: `the key is refused (${status})`, models: null }
  // Many small servers have no list, and answer questions well.
  if (status === 404 || status === 405) return { ok: true, detail: `answers, but has no list of models (${status})`, models: null }
  return { ok: false, detail: `answers with the status ${status}`, models: null }
}

function trouble(error: unknown, baseURL: string, limitMs: number): Listed {
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error))
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : null
  if (name === 'TimeoutError') return { ok: false, detail: `no answer within ${limitMs / 1000} s`, models: null }
  if (code === 'ECONNREFUSED') return { ok: false, detail: `nothing listens at ${baseURL}`, models: null, absent: true }
  return { ok: false, detail: `${baseURL} cannot be asked: ${cause instanceof Error ? cause.message : message}`, models: null }
}
