// Decides whether the wall clock can be trusted, before processes are removed for their age. The expected time is the last trusted time
// plus the monotonic time since. The clock is trusted unless it is far ahead of the expected time. The store keeps the last trusted time
// over restarts. After a long sleep of the machine a correct clock looks wrong; therefore only removals depend on this.
// Test: test/tables/daemon/operations/collector.test.ts.
import { isoTime } from '../views/format-times.ts'
import type { LocalStore } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Now } from '../../kernel/model/ids.ts'

const DAY_MS = 86_400_000
/** The largest trusted difference to the expected time: longer than a weekend in which the machine is off. */
const MAX_AHEAD_MS = 4 * DAY_MS
/** A clock that has been ahead for this time, while the daemon ran, is trusted after all. */
const TRUSTED_AFTER_MS = DAY_MS

export interface ClockTrustDeps {
  readonly local: Pick<LocalStore, 'trustedTime' | 'trustTime'>
  readonly clock: Clock
}

export class ClockTrust {
  readonly #deps: ClockTrustDeps
  /** the last trusted time; `wall` is null until it was read from the store */
  #lastTrusted: { readonly wall: number | null; readonly mono: number }
  /** the trusted time in the store, in wall ms */
  #storedWall: number | null = null
  /** since when the clock has been ahead, in monotonic ms; null if it is not */
  #aheadSince: number | null = null
  #doubt: string | null = null

  constructor(deps: ClockTrustDeps) {
    this.#deps = deps
    this.#lastTrusted = { wall: null, mono: deps.clock.now().mono }
  }

  /** The result of the last check: what is wrong with the clock, or null. */
  get doubt(): string | null {
    return this.#doubt
  }

  /** Checks the wall clock. Returns what is wrong with it as text for users, or null. */
  async check(): Promise<string | null> {
    const now = this.#deps.clock.now()
    const expected = (await this.#trustedWall(now)) + now.mono - this.#lastTrusted.mono
    const aheadMs = now.wall - expected
    if (aheadMs <= MAX_AHEAD_MS || (this.#aheadSince !== null && now.mono - this.#aheadSince >= TRUSTED_AFTER_MS)) {
      await this.#accept(now, aheadMs < 0)
    } else {
      this.#aheadSince ??= now.mono
      this.#doubt = `the clock shows ${isoTime(now.wall)}, ${Math.round(aheadMs / DAY_MS)} days ahead of the expected time: nothing is collected until it has been ahead for a day`
    }
    return this.#doubt
  }

  /** Accepts the clock as it is, at the user's request. */
  async trust(): Promise<void> {
    await this.#accept(this.#deps.clock.now(), false)
  }

  /** The wall time of `#lastTrusted`. The first call reads it from the store; without a stored time the clock is trusted. */
  async #trustedWall(now: Now): Promise<number> {
    if (this.#lastTrusted.wall !== null) return this.#lastTrusted.wall
    this.#storedWall = await this.#deps.local.trustedTime()
    const wall = this.#storedWall ?? now.wall - (now.mono - this.#lastTrusted.mono)
    this.#lastTrusted = { ...this.#lastTrusted, wall }
    return wall
  }

  /** Accepts the clock as trusted. A clock that was set back does not change the trusted time. */
  async #accept({ wall, mono }: Now, isBehind: boolean): Promise<void> {
    this.#aheadSince = null
    this.#doubt = null
    if (isBehind) return
    this.#lastTrusted = { wall, mono }
    if (this.#storedWall !== null && Math.abs(wall - this.#storedWall) < DAY_MS) return
    await this.#deps.local.trustTime(wall)
    this.#storedWall = wall
  }
}
