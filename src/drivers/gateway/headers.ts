// Which headers go through, both ways. All do but those of the one connection, and those that carry a key: a client's are
// replaced by the provider's own. Order and spelling stay. Pure. Test: test/tables/gateway-headers.test.ts.

/** They speak of one connection, or of how a body is framed on it. */
const HOP = new Set(['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'])
/** Where clients put their key; and what nobody but a browser or a proxy before us would say. */
const OWN = new Set(['host', 'content-length', 'authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie', 'origin', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])

type Raw = readonly string[]

/** A header as Node gives and takes it: names and values in turns. */
function filtered(raw: Raw, isOut: (name: string) => boolean): string[] {
  const named = new Set(listed(raw))
  const out: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    const lower = name.toLowerCase()
    if (!HOP.has(lower) && !named.has(lower) && !isOut(lower)) out.push(name, value)
  }
  return out
}

/** `Connection: x-one` makes X-One a header of the connection. */
function listed(raw: Raw): readonly string[] {
  return raw.flatMap((name, at) => (at % 2 === 0 && name.toLowerCase() === 'connection' ? (raw[at + 1] ?? '').toLowerCase().split(',').map((one) => one.trim()) : []))
}

export interface RequestParts {
  readonly host: string
  /** the provider's key, where it belongs */
  readonly key: readonly [name: string, value: string] | null
  /** null: there is no body */
  readonly bytes: number | null
  /** the body is no longer what its encoding says */
  readonly isDecoded: boolean
}

export function requestHeaders(raw: Raw, { host, key, bytes, isDecoded }: RequestParts): string[] {
  const kept = filtered(raw, (name) => OWN.has(name) || (isDecoded && name === 'content-encoding'))
  const asksEncoding = kept.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'accept-encoding')
  // Without this a provider might choose one that the client does not know.
  const plain = asksEncoding ? [] : ['accept-encoding', 'identity']
  return ['host', host, ...kept, ...plain, ...(key ?? []), ...(bytes === null ? [] : ['content-length', String(bytes)])]
}

export function responseHeaders(raw: Raw): string[] {
  return filtered(raw, () => false)
}
