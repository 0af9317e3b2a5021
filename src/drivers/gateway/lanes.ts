// A provider's rate limits, shared fairly: one lane per provider and key, in which the processes take turns, and the calls of one
// process keep their order. Limits are the user's; what a provider says when it refuses holds all of its lane up.
// Owns no request. Test: test/tables/gateway-lanes.test.ts.

/** What may begin; an absent limit does not exist. */
export interface RateLimit {
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  /** calls at the same time */
  readonly concurrent?: number | undefined
}

/** Time, as the daemon has it: monotonic ms, and wall ms for what providers say. */
export interface LaneClock {
  now(): { readonly mono: number; readonly wall: number }
  after(ms: number, fn: () => void): () => void
}

/** A place in a lane. */
export interface Ticket {
  /** the call did not begin after all */
  cancel(): void
  /** it has ended; with what it took of tokens, where that is known */
  leave(tokens: number | null): void
}

const MINUTE_MS = 60_000
/** A limit may be of one model alone, or a header wrong: after so long a call asks again, whatever was said. */
const MOST_CLOSED_MS = 15 * MINUTE_MS

interface Waiting {
  readonly tokens: number
  readonly admit: (ticket: Ticket) => void
}

interface Begun {
  readonly at: number
  tokens: number
}

export class Lane {
  readonly #clock: LaneClock
  readonly #limit: () => RateLimit
  /** by process, in the order of their turns; none of them empty */
  readonly #queues = new Map<string, Waiting[]>()
  /** of the last minute */
  #begun: Begun[] = []
  #running = 0
  #until = 0
  #disarm: (() => void) | null = null

  constructor(clock: LaneClock, limit: () => RateLimit) {
    this.#clock = clock
    this.#limit = limit
  }

  /** How long nothing begins here, by the provider's own word. */
  get closedMs(): number {
    return Math.max(0, this.#until - this.#clock.now().mono)
  }

  /** Resolves when it is this call's turn. Rejects with the signal's reason when that aborts before. */
  enter(who: string, tokens: number, signal: AbortSignal): Promise<Ticket> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return void reject(signal.reason as Error)
      const waiting: Waiting = {
        tokens,
        admit: (ticket) => {
          signal.removeEventListener('abort', leave)
          resolve(ticket)
        },
      }
      const leave = (): void => {
        this.#withdraw(who, waiting)
        reject(signal.reason as Error)
        this.#admit()
      }
      signal.addEventListener('abort', leave, { once: true })
      const queue = this.#queues.get(who)
      if (queue) queue.push(waiting)
      else this.#queues.set(who, [waiting])
      this.#admit()
    })
  }

  /** A provider that refuses says when it will not. */
  learn(status: number, headers: Readonly<Record<string, string | readonly string[] | undefined>>): void {
    const { mono, wall } = this.#clock.now()
    const ms = waitMs(status, headers, wall)
    if (ms === null) return
    this.#until = Math.max(this.#until, mono + Math.min(ms, MOST_CLOSED_MS))
    this.#admit()
  }

  /** Nobody waits any more: for the end. */
  close(): void {
    this.#disarm?.()
  }

  #withdraw(who: string, waiting: Waiting): void {
    const left = (this.#queues.get(who) ?? []).filter((one) => one !== waiting)
    if (left.length > 0) this.#queues.set(who, left)
    else this.#queues.delete(who)
  }

  /** Lets in who may begin now, and comes back when the next one may. */
  #admit(): void {
    this.#disarm?.()
    this.#disarm = null
    for (;;) {
      const [turn] = this.#queues
      const next = turn?.[1][0]
      if (!turn || !next) return
      const ms = this.#untilRoom(next.tokens)
      if (ms > 0) {
        if (ms < Infinity) this.#disarm = this.#clock.after(ms, () => this.#admit())
        return
      }
      this.#take(turn[0], turn[1], next)
    }
  }

  /** Who had a turn goes to the end of the round. */
  #take(who: string, queue: Waiting[], next: Waiting): void {
    queue.shift()
    this.#queues.delete(who)
    if (queue.length > 0) this.#queues.set(who, queue)
    next.admit(this.#ticket(next.tokens))
  }

  #ticket(tokens: number): Ticket {
    const begun: Begun = { at: this.#clock.now().mono, tokens }
    const { requestsPerMinute, tokensPerMinute } = this.#limit()
    if (requestsPerMinute !== undefined || tokensPerMinute !== undefined) this.#begun.push(begun)
    this.#running += 1
    let isOpen = true
    const close = (): void => {
      if (isOpen) this.#running -= 1
      isOpen = false
      this.#admit()
    }
    return {
      cancel: () => {
        this.#begun = this.#begun.filter((one) => one !== begun)
        close()
      },
      leave: (used) => {
        if (used !== null) begun.tokens = used
        close()
      },
    }
  }

  /** 0: now; Infinity: when one of those that run ends. */
  #untilRoom(tokens: number): number {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity, concurrent = Infinity } = this.#limit()
    const now = this.#clock.now().mono
    if (this.#until > now) return this.#until - now
    if (this.#running >= concurrent) return Infinity
    while (this.#begun[0] && this.#begun[0].at <= now - MINUTE_MS) this.#begun.shift()
    let count = this.#begun.length
    let sum = this.#begun.reduce((all, one) => all + one.tokens, 0)
    // A call that is larger than the limit itself begins when it is alone.
    for (const { at, tokens: old } of this.#begun) {
      if (count < requestsPerMinute && (count === 0 || sum + tokens <= tokensPerMinute)) break
      count -= 1
      sum -= old
      if (count < requestsPerMinute && (count === 0 || sum + tokens <= tokensPerMinute)) return at + MINUTE_MS - now
    }
    return 0
  }
}

/** For how long a provider wants to hear nothing; null: it does not say. */
export function waitMs(status: number, headers: Readonly<Record<string, string | readonly string[] | undefined>>, wall: number): number | null {
  if (status !== 429 && status !== 529 && status !== 503) return null
  const said = (name: string): string | null => {
    const value = headers[name]
    return typeof value === 'string' && value !== '' ? value : null
  }
  const inMs = Number(said('retry-after-ms') ?? Number.NaN)
  if (inMs >= 0) return inMs
  const after = said('retry-after')
  if (after !== null) return timeMs(after, wall)
  if (status !== 429) return null
  // Each of its limits has a pair: how much is left, and when it is whole again.
  const usedUp = Object.keys(headers).filter((name) => name.includes('ratelimit') && name.includes('reset') && said(name.replace('reset', 'remaining')) === '0')
  const times = usedUp.flatMap((name) => timeMs(said(name) ?? '', wall) ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

/** `12`, `6m0s`, `20ms`, or a date. */
function timeMs(text: string, wall: number): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)]
  if (parts.length > 0 && parts.map(([whole]) => whole).join('') === text) {
    return parts.reduce((sum, [, value, unit]) => sum + Number(value) * ({ h: 3_600_000, m: MINUTE_MS, s: 1_000, ms: 1 }[unit ?? 's'] ?? 0), 0)
  }
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - wall)
}
