// Passes messages between an MCP client on stdin and stdout and the MCP server in the daemon. Each line of the client is a request over
// the daemon's socket. The answer to a request with an id gives one or more lines. A report of a worker is stored on disk before it is sent
// (outbox.ts). Must write nothing but MCP messages to its output. Test: test/e2e/mcp/bridge.test.ts.
import { readEventData } from '../../api/client/event-stream.ts'
import { BrokenLink, sendRequest, isNotListening, type WireResponse } from '../../api/client/http.ts'
import type { ReportOutbox } from './outbox.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** the longest silence of the server within an answer: it sends keep-alive messages */
const IDLE_MS = 300_000
/** the time between two attempts to deliver a report */
const RETRY_MS = 1_000
/** codes of JSON-RPC errors */
const UNREACHABLE = -32_000
const PARSE_ERROR = -32_700
/** the keys of `_meta` for the protocol version, and for the id of a report */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CALL_ID_KEY = 'reeve/callId'
const STORED_TEXT = 'reeve cannot be reached now. The report is kept, and will be delivered when reeve is back. End your turn.'

/** The access to the MCP server for one caller: an agent, or a client of the user. */
export interface McpEndpoint {
  readonly socket: string
  readonly token: string
}

export interface BridgeDeps {
  readonly endpoint: () => Promise<McpEndpoint>
  /** requests a new endpoint if the daemon is not listening or refuses the token; null: there is no other */
  readonly renew: (() => Promise<McpEndpoint>) | null
  /** null: this client sends no reports */
  readonly outbox: ReportOutbox | null
  readonly write: (line: string) => void
  /** aborts when the client has closed its output */
  readonly signal: AbortSignal
}

type Id = string | number

interface Message {
  readonly id?: Id
  readonly method?: string
  readonly params?: {
    readonly name?: unknown
    readonly arguments?: unknown
    readonly requestId?: Id
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

export class Bridge {
  readonly #deps: BridgeDeps
  /** the requests without an answer, by id */
  readonly #openRequests = new Map<Id, AbortController>()
  readonly #pendingMessages = new Set<Promise<void>>()
  /** the negotiated version, for older revisions of MCP */
  #version: string | null = null

  constructor(deps: BridgeDeps) {
    this.#deps = deps
  }

  /** Handles a line of the client. */
  receiveLine(line: string): void {
    if (line.trim() === '') return
    const running = this.#handleLine(line)
      .catch((error: unknown) => this.#writeError(null, UNREACHABLE, unreachableText(error)))
      .finally(() => this.#pendingMessages.delete(running))
    this.#pendingMessages.add(running)
  }

  /** Resolves when all messages have been answered. */
  async waitForAnswers(): Promise<void> {
    await Promise.all(this.#pendingMessages)
  }

  /** Aborts all requests, and resolves when no message is pending. */
  async end(): Promise<void> {
    for (const controller of this.#openRequests.values()) controller.abort()
    await Promise.all(this.#pendingMessages)
  }

  async #handleLine(line: string): Promise<void> {
    const message = parseMessage(line)
    if (message === null) return this.#writeError(null, PARSE_ERROR, 'not a JSON-RPC message')
    const { id, method, params } = message
    if (method === 'notifications/cancelled' && params?.requestId !== undefined) this.#openRequests.get(params.requestId)?.abort()
    if (id === undefined || method === undefined) return this.#post(message, this.#deps.signal).then(discardBody, () => undefined)
    const controller = new AbortController()
    this.#openRequests.set(id, controller)
    try {
      await this.#forward(message, id, AbortSignal.any([controller.signal, this.#deps.signal]))
    } catch (error) {
      if (!controller.signal.aborted && !this.#deps.signal.aborted) this.#writeError(id, UNREACHABLE, unreachableText(error))
    } finally {
      this.#openRequests.delete(id)
    }
  }

  async #forward(message: Message, id: Id, signal: AbortSignal): Promise<void> {
    const { method, params } = message
    const reportId = method === 'tools/call' ? (this.#deps.outbox?.store(String(params?.name), params?.arguments) ?? null) : null
    const sentMessage =
      reportId === null ? message : { ...message, params: { ...params, _meta: { ...params?._meta, [CALL_ID_KEY]: reportId } } }
    try {
      await this.#writeAnswer(await this.#post(sentMessage, signal), method)
    } catch (error) {
      if (reportId === null || signal.aborted) throw error
      this.#deps.write(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: {
            ...(params?._meta?.[VERSION_KEY] === undefined ? {} : { resultType: 'complete' }),
            content: [{ type: 'text', text: STORED_TEXT }],
          },
        }),
      )
      return this.#retryReport(sentMessage, reportId)
    }
    if (reportId !== null) this.#deps.outbox?.remove(reportId)
  }

  /**
   * Sends a stored report again while the client is connected. After that the daemon delivers it. The id of the report prevents duplicates.
   */
  async #retryReport(message: Message, reportId: string): Promise<void> {
    for (const { signal } = this.#deps; !signal.aborted;) {
      await delayUntilAborted(RETRY_MS, signal)
      // While the daemon is away, the loop tries again.
      const response = await this.#post(message, signal).catch(() => null)
      if (response === null) continue
      await discardBody(response)
      return this.#deps.outbox?.remove(reportId)
    }
  }

  async #post(message: Message, signal: AbortSignal): Promise<WireResponse> {
    const { endpoint, renew } = this.#deps
    try {
      const response = await this.#send(await endpoint(), message, signal)
      if (response.status !== 401 || renew === null) return response
      await discardBody(response)
    } catch (error) {
      if (renew === null || !isNotListening(error)) throw error
    }
    return this.#send(await renew(), message, signal)
  }

  #send({ socket, token }: McpEndpoint, message: Message, signal: AbortSignal): Promise<WireResponse> {
    const { method = '', params } = message
    const version = params?._meta?.[VERSION_KEY] ?? this.#version
    const methodHeaders =
      params?._meta?.[VERSION_KEY] === undefined
        ? {}
        : { 'mcp-method': method, ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}) }
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}),
      ...methodHeaders,
    }
    return sendRequest({
      socketPath: socket,
      method: 'POST',
      path: '/mcp',
      body: JSON.stringify(message),
      headers,
      idleMs: IDLE_MS,
      signal,
    })
  }

  async #writeAnswer(response: WireResponse, method: string | undefined): Promise<void> {
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      for await (const data of readEventData(response.body)) this.#writeMessage(data, method)
      return
    }
    const text = await textOf(response)
    if (response.status === 401) throw new Error('reeve does not know this token: its process has ended')
    if (text === '') throw new BrokenLink(`the answer is empty (HTTP ${response.status})`)
    this.#writeMessage(text, method)
  }

  #writeMessage(text: string, method: string | undefined): void {
    const message: unknown = JSON.parse(text)
    if (method === 'initialize') this.#version = versionIn(message)
    this.#deps.write(JSON.stringify(message))
  }

  #writeError(id: Id | null, code: number, message: string): void {
    this.#deps.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }
}

function parseMessage(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    // The caller answers an invalid line with an error.
    return null
  }
}

function versionIn(message: unknown): string | null {
  const { result } = message as { readonly result?: { readonly protocolVersion?: unknown } }
  return typeof result?.protocolVersion === 'string' ? result.protocolVersion : null
}

async function textOf({ body }: WireResponse): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function discardBody({ body }: WireResponse): Promise<void> {
  for await (const _ of body) continue
}

function unreachableText(error: unknown): string {
  return `reeve cannot be reached: ${errorText(error)}`
}

/** Resolves after `ms`, or when the signal aborts. */
function delayUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
