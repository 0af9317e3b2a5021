// The one client of the daemon's API: JSON requests and event streams over the Unix socket, errors with their code and hint.
// Starts the daemon when nobody listens, if it was given a way to; must never repeat a request that may have been received.
// Must not import anything heavy: `reeve ps` loads this. Test: test/tables/cli-client.test.ts.
import { ERRORS, type ErrorCode } from '../kernel/errors.ts'
import { BrokenLink, exchange, isNotListening, type WireRequest, type WireResponse } from './client-http.ts'
import { eventData } from './client-events.ts'
import type { ErrorBody, EventView } from './views.ts'

/** The largest JSON answer that is read. */
const ANSWER_BYTES = 256 * 1024 * 1024
/** Silence after which a request fails; a long poll adds what it asked for. */
const REQUEST_IDLE_MS = 30_000
/** The daemon sends a comment at least every 30 s. */
const STREAM_IDLE_MS = 90_000
/** How long a broken stream is tried again, and how often at most. */
const RECONNECT_MS = 30_000
const RECONNECT_EVERY_MS = 200
/** A restart of the daemon takes less, and need not be told. */
const MISSED_MS = 1_000

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** An answer of the daemon that is an error, or its absence (`UNAVAILABLE`). `exit` is the command line's exit code for it. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>> | undefined
  constructor(code: ErrorCode, message: string, more: { hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown } = {}) {
    super(message, { cause: more.cause })
    this.name = 'ApiError'
    this.code = code
    this.hint = more.hint ?? ERRORS[code]?.hint ?? ''
    this.details = more.details
  }
  get exit(): number {
    return ERRORS[this.code]?.exit ?? 1
  }
}

export interface ClientOptions {
  /** asked at each connection: a daemon that starts may choose another place */
  readonly socketPath: () => string
  /** starts the daemon and resolves when it answers; absent: a missing daemon is the error `UNAVAILABLE` */
  readonly start?: (() => Promise<void>) | undefined
  /** what it calls itself where it steers: `cli` */
  readonly name?: string | undefined
}

export interface StreamOptions {
  readonly query: Query
  /** the event after which nothing comes: a link that breaks then is not tried again */
  readonly isLast?: (event: EventView) => boolean
  readonly signal?: AbortSignal | undefined
  /** `false` when the daemon has not answered for a second, `true` when it does again */
  readonly onLink?: ((isUp: boolean) => void) | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** for long polls: how long the daemon may take, in ms, beyond the usual */
  readonly extraMs?: number
  /** of a request that only reads: a link that breaks is tried again for 30 s, as a stream's is; no daemon is started for it */
  readonly again?: boolean
}

export class Client {
  readonly #socketPath: () => string
  readonly #start: (() => Promise<void>) | undefined
  readonly #name: string

  constructor(options: ClientOptions) {
    this.#socketPath = options.socketPath
    this.#start = options.start
    this.#name = `${(options.name ?? 'library').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 60)} pid=${process.pid}`
  }

  get<T>(path: string, query: Query = {}, options: CallOptions = {}): Promise<T> {
    return this.#call<T>({ method: 'GET', path: path + search(query), ...options })
  }

  post<T>(path: string, body: object, options: CallOptions = {}): Promise<T> {
    return this.#call<T>({ method: 'POST', path, body: JSON.stringify(body), headers: { 'x-reeve-client': this.#name }, ...options })
  }

  delete<T>(path: string, options: CallOptions = {}): Promise<T> {
    return this.#call<T>({ method: 'DELETE', path, ...options })
  }

  async #call<T>(call: Pick<WireRequest, 'method' | 'path' | 'body' | 'headers'> & CallOptions): Promise<T> {
    const { again = false, signal } = call
    for (let brokenSince = 0; ; brokenSince ||= Date.now()) {
      try {
        const response = await this.#send({ ...call, idleMs: REQUEST_IDLE_MS + (call.extraMs ?? 0) }, brokenSince === 0)
        if (response.status >= 400) throw await errorOf(response)
        return JSON.parse(await wholeText(response)) as T
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        // Only what was connected is connected again: that no daemon can be started is told at once.
        const isBroken = brokenSince === 0 ? error instanceof BrokenLink : isLinkError(error) && Date.now() - brokenSince < RECONNECT_MS
        if (!again || !isBroken) throw this.#asApiError(error)
      }
      await aborted(RECONNECT_EVERY_MS, signal)
    }
  }

  /**
   * Events in order. With `follow` in the query it goes on through broken connections and restarts of the daemon, from the
   * last event that it gave, until the signal aborts or nobody has listened for 30 s. It never starts the daemon again.
   */
  async *events(path: string, { query, signal, isLast, onLink }: StreamOptions): AsyncGenerator<EventView, void> {
    const follow = Boolean(query['follow'])
    let place = query
    let opened = false
    let brokenSince = 0
    let isOver = false
    let isMissed = false
    for (;;) {
      try {
        const body = await this.#stream(path, { query: place, signal }, !opened)
        opened = true
        brokenSince = 0
        if (isMissed) onLink?.(true)
        isMissed = false
        for await (const data of eventData(body)) {
          const event = JSON.parse(data) as EventView
          if (event.seq > 0) place = { ...query, after: event.seq, tail: undefined }
          isOver = isLast?.(event) ?? false
          yield event
        }
        return // the daemon has ended it: there is nothing more to come
      } catch (error) {
        if (signal?.aborted || isOver) return
        const again = follow && opened && isLinkError(error) && (brokenSince === 0 || Date.now() - brokenSince < RECONNECT_MS)
        if (!again) throw this.#asApiError(error)
      }
      brokenSince ||= Date.now()
      if (!isMissed && Date.now() - brokenSince >= MISSED_MS) {
        isMissed = true
        onLink?.(false)
      }
      if (await aborted(RECONNECT_EVERY_MS, signal)) return
    }
  }

  async #stream(path: string, options: StreamOptions, mayStart: boolean): Promise<AsyncIterable<Buffer>> {
    const after = options.query['after']
    const response = await this.#send({
      method: 'GET', path: path + search(options.query), idleMs: STREAM_IDLE_MS, signal: options.signal,
      headers: { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': String(after) }) },
    }, mayStart)
    if (response.status !== 200) throw await errorOf(response)
    return response.body
  }

  async #send(request: Omit<WireRequest, 'socketPath'>, mayStart: boolean): Promise<WireResponse> {
    try {
      return await exchange({ ...request, socketPath: this.#socketPath() })
    } catch (error) {
      if (!mayStart || !this.#start || !isNotListening(error)) throw error
      await this.#start()
      return await exchange({ ...request, socketPath: this.#socketPath() })
    }
  }

  #asApiError(error: unknown): unknown {
    if (error instanceof ApiError || !isLinkError(error)) return error
    return new ApiError('UNAVAILABLE', `the daemon at ${this.#socketPath()} cannot be reached: ${(error as Error).message}`, { cause: error })
  }
}

function search(query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === false ? [] : [`${key}=${encodeURIComponent(value === true ? '1' : value)}`])
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

async function wholeText(response: WireResponse): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES) throw new BrokenLink(`the answer is longer than ${ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function errorOf(response: WireResponse): Promise<ApiError> {
  const text = await wholeText(response)
  try {
    const { code, message, hint, details } = (JSON.parse(text) as ErrorBody).error
    return new ApiError(code, message, { hint, ...(details ? { details } : {}) })
  } catch {
    return new ApiError('INTERNAL', `the daemon answered ${response.status}: ${text.slice(0, 200)}`)
  }
}

function isLinkError(error: unknown): boolean {
  return error instanceof BrokenLink || typeof (error as NodeJS.ErrnoException).syscall === 'string'
    || (error instanceof ApiError && error.code === 'UNAVAILABLE')
}

/** Waits; true when the signal aborted it. */
function aborted(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const end = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    resolve(signal?.aborted ?? false)
  }
  const timer = setTimeout(end, ms)
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  return promise
}
