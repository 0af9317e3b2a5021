// The outbox of one channel: a bounded queue of notices, which are sent in order. A failed delivery is retried, and a lost notice is
// logged. Repetitions of a notice within half a minute are delayed, and only the last one is sent. Sending never blocks the caller.
// `oldestCursor` is the cursor of the first notice that is not sent yet. The next start makes all notices from there on again
// (notifier.ts). Test: test/tables/daemon/notify/outbox.test.ts.
import type { Clock } from '../loop/clock.ts'
import type { Notice } from './notices.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** The largest number of notices in the queue. If it is full, the oldest notice is dropped. */
const MAX_WAITING = 100
/** The largest number of keys whose last notice is remembered. */
const MAX_RECENT = 10_000
/** A notice with the same key within this time is a repetition. */
const DEBOUNCE_MS = 30_000
const RETRY = { baseMs: 1_000, capMs: 60_000, attempts: 12 } as const
/** The longest time that the end of the daemon waits for deliveries. */
const STOP_TIMEOUT_MS = 2_000

/** The result of a delivery. `retry`: it should be tried again, after at least `afterMs`. */
export type DeliveryResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: string; readonly retry: boolean; readonly afterMs?: number }

export interface NotificationOutboxDeps {
  /** the channel's name in the log */
  readonly name: string
  readonly clock: Clock
  /** sends a notice; `repeated` is the number of equal notices before it that were not sent */
  readonly send: (notice: Notice, repeated: number) => Promise<DeliveryResult>
  /** true if the reason for a delayed notice still exists */
  readonly isCurrent: (notice: Notice) => boolean
  /** called when a notice was sent or lost */
  readonly onSettled?: () => void
  readonly log: (message: string, error: unknown) => void
}

/** A key whose notice was sent a short time ago. */
interface Recent {
  /** the end of the time in which notices count as repetitions, in monotonic ms */
  readonly until: number
  /** the last repetition, and the number of repetitions; null if there was none */
  delayed: { readonly notice: Notice; readonly count: number } | null
}

export class NotificationOutbox {
  readonly #deps: NotificationOutboxDeps
  readonly #queue: { readonly notice: Notice; readonly repeated: number }[] = []
  readonly #recent = new Map<string, Recent>()
  readonly #timerCancels = new Set<() => void>()
  #running: Promise<void> | null = null
  #isStopping = false
  /** notices that are neither sent nor lost */
  readonly #pendingNotices = new Set<Notice>()
  /** ends the pause before a retry */
  #wake: (() => void) | null = null
  /** the time (wall ms) and the result of the last attempt to send, for `doctor` */
  lastAttempt: { readonly at: number; readonly result: DeliveryResult } | null = null
  lostCount = 0

  constructor(deps: NotificationOutboxDeps) {
    this.#deps = deps
  }

  get waitingCount(): number {
    return this.#queue.length
  }

  /** The cursor of the first fact that is not reported yet, or null. */
  get oldestCursor(): number | null {
    let oldest: number | null = null
    for (const { cursor } of this.#pendingNotices) oldest = Math.min(oldest ?? cursor, cursor)
    return oldest
  }

  /** Adds a notice. A repetition is delayed. */
  push(notice: Notice): void {
    this.#pendingNotices.add(notice)
    // It stays pending, so that the next daemon sends it.
    if (this.#isStopping) return
    const { key } = notice
    const { mono } = this.#deps.clock.now()
    const recent = this.#recent.get(key)
    if (recent && mono < recent.until) {
      if (recent.delayed) this.#markSettled(recent.delayed.notice)
      recent.delayed = { notice, count: (recent.delayed?.count ?? 0) + 1 }
      return
    }
    if (this.#recent.size >= MAX_RECENT) this.#recent.clear()
    this.#recent.set(key, { until: mono + DEBOUNCE_MS, delayed: null })
    this.#schedule(DEBOUNCE_MS, () => this.#sendDelayed(key))
    this.#enqueue(notice, 0)
  }

  /** Sends the waiting notices once, without retries, and logs how many were not sent. */
  async stop(): Promise<void> {
    for (const [key] of this.#recent) this.#sendDelayed(key)
    this.#isStopping = true
    for (const cancel of this.#timerCancels) cancel()
    this.#timerCancels.clear()
    this.#wake?.()
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, STOP_TIMEOUT_MS)
    await Promise.race([this.#running ?? Promise.resolve(), timeout.promise])
    clearTimeout(timer)
    const left = this.#pendingNotices.size
    if (left > 0)
      this.#deps.log(
        `${this.#deps.name}: ${left} ${left === 1 ? 'notice was' : 'notices were'} not sent before the daemon ended; the next one sends ${left === 1 ? 'it' : 'them'}`,
        null,
      )
  }

  /** Ends the delay of repetitions of a key, and sends the last one, if its reason still exists. */
  #sendDelayed(key: string): void {
    const delayed = this.#recent.get(key)?.delayed ?? null
    this.#recent.delete(key)
    if (delayed === null) return
    if (this.#deps.isCurrent(delayed.notice)) this.#enqueue(delayed.notice, delayed.count - 1)
    else this.#markSettled(delayed.notice)
  }

  #enqueue(notice: Notice, repeated: number): void {
    if (this.#queue.length >= MAX_WAITING) {
      const first = this.#queue.shift()
      if (first) this.#giveUp(first.notice, 'too many notices wait')
    }
    this.#queue.push({ notice, repeated })
    this.#running ??= this.#sendQueue().finally(() => (this.#running = null))
  }

  async #sendQueue(): Promise<void> {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      await this.#deliver(next.notice, next.repeated)
      // A full queue may have dropped this notice meanwhile.
      if (this.#queue[0] === next) this.#queue.shift()
    }
  }

  /** Sends a notice, with retries. */
  async #deliver(notice: Notice, repeated: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#try(notice, repeated)
      if (result.ok) return void this.#markSettled(notice)
      if (!result.retry || attempt >= RETRY.attempts) return this.#giveUp(notice, result.why)
      if (!this.#isStopping) await this.#pause(Math.max(result.afterMs ?? 0, Math.min(RETRY.capMs, RETRY.baseMs * 2 ** (attempt - 1))))
      if (this.#isStopping) return
    }
  }

  /** Tries to send a notice once. Logs when sending begins to fail, and when it works again. */
  async #try(notice: Notice, repeated: number): Promise<DeliveryResult> {
    const wasOk = this.lastAttempt?.result.ok ?? true
    const result = await this.#deps
      .send(notice, repeated)
      .catch((error: unknown): DeliveryResult => ({ ok: false, why: errorText(error), retry: true }))
    this.lastAttempt = { at: this.#deps.clock.now().wall, result }
    if (wasOk && !result.ok)
      this.#deps.log(`${this.#deps.name}: a notice cannot be sent: ${result.why}${result.retry ? '; it is tried again' : ''}`, null)
    if (!wasOk && result.ok) this.#deps.log(`${this.#deps.name}: notices are sent again`, null)
    return result
  }

  /** Gives up on a notice. Logs the first loss and every hundredth one, to keep the log short. */
  #giveUp(notice: Notice, why: string): void {
    // A notice that a full queue dropped during its delivery was counted then.
    if (!this.#markSettled(notice)) return
    this.lostCount += 1
    if (this.lostCount % MAX_WAITING === 1) this.#deps.log(`${this.#deps.name}: a notice is lost (${why}), ${this.lostCount} so far`, null)
  }

  /** Marks a notice as sent or lost. Returns false if it was marked before. */
  #markSettled(notice: Notice): boolean {
    const wasPending = this.#pendingNotices.delete(notice)
    if (wasPending) this.#deps.onSettled?.()
    return wasPending
  }

  /** Waits for `ms`, or until `#wake` is called. */
  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#schedule(ms, resolve)
    this.#wake = () => {
      cancel()
      resolve()
    }
    return promise
  }

  #schedule(ms: number, fn: () => void): () => void {
    const cancel = this.#deps.clock.after(ms, () => {
      this.#timerCancels.delete(cancel)
      fn()
    })
    this.#timerCancels.add(cancel)
    return cancel
  }
}
