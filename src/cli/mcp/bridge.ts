// From the lines of a client's MCP to the daemon's server and back: each message is one request over its socket, each answer one
// line or more. Knows nothing of tools but which calls are reports: those are on disk before they are told (outbox.ts).
// Must never write anything but MCP to its output. Test: test/e2e/mcp-bridge.test.ts.
import { eventData } from '../../api/client-events.ts'
import { BrokenLink, exchange, isNotListening, type WireResponse } from '../../api/client-http.ts'
import type { Outbox } from './outbox.ts'

/** Longer than the longest answer of a tool: the server says that it lives all the time. */
const IDLE_MS = 300_000
const AGAIN_MS = 1_000
const UNREACHABLE = -32_000
const PARSE_ERROR = -32_700
const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CALL_ID = 'reeve/callId'
const KEPT = 'reeve cannot be reached now: the report is kept, and delivered when it is back. End your turn.'

export interface BridgeSeat {
  readonly socket: string
  readonly token: string
}

export interface BridgeParts {
  readonly seat: () => Promise<BridgeSeat>
  /** another one, where the daemon does not know it any more; null: there is none */
  readonly renew: (() => Promise<BridgeSeat>) | null
  /** null: it makes no reports */
  readonly outbox: Outbox | null
  readonly write: (line: string) => void
  /** aborted when the client has closed its end */
  readonly signal: AbortSignal
}

type Id = string | number

interface Message {
  readonly id?: Id
  readonly method?: string
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown; readonly requestId?: Id; readonly _meta?: Readonly<Record<string, unknown>> }
}

export class Bridge {
  readonly #parts: BridgeParts
  readonly #open = new Map<Id, AbortController>()
  readonly #running = new Set<Promise<void>>()
  /** of the older revisions: what was agreed on */
  #version: string | null = null

  constructor(parts: BridgeParts) {
    this.#parts = parts
  }

  take(line: string): void {
    if (line.trim() === '') return
    const running = this.#carry(line).catch((error: unknown) => this.#refuse(null, UNREACHABLE, wordsOf(error))).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Resolves when all that was taken is answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Resolves when nothing of it is on its way any more. */
  async end(): Promise<void> {
    for (const controller of this.#open.values()) controller.abort()
    await Promise.all(this.#running)
  }

  async #carry(line: string): Promise<void> {
    const message = parsed(line)
    if (message === null) return this.#refuse(null, PARSE_ERROR, 'that is no JSON-RPC message')
    const { id, method, params } = message
    if (method === 'notifications/cancelled' && params?.requestId !== undefined) this.#open.get(params.requestId)?.abort()
    if (id === undefined || method === undefined) return this.#post(message, this.#parts.signal).then(ignore, () => undefined)
    const controller = new AbortController()
    this.#open.set(id, controller)
    try {
      await this.#ask(message, id, AbortSignal.any([controller.signal, this.#parts.signal]))
    } catch (error) {
      if (!controller.signal.aborted && !this.#parts.signal.aborted) this.#refuse(id, UNREACHABLE, wordsOf(error))
    } finally {
      this.#open.delete(id)
    }
  }

  async #ask(message: Message, id: Id, signal: AbortSignal): Promise<void> {
    const { method, params } = message
    const kept = method === 'tools/call' ? this.#parts.outbox?.keep(String(params?.name), params?.arguments) ?? null : null
    const named = kept === null ? message : { ...message, params: { ...params, _meta: { ...params?._meta, [CALL_ID]: kept } } }
    try {
      await this.#answers(await this.#post(named, signal), method)
    } catch (error) {
      if (kept === null || signal.aborted) throw error
      this.#parts.write(JSON.stringify({ jsonrpc: '2.0', id, result: { ...(params?._meta?.[VERSION] === undefined ? {} : { resultType: 'complete' }), content: [{ type: 'text', text: KEPT }] } }))
      return this.#again(named, kept)
    }
    if (kept !== null) this.#parts.outbox?.done(kept)
  }

  /** As long as the client is there; what then is left the daemon delivers. Its name keeps it from being told twice. */
  async #again(message: Message, kept: string): Promise<void> {
    for (const { signal } = this.#parts; !signal.aborted;) {
      await rest(AGAIN_MS, signal)
      const response = await this.#post(message, signal).catch(() => null)
      if (response === null) continue
      await ignore(response)
      return this.#parts.outbox?.done(kept)
    }
  }

  async #post(message: Message, signal: AbortSignal): Promise<WireResponse> {
    const { seat, renew } = this.#parts
    try {
      const response = await this.#send(await seat(), message, signal)
      if (response.status !== 401 || renew === null) return response
      await ignore(response)
    } catch (error) {
      if (renew === null || !isNotListening(error)) throw error
    }
    return this.#send(await renew(), message, signal)
  }

  #send({ socket, token }: BridgeSeat, message: Message, signal: AbortSignal): Promise<WireResponse> {
    const { method = '', params } = message
    const version = params?._meta?.[VERSION] ?? this.#version
    const modern = params?._meta?.[VERSION] === undefined ? {} : { 'mcp-method': method, ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}) }
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream', ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}), ...modern }
    return exchange({ socketPath: socket, method: 'POST', path: '/mcp', body: JSON.stringify(message), headers, idleMs: IDLE_MS, signal })
  }

  async #answers(response: WireResponse, method: string | undefined): Promise<void> {
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      for await (const data of eventData(response.body)) this.#say(data, method)
      return
    }
    const text = await textOf(response)
    if (response.status === 401) throw new Error('reeve does not know this token: it is gone with its process')
    if (text === '') throw new BrokenLink(`the answer is empty (HTTP ${response.status})`)
    this.#say(text, method)
  }

  #say(text: string, method: string | undefined): void {
    const message: unknown = JSON.parse(text)
    if (method === 'initialize') this.#version = versionIn(message)
    this.#parts.write(JSON.stringify(message))
  }

  #refuse(id: Id | null, code: number, message: string): void {
    this.#parts.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }
}

function parsed(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Message) : null
  } catch {
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

async function ignore({ body }: WireResponse): Promise<void> {
  for await (const _ of body) continue
}

function wordsOf(error: unknown): string {
  return `reeve cannot be reached: ${error instanceof Error ? error.message : String(error)}`
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
