// The wall clock, checked against the uptime of the machine, which includes sleep. A jump ahead counts only after a day, so that it cannot
// begin the next day's budget early. Must never be used to show a time. Test: test/tables/daemon/host/checked-wall-clock.test.ts.
import type { Clock } from '../loop/clock.ts'

/** The largest difference between both clocks that is believed at once: more than a correction by NTP. */
const MAX_AHEAD_MS = 3_600_000
/** A wall clock that has been ahead for this time is believed. */
const BELIEVED_AFTER_MS = 86_400_000

export class CheckedWallClock {
  readonly #clock: Clock
  #anchor: { readonly wall: number; readonly uptime: number }
  /** since when the wall clock has been ahead, in ms of uptime; null if it is not */
  #aheadSince: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
    this.#anchor = { wall: clock.now().wall, uptime: clock.uptimeMs() }
  }

  /**
   * Returns the checked time in wall ms. `isWrong` returns true for a time that must be wrong, because a later time was recorded. A jump
   * of the wall clock away from a wrong time is believed at once.
   */
  now(isWrong: (wall: number) => boolean): number {
    const uptime = this.#clock.uptimeMs()
    const { wall } = this.#clock.now()
    const expected = this.#anchor.wall + uptime - this.#anchor.uptime
    const isAhead = wall - expected > MAX_AHEAD_MS
    if (isAhead) this.#aheadSince ??= uptime
    else this.#aheadSince = null
    const isBelieved = this.#aheadSince === null || uptime - this.#aheadSince >= BELIEVED_AFTER_MS || isWrong(expected)
    // A clock that was set back changes nothing: the checked time goes on, and a later correction is not a jump.
    if (!isBelieved || wall < expected - MAX_AHEAD_MS) return expected
    this.#anchor = { wall, uptime }
    this.#aheadSince = null
    return wall
  }
}
