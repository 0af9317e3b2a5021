// What waits to be sent over one channel: a bounded queue, in order; what fails is tried again later, and what is lost is said.
// A notice of the same kind about the same process within half a minute is not sent at once: the last of them follows.
// Owns no thread of the daemon: sending is asynchronous, and nobody waits for it. Not kept over a restart.
// Test: test/tables/outbox.test.ts.
import type { Clock } from '../clock.ts'
import type { Notice } from './notices.ts'

/** notices that may wait; the oldest goes first */
const MAX_WAITING = 100
/** processes and kinds whose last notice is remembered */
const MAX_RECENT = 10_000
const DEBOUNCE_MS = 30_000
const RETRY = { baseMs: 1_000, capMs: 60_000, attempts: 12 } as const
/** What is in flight when the daemon ends has so long. */
const LAST_MS = 2_000

/** How it went: `refused` is not tried again, `later` is. */
export type Sent = { readonly ok: true } | { readonly ok: false; readonly why: string; readonly retry: boolean; readonly afterMs?: number }

export interface OutboxParts {
  /** what it is called in the log */
  readonly name: string
  readonly clock: Clock
  readonly send: (notice: Notice, repeated: number) => Promise<Sent>
  /** whether a notice that was put off is still worth sending */
  readonly isCurrent: (notice: Notice) => boolean
  readonly log: (message: string, error: unknown) => void
}

interface Recent {
  readonly until: number
  /** the last of those that came meanwhile */
  late: { readonly notice: Notice; readonly count: number } | null
}

export class Outbox {
  readonly #parts: OutboxParts
  readonly #queue: { readonly notice: Notice; readonly repeated: number }[] = []
  readonly #recent = new Map<string, Recent>()
  readonly #cancels = new Set<() => void>()
  #running: Promise<void> | null = null
  #stopping = false
  #unsent = 0
  #wake: (() => void) | null = null
  /** how the last try went, for `doctor` */
  state: { readonly at: number; readonly sent: Sent } | null = null
  lost = 0

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  get waiting(): number {
    return this.#queue.length
  }

  push(notice: Notice): void {
    if (this.#stopping) return
    const { key } = notice
    const { mono } = this.#parts.clock.now()
    const recent = this.#recent.get(key)
    if (recent && mono < recent.until) {
      recent.late = { notice, count: (recent.late?.count ?? 0) + 1 }
      return
    }
    if (this.#recent.size >= MAX_RECENT) this.#recent.clear()
    this.#recent.set(key, { until: mono + DEBOUNCE_MS, late: null })
    this.#later(DEBOUNCE_MS, () => this.#sendLate(key))
    this.#enqueue(notice, 0)
  }

  /** Sends what waits without patience, and says how much is lost. */
  async stop(): Promise<void> {
    for (const [key] of this.#recent) this.#sendLate(key)
    this.#stopping = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
    this.#wake?.()
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, LAST_MS)
    await Promise.race([this.#running ?? Promise.resolve(), late.promise])
    clearTimeout(timer)
    const left = this.#unsent + this.#queue.length
    if (left > 0) this.#parts.log(`${this.#parts.name}: ${left} ${left === 1 ? 'notice was' : 'notices were'} not sent before the daemon ended`, null)
  }

  #sendLate(key: string): void {
    const late = this.#recent.get(key)?.late ?? null
    this.#recent.delete(key)
    if (late !== null && this.#parts.isCurrent(late.notice)) this.#enqueue(late.notice, late.count - 1)
  }

  #enqueue(notice: Notice, repeated: number): void {
    if (this.#queue.length >= MAX_WAITING) {
      this.#queue.shift()
      this.#lose('too many wait')
    }
    this.#queue.push({ notice, repeated })
    this.#running ??= this.#drain().finally(() => (this.#running = null))
  }

  async #drain(): Promise<void> {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      await this.#deliver(next.notice, next.repeated)
      // It may have been given up for a newer one meanwhile.
      if (this.#queue[0] === next) this.#queue.shift()
    }
  }

  async #deliver(notice: Notice, repeated: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const sent = await this.#try(notice, repeated)
      if (sent.ok) return
      if (!sent.retry || attempt >= RETRY.attempts) return this.#lose(sent.why)
      if (!this.#stopping) await this.#rest(Math.max(sent.afterMs ?? 0, Math.min(RETRY.capMs, RETRY.baseMs * 2 ** (attempt - 1))))
      if (this.#stopping) {
        this.#unsent += 1
        return
      }
    }
  }

  async #try(notice: Notice, repeated: number): Promise<Sent> {
    const before = this.state?.sent.ok ?? true
    const sent = await this.#parts.send(notice, repeated).catch((error: unknown): Sent => ({ ok: false, why: error instanceof Error ? error.message : String(error), retry: true }))
    this.state = { at: this.#parts.clock.now().wall, sent }
    if (before && !sent.ok) this.#parts.log(`${this.#parts.name}: a notice cannot be sent: ${sent.why}${sent.retry ? '; it is tried again' : ''}`, null)
    if (!before && sent.ok) this.#parts.log(`${this.#parts.name}: notices are sent again`, null)
    return sent
  }

  /** Said with the first and with every hundredth: a log is no place for all of them. */
  #lose(why: string): void {
    this.lost += 1
    if (this.lost % MAX_WAITING === 1) this.#parts.log(`${this.#parts.name}: a notice is lost (${why}), ${this.lost} so far`, null)
  }

  #rest(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#later(ms, resolve)
    this.#wake = () => {
      cancel()
      resolve()
    }
    return promise
  }

  #later(ms: number, fn: () => void): () => void {
    const cancel = this.#parts.clock.after(ms, () => {
      this.#cancels.delete(cancel)
      fn()
    })
    this.#cancels.add(cancel)
    return cancel
  }
}
