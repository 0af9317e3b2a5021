// Shares a provider's rate limits fairly between processes. There is one limiter per provider and key; processes take turns,
// and the calls of one process keep their order. The user sets the limits. If the provider refuses a call and states a reset
// time, all calls wait until then. Must never send a request itself.
// Test: test/tables/drivers/gateway/rate-limiter.test.ts.
import { parseWaitMs } from '../common/rate-limit-reset.ts'

/** The user's limits for one provider; an absent limit does not apply. */
export interface RateLimit {
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  /** the maximum number of calls at the same time */
  readonly concurrent?: number | undefined
}

/** The daemon's clock. */
export interface GatewayClock {
  /** The time in ms: monotonic, and wall-clock time for dates in headers. */
  now(): { readonly mono: number; readonly wall: number }
  /** Calls `callback` after `ms`. Returns the function that cancels the call. */
  after(ms: number, callback: () => void): () => void
}

/** The admission of a call. */
export interface Ticket {
  /** Withdraws a call that did not begin, so that it does not count. */
  cancel(): void
  /** Ends the call. `tokens` is its usage; null if unknown. */
  finish(tokens: number | null): void
}

const MINUTE_MS = 60_000
/**
 * The longest time for which a provider's refusal stops all calls, in ms. After it, a call is tried again: the refusal may concern another
 * model, or its reset time may be wrong.
 */
const MAX_CLOSED_MS = 15 * MINUTE_MS

/** A call that waits for its turn. */
interface WaitingCall {
  readonly tokens: number
  readonly admit: (ticket: Ticket) => void
}

/** A call that counts for the limits per minute. */
interface CountedCall {
  /** the monotonic time at which the call began, in ms */
  readonly at: number
  /** the estimated tokens; after the end of the call, the used ones */
  tokens: number
}

/** Limits the calls to one provider with one key. */
export class RateLimiter {
  readonly #clock: GatewayClock
  readonly #limit: () => RateLimit
  /** the waiting calls of each process; the first process is next; no queue is empty */
  readonly #queues = new Map<string, WaitingCall[]>()
  /** the calls that began within the last minute, oldest first */
  #countedCalls: CountedCall[] = []
  #runningCount = 0
  #closedUntilMono = 0
  #cancelTimer: (() => void) | null = null

  constructor(clock: GatewayClock, limit: () => RateLimit) {
    this.#clock = clock
    this.#limit = limit
  }

  /** the time in ms until the provider accepts calls again, as its headers stated; 0 if it accepts calls now */
  get closedMs(): number {
    return Math.max(0, this.#closedUntilMono - this.#clock.now().mono)
  }

  /** Waits for the turn of a call with these estimated tokens. Rejects with the signal's reason if the signal aborts first. */
  waitForTurn(process: string, tokens: number, signal: AbortSignal): Promise<Ticket> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const waiting: WaitingCall = {
        tokens,
        admit: (ticket) => {
          signal.removeEventListener('abort', onAbort)
          resolve(ticket)
        },
      }
      const onAbort = (): void => {
        this.#removeWaiting(process, waiting)
        reject(signal.reason as Error)
        this.#admitReady()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      const queue = this.#queues.get(process)
      if (queue) queue.push(waiting)
      else this.#queues.set(process, [waiting])
      this.#admitReady()
    })
  }

  /** Learns from a provider's response until when all calls must wait. */
  learnFrom(status: number, headers: Readonly<Record<string, string | readonly string[] | undefined>>): void {
    const { mono, wall } = this.#clock.now()
    const ms = requestedWaitMs(status, headers, wall)
    if (ms === null) return
    this.#closedUntilMono = Math.max(this.#closedUntilMono, mono + Math.min(ms, MAX_CLOSED_MS))
    this.#admitReady()
  }

  /** Cancels the timer. Called when the daemon shuts down. */
  close(): void {
    this.#cancelTimer?.()
  }

  #removeWaiting(process: string, waiting: WaitingCall): void {
    const remaining = (this.#queues.get(process) ?? []).filter((other) => other !== waiting)
    if (remaining.length > 0) this.#queues.set(process, remaining)
    else this.#queues.delete(process)
  }

  /** Admits all calls that may begin now, and starts a timer for the next one. */
  #admitReady(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    for (;;) {
      const [first] = this.#queues
      if (!first) return
      const [process, queue] = first
      const [next] = queue
      if (!next) return
      const ms = this.#msUntilRoom(next.tokens)
      if (ms > 0) {
        if (ms < Infinity) this.#cancelTimer = this.#clock.after(ms, () => this.#admitReady())
        return
      }
      this.#admitNext(process, queue, next)
    }
  }

  /** Admits the first call of a process, and moves the process to the end of the line. */
  #admitNext(process: string, queue: WaitingCall[], next: WaitingCall): void {
    queue.shift()
    this.#queues.delete(process)
    if (queue.length > 0) this.#queues.set(process, queue)
    next.admit(this.#openTicket(next.tokens))
  }

  #openTicket(tokens: number): Ticket {
    const counted: CountedCall = { at: this.#clock.now().mono, tokens }
    const { requestsPerMinute, tokensPerMinute } = this.#limit()
    if (requestsPerMinute !== undefined || tokensPerMinute !== undefined) this.#countedCalls.push(counted)
    this.#runningCount += 1
    let isOpen = true
    const close = (): void => {
      if (isOpen) this.#runningCount -= 1
      isOpen = false
      this.#admitReady()
    }
    return {
      cancel: () => {
        this.#countedCalls = this.#countedCalls.filter((other) => other !== counted)
        close()
      },
      finish: (used) => {
        if (used !== null) counted.tokens = used
        close()
      },
    }
  }

  /** The time in ms until a call with these tokens may begin. 0: now. Infinity: a running call must end first. */
  #msUntilRoom(tokens: number): number {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity, concurrent = Infinity } = this.#limit()
    const now = this.#clock.now().mono
    if (this.#closedUntilMono > now) return this.#closedUntilMono - now
    if (this.#runningCount >= concurrent) return Infinity
    while (this.#countedCalls[0] && this.#countedCalls[0].at <= now - MINUTE_MS) this.#countedCalls.shift()
    let count = this.#countedCalls.length
    let tokenSum = this.#countedCalls.reduce((total, call) => total + call.tokens, 0)
    // A call that is larger than the limit itself may begin when no other call counts.
    for (const { at, tokens: oldTokens } of this.#countedCalls) {
      if (count < requestsPerMinute && (count === 0 || tokenSum + tokens <= tokensPerMinute)) break
      count -= 1
      tokenSum -= oldTokens
      if (count < requestsPerMinute && (count === 0 || tokenSum + tokens <= tokensPerMinute)) return at + MINUTE_MS - now
    }
    return 0
  }
}

/** The wait in ms that a provider's response requests; null if it requests none. `wall` is the wall-clock time in ms. */
export function requestedWaitMs(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  wall: number,
): number | null {
  if (status !== 429 && status !== 529 && status !== 503) return null
  const header = (name: string): string | null => {
    const value = headers[name]
    return typeof value === 'string' && value !== '' ? value : null
  }
  const retryAfterMs = Number(header('retry-after-ms') ?? Number.NaN)
  if (retryAfterMs >= 0) return retryAfterMs
  const retryAfter = header('retry-after')
  if (retryAfter !== null) return parseWaitMs(retryAfter, wall)
  if (status !== 429) return null
  // Each limit has two headers: the remaining amount and the reset time. Only exhausted limits count.
  const exhausted = Object.keys(headers).filter(
    (name) => name.includes('ratelimit') && name.includes('reset') && header(name.replace('reset', 'remaining')) === '0',
  )
  const times = exhausted.flatMap((name) => parseWaitMs(header(name) ?? '', wall) ?? [])
  return times.length === 0 ? null : Math.max(...times)
}
