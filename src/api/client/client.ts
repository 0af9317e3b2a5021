// The client of the daemon's API: JSON requests and event streams over the Unix socket. Starts the daemon if none listens and the options
// allow it. Must never repeat a request that may have changed something. Must not import anything heavy,
// because `reeve ps` loads this file. Test: test/tables/api/client/http.test.ts.
import { ApiError } from './api-error.ts'
import { BUILD_HEADER, isOtherBuild } from '../build.ts'
import { BrokenLink, sendRequest, isNotListening, type WireRequest, type WireResponse } from './http.ts'
import { readEventData, readRowEvents } from './event-stream.ts'
import type { LockHolder } from './daemon-holder.ts'
import { findHang } from './hung-daemon.ts'
import { CURRENT_PID_HEADER, parseCurrentPid } from './current-pid-header.ts'
import type { ReeveEvent } from '../events.ts'
import type { RowEvent } from '../row-events.ts'
import type { ErrorBody } from '../views/daemon.ts'

/** the largest JSON answer, in bytes */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024
/** the silence after which a request fails; a long poll adds its own wait */
const REQUEST_IDLE_MS = 30_000
/** the time after which a request is reported as slow */
const SLOW_MS = 2_000
/** the silence after which a stream counts as broken: the daemon sends a comment at least every 30 s */
const STREAM_IDLE_MS = 90_000
/** the time limit for reconnecting a broken stream or request, and the delay between two attempts */
const RECONNECT_MS = 30_000
const RECONNECT_EVERY_MS = 200
/** the time without a connection that is not reported: a restart of the daemon takes less */
const UNREPORTED_MS = 1_000

const ROWS_PATH = '/v1/rows'

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface ClientOptions {
  /** returns the path of the socket; called for each connection, because a restarted daemon may use another path */
  readonly socketPath: () => string
  /** starts the daemon and resolves when it answers; absent: a missing daemon is the error `UNAVAILABLE` */
  readonly start?: (() => Promise<void>) | undefined
  /** returns the program that has the lock of the home, if there is one; the error about a hanging daemon names it */
  readonly holder?: (() => LockHolder | null) | undefined
  /** called once, when a daemon of another build answers */
  readonly onOtherBuild?: (() => void) | undefined
  /** called once for each outdated PID in a request: a resume has given the process a new PID */
  readonly onPresentPid?: ((retiredPid: number, pid: number) => void) | undefined
  /** called when a request has had no answer for two seconds, unless it is a long poll; `answered` settles with the request */
  readonly onSlow?: ((answered: Promise<unknown>) => void) | undefined
  /** the name of the client in records of its actions: `cli` */
  readonly name?: string | undefined
}

export interface StreamOptions {
  readonly query: Query
  /** whether an event is the last one; a connection that breaks after the last event is not opened again */
  readonly isLast?: (event: ReeveEvent) => boolean
  readonly signal?: AbortSignal | undefined
  /** called with `false` when the daemon has not answered for a second, and with `true` when it answers again */
  readonly onLink?: ((isUp: boolean) => void) | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** for long polls: additional time for the daemon, in ms */
  readonly extraMs?: number
  /** a long poll: the daemon answers when something has happened */
  readonly isPoll?: boolean
  /** for requests that only read: a request whose connection breaks is repeated for 30 s, without starting a daemon */
  readonly isRepeatable?: boolean
}

type Call = Pick<WireRequest, 'method' | 'path' | 'body' | 'headers'> & RequestOptions

export class Client {
  readonly #socketPath: () => string
  readonly #start: (() => Promise<void>) | undefined
  readonly #holder: () => LockHolder | null
  readonly #name: string
  #onOtherBuild: (() => void) | undefined
  readonly #onPresentPid: ((retiredPid: number, pid: number) => void) | undefined
  readonly #onSlow: ((answered: Promise<unknown>) => void) | undefined
  readonly #reportedPids = new Set<number>()

  constructor(options: ClientOptions) {
    this.#socketPath = options.socketPath
    this.#start = options.start
    this.#onOtherBuild = options.onOtherBuild
    this.#onPresentPid = options.onPresentPid
    this.#onSlow = options.onSlow
    this.#holder = options.holder ?? (() => null)
    this.#name = `${(options.name ?? 'library').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 60)} pid=${process.pid}`
  }

  get<T>(path: string, query: Query = {}, options: RequestOptions = {}): Promise<T> {
    return this.#request<T>({ method: 'GET', path: path + queryString(query), ...options })
  }

  post<T>(path: string, body: object, options: RequestOptions = {}): Promise<T> {
    return this.#request<T>({ method: 'POST', path, body: JSON.stringify(body), headers: { 'x-reeve-client': this.#name }, ...options })
  }

  delete<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.#request<T>({ method: 'DELETE', path, ...options })
  }

  async #request<T>(call: Call): Promise<T> {
    const answered = this.#requestUntilAnswered<T>(call)
    if (!this.#onSlow || call.isPoll) return answered
    const timer = setTimeout(() => this.#onSlow?.(answered), SLOW_MS)
    try {
      return await answered
    } finally {
      clearTimeout(timer)
    }
  }

  async #requestUntilAnswered<T>(call: Call): Promise<T> {
    const { isRepeatable = false, signal } = call
    for (let brokenSince = 0; ; brokenSince ||= Date.now()) {
      try {
        const response = await this.#send({ ...call, idleMs: REQUEST_IDLE_MS + (call.extraMs ?? 0) }, brokenSince === 0)
        if (response.status >= 400) throw await readError(response)
        return JSON.parse(await readBody(response)) as T
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        // Only a connection that was open is opened again. If no daemon can be started, the error is reported at once.
        const isBroken = brokenSince === 0 ? error instanceof BrokenLink : isLinkError(error) && Date.now() - brokenSince < RECONNECT_MS
        if (!isRepeatable || !isBroken) throw this.#asApiError(error)
      }
      await sleepOrAborted(RECONNECT_EVERY_MS, signal)
    }
  }

  /**
   * Streams events in order. With `follow` in the query the stream survives broken connections and restarts of the daemon: it continues
   * after the last delivered event. It never starts the daemon again. The stream ends when the daemon ends it, when the signal aborts, or
   * when the connection breaks after the last event. Errors: `UNAVAILABLE` if the daemon has not answered for 30 s.
   */
  events(path: typeof ROWS_PATH, options: Omit<StreamOptions, 'isLast'>): AsyncGenerator<RowEvent, void>
  events(path: string, options: StreamOptions): AsyncGenerator<ReeveEvent, void>
  async *events(path: string, { query, signal, isLast, onLink }: StreamOptions): AsyncGenerator<ReeveEvent | RowEvent, void> {
    const follow = Boolean(query['follow'])
    let nextQuery = query
    let hasOpened = false
    let brokenSince = 0
    let isOver = false
    let isReportedDown = false
    for (;;) {
      try {
        const body = await this.#stream(path, { query: nextQuery, signal }, !hasOpened)
        hasOpened = true
        brokenSince = 0
        if (isReportedDown) onLink?.(true)
        isReportedDown = false
        for await (const event of messagesOf(path, body)) {
          if (isError(event)) throw toApiError(event)
          // The stream of rows continues after a cursor instead of a seq.
          if (event.seq > 0) nextQuery = { ...query, after: 'cursor' in event ? String(event.cursor) : event.seq, tail: undefined }
          isOver = isLast?.(event) ?? false
          yield event
        }
        return // The daemon has ended the stream.
      } catch (error) {
        if (signal?.aborted || isOver) return
        const mayReconnect = follow && hasOpened && isLinkError(error) && (brokenSince === 0 || Date.now() - brokenSince < RECONNECT_MS)
        if (!mayReconnect) throw this.#asApiError(error)
      }
      brokenSince ||= Date.now()
      if (!isReportedDown && Date.now() - brokenSince >= UNREPORTED_MS) {
        isReportedDown = true
        onLink?.(false)
      }
      if (await sleepOrAborted(RECONNECT_EVERY_MS, signal)) return
    }
  }

  async #stream(path: string, options: Pick<StreamOptions, 'query' | 'signal'>, mayStart: boolean): Promise<AsyncIterable<Buffer>> {
    const after = options.query['after']
    const response = await this.#send(
      {
        method: 'GET',
        path: path + queryString(options.query),
        idleMs: STREAM_IDLE_MS,
        signal: options.signal,
        headers: { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': String(after) }) },
      },
      mayStart,
    )
    if (response.status !== 200) throw await readError(response)
    return response.body
  }

  async #send(request: Omit<WireRequest, 'socketPath'>, mayStart: boolean): Promise<WireResponse> {
    try {
      return await this.#exchange(request)
    } catch (error) {
      // EAGAIN: the queue of the socket is full, which is the same as no answer.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') throw (await this.#findHangError()) ?? error
      if (!mayStart || !this.#start || !isNotListening(error)) throw error
      await this.#start()
      return await this.#exchange(request)
    }
  }

  async #exchange(request: Omit<WireRequest, 'socketPath'>): Promise<WireResponse> {
    const marker = process.env['REEVE_PROC']
    const headers = { ...request.headers, ...(marker ? { 'x-reeve-process': marker } : {}) }
    const response = await sendRequest({ ...request, headers, socketPath: this.#socketPath(), whileSilent: () => this.#findHangError() })
    if (isOtherBuild(response.headers.get(BUILD_HEADER))) {
      this.#onOtherBuild?.()
      this.#onOtherBuild = undefined
    }
    this.#reportNewPid(response.headers.get(CURRENT_PID_HEADER))
    return response
  }

  #reportNewPid(value: string | undefined): void {
    const current = parseCurrentPid(value)
    if (!current || this.#reportedPids.has(current.requestedPid)) return
    this.#reportedPids.add(current.requestedPid)
    this.#onPresentPid?.(current.requestedPid, current.pid)
  }

  async #findHangError(): Promise<ApiError | null> {
    const hang = await findHang(this.#socketPath(), this.#holder)
    return hang && new ApiError('HANGS', hang.message, { hint: hang.hint, details: { pid: hang.pid } })
  }

  #asApiError(error: unknown): unknown {
    if (error instanceof ApiError || !isLinkError(error)) return error
    return new ApiError('UNAVAILABLE', `the daemon at ${this.#socketPath()} cannot be reached: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function queryString(query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === false ? [] : [`${key}=${encodeURIComponent(value === true ? '1' : value)}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

async function readBody(response: WireResponse): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new BrokenLink(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Yields the messages of a stream. The overloads of `events` have the exact types. */
async function* messagesOf(path: string, body: AsyncIterable<Buffer>): AsyncGenerator<ReeveEvent | ErrorBody, void> {
  if (path === ROWS_PATH) for await (const message of readRowEvents(body)) yield message as ReeveEvent | ErrorBody
  else for await (const data of readEventData(body)) yield JSON.parse(data) as ReeveEvent | ErrorBody
}

/** Whether a message of a stream is the error that ends it. Events have a type, errors have none. */
function isError(event: ReeveEvent | ErrorBody): event is ErrorBody {
  return 'error' in event && !('type' in event)
}

function toApiError({ error: { code, message, hint, details } }: ErrorBody): ApiError {
  return new ApiError(code, message, { hint, ...(details ? { details } : {}) })
}

async function readError(response: WireResponse): Promise<ApiError> {
  const text = await readBody(response)
  try {
    return toApiError(JSON.parse(text) as ErrorBody)
  } catch {
    return new ApiError('INTERNAL', `the daemon answered ${response.status}: ${text.slice(0, 200)}`)
  }
}

/** Whether the connection is the cause of an error. */
function isLinkError(error: unknown): boolean {
  return (
    error instanceof BrokenLink ||
    typeof (error as NodeJS.ErrnoException).syscall === 'string' ||
    (error instanceof ApiError && error.code === 'UNAVAILABLE')
  )
}

/** Waits for `ms`. Resolves to true if the signal aborted the wait. */
function sleepOrAborted(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
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
