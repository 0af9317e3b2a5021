// Parses the path of a request, which consists of the provider's name and the provider's own path. Finds the provider's URL,
// the wire format, and whether the request calls a model. Only requests that certainly cost nothing are passed on without a grant.
// Pure.
// Test: test/tables/drivers/gateway/routes.test.ts.
import { withAnthropicVersion as anthropicURL } from '../native/models/anthropic.ts'
import { withGoogleVersion as geminiURL } from '../native/models/google.ts'
import type { ProviderConfig } from '../native/models/resolve-model.ts'
import type { FormatName } from './formats.ts'

/** A parsed path of a request. */
export interface GatewayRequest {
  /** the provider's name */
  readonly name: string
  /** the provider's own path, without a leading slash */
  readonly rest: string
  /** the query with its question mark, but without the key; empty if there is no query */
  readonly query: string
  /** the key in the query, where Gemini's clients may send it; null if there is none */
  readonly key: string | null
}

export interface GatewayRoute {
  readonly format: FormatName
  /** true if the request costs tokens, so that it needs a grant, and is metered and charged */
  readonly isCall: boolean
  /** the model in the path (only Gemini); null if the body has it */
  readonly model: string | null
}

/** Parses the path of a request. Null if it names no provider, or is not safe. */
export function readPath(url: string): GatewayRequest | null {
  const questionMark = url.indexOf('?')
  const [path, query] = questionMark < 0 ? [url, ''] : [url.slice(0, questionMark), url.slice(questionMark + 1)]
  const [, name = '', rest = ''] = /^\/([\w.-]+)(?:\/(.*))?$/.exec(path) ?? []
  // `..` and encoded slashes are refused: the provider might resolve them to another path than the gateway has checked.
  if (name === '' || /(^|\/)\.{1,2}(\/|$)|%2e|%2f|\\/i.test(rest)) return null
  const parts = query === '' ? [] : query.split('&')
  const keptParts = parts.filter((part) => !part.startsWith('key='))
  const key = parts.find((part) => part.startsWith('key='))?.slice('key='.length) ?? null
  return { name, rest, query: keptParts.length === 0 ? '' : `?${keptParts.join('&')}`, key }
}

const GEMINI_CALL = /^v1\w*\/(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/
/** The wire formats of the paths that call a model. The paths have no version. */
const MODEL_CALLS: Readonly<Record<string, FormatName>> = {
  messages: 'anthropic',
  responses: 'responses',
  'responses/compact': 'responses',
  'chat/completions': 'chat',
}
/** The paths that providers answer without calling a model. */
const FREE_PATHS = new Set(['messages/count_tokens', 'responses/input_tokens'])

/** Routes a request. Null for an unknown path, which might cost something. */
export function findRoute(method: string, rest: string, kind: ProviderConfig['kind']): GatewayRoute | null {
  const format = findFormat(rest, kind)
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead) return { format, isCall: false, model: null }
  if (method !== 'POST') return null
  const gemini = GEMINI_CALL.exec(rest)
  if (gemini) return { format: 'gemini', isCall: gemini[2] !== 'countTokens', model: gemini[1] ?? null }
  const unversioned = withoutVersion(rest)
  const callFormat = Object.hasOwn(MODEL_CALLS, unversioned) ? MODEL_CALLS[unversioned] : undefined
  if (callFormat !== undefined) return { format: callFormat, isCall: true, model: null }
  return FREE_PATHS.has(unversioned) ? { format, isCall: false, model: null } : null
}

/** The wire format of a path. Clients also expect errors in this format. */
export function findFormat(rest: string, kind: ProviderConfig['kind']): FormatName {
  if (/(^|\/)messages(\/|$)/.test(rest)) return 'anthropic'
  if (/(^|\/)responses(\/|$)/.test(rest)) return 'responses'
  return ({ anthropic: 'anthropic', google: 'gemini', openai: 'responses', 'openai-compatible': 'chat' } as const)[kind]
}

function withoutVersion(rest: string): string {
  return rest.replace(/^v1\//, '')
}

/**
 * The provider's URL for a request. Clients of Anthropic and Gemini send the version in the path. Clients of OpenAI have it in their
 * base URL.
 */
export function providerURL(
  { rest, query }: Pick<GatewayRequest, 'rest' | 'query'>,
  { kind, baseURL }: Pick<ProviderConfig, 'kind' | 'baseURL'>,
): URL {
  const root =
    kind === 'anthropic'
      ? anthropicURL(baseURL).replace(/\/v1$/, '')
      : kind === 'google'
        ? geminiURL(baseURL).replace(/\/v\d\w*$/, '')
        : baseURL.replace(/\/+$/, '')
  const path = kind === 'anthropic' || kind === 'google' ? rest : withoutVersion(rest)
  return new URL(`${root}${path === '' ? '' : `/${path}`}${query}`)
}

/** The gateway's base URL for clients of this provider. */
export function gatewayBaseURL(origin: string, { name, kind }: Pick<ProviderConfig, 'name' | 'kind'>): string {
  return `${origin}/${name}${kind === 'anthropic' || kind === 'google' ? '' : '/v1'}`
}

/** The header with the key for this provider. */
export function keyHeader(kind: ProviderConfig['kind'], key: string): readonly [string, string] {
  if (kind === 'anthropic') return ['x-api-key', key]
  return kind === 'google' ? ['x-goog-api-key', key] : ['authorization', `Bearer ${key}`]
}
