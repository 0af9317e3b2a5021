// One request to a provider and its answer to the client: status, headers and bytes as they come, with back-pressure both ways.
// A client that goes takes the request with it; an answer that is cut is cut for the client too, never ended as if it were
// whole. Knows nothing of tokens. Test: test/processes/gateway-pass.test.ts.
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http'
import { responseHeaders } from './headers.ts'

/** Idle connections to providers are kept for so long: less than what servers do. */
const KEEP_MS = 55_000
const KEPT = { keepAlive: true, timeout: KEEP_MS } as const
/** As `fetch` does it, so that calls of the gateway's go the same way as those of native agents. */
const PROXY = process.env['NODE_USE_ENV_PROXY'] === '1' ? { proxyEnv: process.env } : {}

export interface Outgoing {
  readonly method: string
  readonly url: URL
  /** names and values in turns */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Who looks at an answer while it goes by. */
export interface Tap {
  /** false: it needs a moment, `ready` says when */
  write(chunk: Buffer): boolean
  ready(): Promise<void>
}

/** How it went. `unreachable`: nothing was answered; `cut`: the provider broke it off; `gone`: the client did. */
export interface Outcome {
  readonly end: 'whole' | 'cut' | 'gone' | 'unreachable'
  readonly status: number | null
  readonly error: string | null
}

export class Upstreams {
  readonly #http = new HttpAgent({ ...KEPT, ...PROXY })
  readonly #https = new HttpsAgent({ ...KEPT, ...PROXY })

  open(outgoing: Outgoing): ClientRequest {
    const { method, url, headers } = outgoing
    const isPlain = url.protocol === 'http:'
    const options: RequestOptions = { method, headers: headers as string[], agent: isPlain ? this.#http : this.#https }
    return isPlain ? httpRequest(url, options) : httpsRequest(url, options)
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

/**
 * Never rejects. `answered` is called once, with what came before the body. The answer is not ended here: who
 * has recorded what it cost ends it with `finish`.
 */
export async function forward(upstreams: Upstreams, outgoing: Outgoing, client: ServerResponse, answered: (answer: IncomingMessage) => Tap | null): Promise<Outcome> {
  const first = await begun(upstreams, outgoing, client)
  // A connection that was kept may have been closed at its other end just now: then nothing of the request has arrived.
  const got = 'error' in first && first.isStale && !client.destroyed ? await begun(upstreams, outgoing, client) : first
  if ('error' in got) return { end: client.destroyed ? 'gone' : 'unreachable', status: null, error: got.error }
  const { answer } = got
  const status = answer.statusCode ?? null
  const tap = answered(answer)
  client.sendDate = false
  client.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', responseHeaders(answer.rawHeaders))
  return { ...(await carried(answer, client, tap)), status }
}

/** Ends the client's answer as the provider's has ended. */
export function finish(client: ServerResponse, { end }: Pick<Outcome, 'end'>): void {
  if (end === 'whole') client.end()
  else client.destroy()
}

type Begun = { readonly answer: IncomingMessage } | { readonly error: string; readonly isStale: boolean }

function begun(upstreams: Upstreams, outgoing: Outgoing, client: ServerResponse): Promise<Begun> {
  return new Promise((resolve) => {
    const request = upstreams.open(outgoing)
    const gone = (): void => { request.destroy() }
    client.once('close', gone)
    request.once('response', (answer) => {
      answer.once('close', () => client.off('close', gone))
      resolve({ answer })
    })
    // Also after the answer has begun, when it tells by its own end.
    request.on('error', (error: NodeJS.ErrnoException) => {
      client.off('close', gone)
      resolve({ error: wordsOf(error), isStale: request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') })
    })
    request.end(outgoing.body)
  })
}

/** The system's words, without the address: that may be the user's own. */
function wordsOf({ code, message }: NodeJS.ErrnoException): string {
  return code ?? message
}

function carried(answer: IncomingMessage, client: ServerResponse, tap: Tap | null): Promise<Pick<Outcome, 'end' | 'error'>> {
  const over = Promise.withResolvers<Pick<Outcome, 'end' | 'error'>>()
  // They go with the first bytes, where these are there at once.
  const flush = setImmediate(() => { if (!client.destroyed) client.flushHeaders() })
  const ended = (end: Outcome['end'], error: string | null = null): void => {
    clearImmediate(flush)
    client.off('drain', go)
    client.off('close', gone)
    over.resolve({ end, error })
  }
  const go = (): void => { answer.resume() }
  const gone = (): void => {
    answer.destroy()
    ended('gone')
  }
  client.on('drain', go)
  client.once('close', gone)
  answer.on('data', (chunk: Buffer) => {
    clearImmediate(flush)
    const isKeptUp = tap?.write(chunk) ?? true
    const isTaken = client.write(chunk)
    if (isKeptUp && isTaken) return
    answer.pause()
    if (!isKeptUp) tap?.ready().then(() => { if (!client.writableNeedDrain) answer.resume() }, go)
  })
  answer.once('end', () => ended(answer.complete ? 'whole' : 'cut'))
  answer.once('error', (error: NodeJS.ErrnoException) => ended('cut', wordsOf(error)))
  answer.once('close', () => ended('cut'))
  if (client.destroyed) gone()
  return over.promise
}
