// Forwards one request to a provider, and the answer to the client: status, headers and bytes as they arrive. Back-pressure works in both
// directions. The request is cancelled when its client disconnects. A cut answer is also cut for the client, and must never look complete.
// Checks no access, and meters nothing.
// Test: test/processes/gateway/forward.test.ts.
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http'
import { responseHeaders } from './headers.ts'

/** How long an idle connection to a provider is kept, in ms. The providers keep idle connections longer. */
const MAX_IDLE_MS = 55_000
/** The bytes of a request body that are written at a time. */
const PIECE_BYTES = 1024 * 1024
const KEEP_ALIVE = { keepAlive: true, timeout: MAX_IDLE_MS } as const
/** The proxy settings of `fetch`, so that gateway calls use the same proxy as native agents. */
const PROXY = process.env['NODE_USE_ENV_PROXY'] === '1' ? { proxyEnv: process.env } : {}

/** A request to a provider. */
export interface OutgoingRequest {
  readonly method: string
  readonly url: URL
  /** names and values alternate */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Gets a copy of an answer while it is forwarded. */
export interface AnswerTap {
  /** Takes a chunk. If it returns false, the answer must wait until `ready` resolves. */
  write(chunk: Buffer): boolean
  /** Resolves when the tap can take more chunks. */
  ready(): Promise<void>
}

/** The outcome of a forwarded request. */
export interface ForwardOutcome {
  /**
   * `whole`: the answer is complete. `cut`: the provider ended it too early. `gone`: the client disconnected. `unreachable`: there was
   * no answer.
   */
  readonly end: 'whole' | 'cut' | 'gone' | 'unreachable'
  /** the HTTP status of the answer; null without an answer */
  readonly status: number | null
  readonly error: string | null
}

/** The connections to providers, which are kept open between requests. */
export class Upstreams {
  readonly #http = new HttpAgent({ ...KEEP_ALIVE, ...PROXY })
  readonly #https = new HttpsAgent({ ...KEEP_ALIVE, ...PROXY })

  /** Opens a request; the caller writes the body. */
  createRequest(outgoing: OutgoingRequest): ClientRequest {
    const { method, url, headers } = outgoing
    const isPlain = url.protocol === 'http:'
    const options: RequestOptions = { method, headers, agent: isPlain ? this.#http : this.#https }
    return isPlain ? httpRequest(url, options) : httpsRequest(url, options)
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

/**
 * Forwards a request and its answer. Never rejects. Calls `onAnswer` once, when the headers of the answer have arrived. Does not end the
 * response to the client: the caller first records the cost, and then calls `finishResponse`.
 */
export async function forwardRequest(
  upstreams: Upstreams,
  outgoing: OutgoingRequest,
  client: ServerResponse,
  onAnswer: (answer: IncomingMessage) => AnswerTap | null,
): Promise<ForwardOutcome> {
  const firstResult = await sendRequest(upstreams, outgoing, client)
  // The provider may have closed a kept connection at this moment. The request has then not arrived, and is sent again.
  const result =
    'error' in firstResult && firstResult.isStale && !client.destroyed ? await sendRequest(upstreams, outgoing, client) : firstResult
  if ('error' in result) return { end: client.destroyed ? 'gone' : 'unreachable', status: null, error: result.error }
  const { answer } = result
  const status = answer.statusCode ?? null
  const tap = onAnswer(answer)
  client.sendDate = false
  client.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', responseHeaders(answer.rawHeaders))
  return { ...(await passBody(answer, client, tap)), status }
}

/** Ends the response to the client in the same way as the provider's answer has ended. */
export function finishResponse(client: ServerResponse, { end }: Pick<ForwardOutcome, 'end'>): void {
  if (end === 'whole') client.end()
  else client.destroy()
}

/** The beginning of an answer, or the error. `isStale`: the provider had closed the reused connection before the request arrived. */
type SendResult = { readonly answer: IncomingMessage } | { readonly error: string; readonly isStale: boolean }

function sendRequest(upstreams: Upstreams, outgoing: OutgoingRequest, client: ServerResponse): Promise<SendResult> {
  return new Promise((resolve) => {
    const request = upstreams.createRequest(outgoing)
    const cancel = (): void => {
      request.destroy()
    }
    client.once('close', cancel)
    request.once('response', (answer) => {
      answer.once('close', () => client.off('close', cancel))
      resolve({ answer })
    })
    // An error after the start of the answer has no effect here: the end of the answer also reports it.
    request.on('error', (error: NodeJS.ErrnoException) => {
      client.off('close', cancel)
      resolve({ error: describeError(error), isStale: request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') })
    })
    sendBody(request, outgoing.body)
  })
}

/**
 * Writes a large body in pieces, each when the provider has taken the previous one. Otherwise TLS would keep an encrypted copy of the
 * whole body.
 */
function sendBody(request: ClientRequest, body: Buffer): void {
  let at = 0
  const writePieces = (): void => {
    while (body.length - at > PIECE_BYTES) {
      at += PIECE_BYTES
      if (!request.write(body.subarray(at - PIECE_BYTES, at))) return
    }
    request.off('drain', writePieces)
    request.end(body.subarray(at))
  }
  request.on('drain', writePieces)
  writePieces()
}

/** Describes an error only by its code, because its message contains the address, which may be private. */
function describeError({ code, message }: NodeJS.ErrnoException): string {
  return code ?? message
}

/** Forwards the body of an answer to the client and the tap. */
function passBody(answer: IncomingMessage, client: ServerResponse, tap: AnswerTap | null): Promise<Pick<ForwardOutcome, 'end' | 'error'>> {
  const outcome = Promise.withResolvers<Pick<ForwardOutcome, 'end' | 'error'>>()
  // If the first bytes arrive in this turn of the event loop, the headers are sent together with them.
  const flush = setImmediate(() => {
    if (!client.destroyed) client.flushHeaders()
  })
  const finish = (end: ForwardOutcome['end'], error: string | null = null): void => {
    clearImmediate(flush)
    client.off('drain', resume)
    client.off('close', onClientClose)
    outcome.resolve({ end, error })
  }
  const resume = (): void => {
    answer.resume()
  }
  const onClientClose = (): void => {
    answer.destroy()
    finish('gone')
  }
  client.on('drain', resume)
  client.once('close', onClientClose)
  answer.on('data', (chunk: Buffer) => {
    clearImmediate(flush)
    const hasTapRoom = tap?.write(chunk) ?? true
    const hasClientRoom = client.write(chunk)
    if (hasTapRoom && hasClientRoom) return
    answer.pause()
    if (!hasTapRoom)
      tap?.ready().then(() => {
        if (!client.writableNeedDrain) answer.resume()
      }, resume)
  })
  answer.once('end', () => finish(answer.complete ? 'whole' : 'cut'))
  answer.once('error', (error: NodeJS.ErrnoException) => finish('cut', describeError(error)))
  answer.once('close', () => finish('cut'))
  if (client.destroyed) onClientClose()
  return outcome.promise
}
