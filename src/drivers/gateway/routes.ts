// From a request's method and path to what is to be done with it: which provider, where there, in which format, and whether it
// is a call of a model. A path begins with the provider's name; what follows is the provider's own. What is not known is
// passed on only where it cannot cost anything. Pure. Test: test/tables/gateway-routes.test.ts.
import { versioned as anthropicURL } from '../native/anthropic.ts'
import { versioned as geminiURL } from '../native/google.ts'
import type { ProviderConfig } from '../native/models.ts'
import type { FormatName } from './formats.ts'

/** A request as it is to be read. `name`: of the provider; `rest`: what follows, without a slash at its beginning. */
export interface Asked {
  readonly name: string
  readonly rest: string
  /** the query without a key in it; with its question mark, or empty */
  readonly query: string
  /** a key that stood in the query: Gemini's clients may put it there */
  readonly key: string | null
}

export interface Route {
  readonly format: FormatName
  /** it costs tokens, so it is asked for, metered and paid for */
  readonly isCall: boolean
  /** Gemini says the model in its path; the others in the body */
  readonly model: string | null
}

/** Null: this is no path of a provider. */
export function readPath(url: string): Asked | null {
  const mark = url.indexOf('?')
  const [path, query] = mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
  const [, name = '', rest = ''] = /^\/([\w.-]+)(?:\/(.*))?$/.exec(path) ?? []
  // A path must mean the same here as where it goes.
  if (name === '' || /(^|\/)\.{1,2}(\/|$)|%2e|%2f|\\/i.test(rest)) return null
  const parts = query === '' ? [] : query.split('&')
  const kept = parts.filter((one) => !one.startsWith('key='))
  const key = parts.find((one) => one.startsWith('key='))?.slice('key='.length) ?? null
  return { name, rest, query: kept.length === 0 ? '' : `?${kept.join('&')}`, key }
}

const GEMINI_CALL = /^v1\w*\/(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/
/** Ends of a path that ask a model, and in which format. */
const CALLS: Readonly<Record<string, FormatName>> = { messages: 'anthropic', responses: 'responses', 'responses/compact': 'responses', 'chat/completions': 'chat' }
/** These are answered without a model. */
const FREE = new Set(['messages/count_tokens', 'responses/input_tokens'])

/** Null: a path that is not known, and might cost something. */
export function routeOf(method: string, rest: string, kind: ProviderConfig['kind']): Route | null {
  const format = formatOf(rest, kind)
  const reads = method === 'GET' || method === 'HEAD'
  if (reads) return { format, isCall: false, model: null }
  if (method !== 'POST') return null
  const gemini = GEMINI_CALL.exec(rest)
  if (gemini) return { format: 'gemini', isCall: gemini[2] !== 'countTokens', model: gemini[1] ?? null }
  const end = withoutVersion(rest)
  const called = Object.hasOwn(CALLS, end) ? CALLS[end] : undefined
  if (called !== undefined) return { format: called, isCall: true, model: null }
  return FREE.has(end) ? { format, isCall: false, model: null } : null
}

/** The format of an error that a client of this path understands. */
export function formatOf(rest: string, kind: ProviderConfig['kind']): FormatName {
  if (/(^|\/)messages(\/|$)/.test(rest)) return 'anthropic'
  if (/(^|\/)responses(\/|$)/.test(rest)) return 'responses'
  return ({ anthropic: 'anthropic', google: 'gemini', openai: 'responses', 'openai-compatible': 'chat' } as const)[kind]
}

function withoutVersion(rest: string): string {
  return rest.replace(/^v1\//, '')
}

/** Where a path of this provider is. Clients of Anthropic and Gemini say the version themselves, those of OpenAI have it in their base URL. */
export function targetOf({ rest, query }: Pick<Asked, 'rest' | 'query'>, { kind, baseURL }: Pick<ProviderConfig, 'kind' | 'baseURL'>): URL {
  const root = kind === 'anthropic' ? anthropicURL(baseURL).replace(/\/v1$/, '') : kind === 'google' ? geminiURL(baseURL).replace(/\/v\d\w*$/, '') : baseURL.replace(/\/+$/, '')
  const path = kind === 'anthropic' || kind === 'google' ? rest : withoutVersion(rest)
  return new URL(`${root}${path === '' ? '' : `/${path}`}${query}`)
}

/** What a client of this provider is given as its base URL. */
export function baseOf(origin: string, { name, kind }: Pick<ProviderConfig, 'name' | 'kind'>): string {
  return `${origin}/${name}${kind === 'anthropic' || kind === 'google' ? '' : '/v1'}`
}

/** The header that carries a key to this provider. */
export function keyHeader(kind: ProviderConfig['kind'], key: string): readonly [string, string] {
  if (kind === 'anthropic') return ['x-api-key', key]
  return kind === 'google' ? ['x-goog-api-key', key] : ['authorization', `Bearer ${key}`]
}
