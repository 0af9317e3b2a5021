// Filters the headers of requests and responses. Drops headers that concern one connection, and headers with the client's key,
// which the provider's key replaces. The order and the spelling stay unchanged. Pure.
// Test: test/tables/drivers/gateway/headers.test.ts.

/** Headers that concern only one connection, or how a body is transferred on it. */
const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])
/** Request headers that the gateway sets itself, that carry a key, or that only a browser or a proxy sends. */
const DROPPED_HEADERS = new Set([
  'host',
  'content-length',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'cookie',
  'origin',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
])

/** Headers in Node's raw form: names and values alternate. */
type RawHeaders = readonly string[]

/** Drops the headers of the connection, and those for which `isDropped` returns true. `isDropped` gets the name in lower case. */
function filterHeaders(raw: RawHeaders, isDropped: (name: string) => boolean): string[] {
  const namedHopHeaders = new Set(connectionHeaders(raw))
  const keptHeaders: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    const lower = name.toLowerCase()
    if (!HOP_HEADERS.has(lower) && !namedHopHeaders.has(lower) && !isDropped(lower)) keptHeaders.push(name, value)
  }
  return keptHeaders
}

/** The names in the header `Connection`, which concern only this connection. */
function connectionHeaders(raw: RawHeaders): readonly string[] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 && name.toLowerCase() === 'connection'
      ? (raw[at + 1] ?? '')
          .toLowerCase()
          .split(',')
          .map((name) => name.trim())
      : [],
  )
}

/** The parts of a request to a provider that decide its headers. */
export interface RequestParts {
  readonly host: string
  /** the header with the provider's key */
  readonly key: readonly [name: string, value: string] | null
  /** the length of the body; null if there is no body */
  readonly bytes: number | null
  /** true if the body was decoded, so that its content encoding no longer applies */
  readonly isDecoded: boolean
}

/** The headers of a request to a provider. */
export function requestHeaders(raw: RawHeaders, { host, key, bytes, isDecoded }: RequestParts): string[] {
  const keptHeaders = filterHeaders(raw, (name) => DROPPED_HEADERS.has(name) || (isDecoded && name === 'content-encoding'))
  const hasAcceptEncoding = keptHeaders.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'accept-encoding')
  // Without this header, a provider might choose an encoding that the client does not support.
  const acceptIdentity = hasAcceptEncoding ? [] : ['accept-encoding', 'identity']
  return ['host', host, ...keptHeaders, ...acceptIdentity, ...(key ?? []), ...(bytes === null ? [] : ['content-length', String(bytes)])]
}

/** The headers of a response to a client. */
export function responseHeaders(raw: RawHeaders): string[] {
  return filterHeaders(raw, () => false)
}
