// A model provider for tests: a real HTTP server on this machine that streams scripted answers and records every request. It follows
// the documented formats of Anthropic's Messages, OpenAI's Responses and chat completions, and Gemini. An answer can be an error,
// a cut stream or a hanging stream.
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { anthropicEvents, anthropicError } from './model-server-anthropic.ts'
import { googleError, googleEvents } from './model-server-google.ts'
import { openaiError, openaiChatEvents } from './model-server-openai-chat.ts'
import { openaiResponsesEvents } from './model-server-openai-responses.ts'

export interface ServedTool {
  readonly id?: string
  /** Responses: the group of the tool */
  readonly namespace?: string
  readonly name: string
  /** an object, or the text of a broken JSON input */
  readonly input: Readonly<Record<string, unknown>> | string
}

/** A scripted answer. Without `status` it is a stream with the given content. */
export interface ServedAnswer {
  readonly text?: string
  readonly thinking?: { readonly text: string; readonly signature: string }
  /** Anthropic: hidden thinking */
  readonly redacted?: string
  readonly tools?: readonly ServedTool[]
  /** `input` excludes tokens read from or written to the cache; `null` reports no usage */
  readonly usage?: {
    readonly input: number
    readonly output: number
    readonly cacheRead?: number
    readonly cacheWrite?: number
    readonly reasoning?: number
  } | null
  /** undocumented usage fields of chat completions */
  readonly usageFields?: Readonly<Record<string, unknown>>
  readonly finish?: 'length' | 'refused'
  /** the provider's own reason for the end, instead of the default */
  readonly stopReason?: string
  /** Responses: a refusal as text */
  readonly refusal?: string
  /** Gemini: the prompt itself is refused, for this reason */
  readonly blockReason?: string
  /** an HTTP error instead of a stream */
  readonly status?: number
  /** with `status`: the answer waits for this promise */
  readonly answerAfter?: Promise<void>
  readonly headers?: Readonly<Record<string, string>>
  readonly error?: { readonly type: string; readonly message: string }
  /** the exact body, instead of a generated one */
  readonly body?: string
  /** `error` comes inside the stream, after the text */
  readonly isMidStream?: boolean
  /** the connection is destroyed after this number of body bytes */
  readonly cutAfterBytes?: number
  /** the body ends regularly after this number of bytes */
  readonly endAfterBytes?: number
  /** the answer stops after this number of bytes; 0: before the headers */
  readonly hangAfterBytes?: number
  /** with `hangAfterBytes`: the rest follows when this is resolved */
  readonly restAfter?: Promise<void>
  /** the body is one line of at least this number of bytes, and has no end */
  readonly floodBytes?: number
}

export interface ServedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
  /** monotonic ms of the arrival */
  readonly atMs: number
  /** resolves when the client has the whole answer, or has closed the connection */
  readonly closed: Promise<void>
}

export interface ModelServer extends AsyncDisposable {
  /** without `/v1` */
  readonly url: string
  readonly requests: readonly ServedRequest[]
  /** the number of bytes that all connections have taken so far */
  readonly sentBytes: number
  /** resolves when this number of requests has arrived */
  waitForRequests(count: number): Promise<void>
}

const NO_MORE_ANSWERS: ServedAnswer = { status: 400, error: { type: 'invalid_request_error', message: 'the script is used up' } }

/** Plays the answers in order, or lets a function choose; a request after the last one gets status 400. */
export async function startModelServer(
  answers: readonly ServedAnswer[] | ((request: ServedRequest) => ServedAnswer),
): Promise<ModelServer> {
  const requests: ServedRequest[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const server = createServer((request, response) => {
    record(request, response).then(
      (recorded) => {
        const answer = typeof answers === 'function' ? answers(recorded) : (answers[requests.length] ?? NO_MORE_ANSWERS)
        requests.push(recorded)
        for (const { count, resolve } of waiting) if (requests.length >= count) resolve()
        serve(answer, recorded.path, response)
      },
      () => response.destroy(),
    )
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get sentBytes() {
      return [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0)
    },
    waitForRequests: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function record(request: IncomingMessage, response: ServerResponse): Promise<ServedRequest> {
  const closed = new Promise<void>((resolve) => response.once('close', () => resolve()))
  const atMs = performance.now()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Record<string, unknown>
  const path = (request.url ?? '').replace(/\?beta=true$/, '') // Claude Code adds this query
  return { path, headers: request.headers, body, atMs, closed }
}

interface Format {
  events(answer: ServedAnswer): string
  error(error: NonNullable<ServedAnswer['error']>, status: number): unknown
}

function formatOf(path: string): Format {
  if (path.endsWith('/messages')) return { events: anthropicEvents, error: anthropicError }
  if (path.endsWith('/responses')) return { events: openaiResponsesEvents, error: openaiError }
  if (path.includes(':streamGenerateContent')) return { events: googleEvents, error: googleError }
  return { events: openaiChatEvents, error: openaiError }
}

function serve(answer: ServedAnswer, path: string, response: ServerResponse): void {
  const { status } = answer
  if (answer.floodBytes !== undefined) return flood(answer, answer.floodBytes, response)
  if (status !== undefined) {
    const error = formatOf(path).error(answer.error ?? { type: 'api_error', message: 'failed' }, status)
    const refuse = (): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...answer.headers })
      response.end(answer.body ?? JSON.stringify(error))
    }
    if (answer.answerAfter) answer.answerAfter.then(refuse, () => response.destroy())
    else refuse()
    return
  }
  if (answer.hangAfterBytes === 0) return
  response.writeHead(200, { 'content-type': 'text/event-stream', ...answer.headers })
  const body = bodyOf(answer, path)
  const stopAtByte = answer.cutAfterBytes ?? answer.hangAfterBytes
  if (stopAtByte === undefined) response.end(body.subarray(0, answer.endAfterBytes))
  else
    response.write(body.subarray(0, stopAtByte), () => {
      if (answer.cutAfterBytes !== undefined) response.socket?.destroy()
    })
  answer.restAfter?.then(
    () => response.end(body.subarray(stopAtByte)),
    () => undefined,
  )
}

/** The whole body of a streamed answer. */
export function bodyOf(answer: ServedAnswer, path: string): Buffer {
  return Buffer.from(answer.body ?? formatOf(path).events(answer))
}

function flood(answer: ServedAnswer, bytes: number, response: ServerResponse): void {
  response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream' })
  const piece = Buffer.alloc(1024 * 1024, 'data: x')
  let leftBytes = bytes
  const write = (): void => {
    while (leftBytes > 0 && !response.destroyed) {
      leftBytes -= piece.length
      if (!response.write(piece)) return void response.once('drain', write)
    }
  }
  write()
}
