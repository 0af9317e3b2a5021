// Keeps one deadline per key behind a single timer, which is set for the nearest deadline. Rings a key when its deadline has passed. The
// caller decides what a passed deadline means, and sets the next one. Test: test/tables/daemon/loop/alarm.test.ts.
import type { Now } from '../../kernel/model/ids.ts'
import type { Clock } from './clock.ts'

/** The longest time between two checks of wall-clock deadlines, in ms: that clock can jump, and runs on while the machine sleeps. */
export const WALL_CHECK_MS = 60_000

export class Alarm {
  readonly #clock: Clock
  readonly #clockName: keyof Now
  readonly #ring: (key: string) => void
  readonly #deadlines = new Map<string, number>()
  /** the set timer; `at` in monotonic ms */
  #armed: { readonly at: number; readonly cancel: () => void } | null = null

  /** `clockName` names the clock of the deadlines. `ring` is called with the key of a passed deadline; it may set and clear deadlines. */
  constructor(clock: Clock, clockName: keyof Now, ring: (key: string) => void) {
    this.#clock = clock
    this.#clockName = clockName
    this.#ring = ring
  }

  /**
   * Replaces the deadline of a key, in ms of the alarm's clock; null clears it. A deadline that has already passed rings in a later turn
   * of the event loop.
   */
  set(key: string, at: number | null): void {
    if (at === null) this.#deadlines.delete(key)
    else {
      this.#deadlines.set(key, at)
      this.#armBy(at)
    }
  }

  /** Clears all deadlines. */
  stop(): void {
    this.#deadlines.clear()
    this.#armed?.cancel()
    this.#armed = null
  }

  /** Sets the timer for this deadline, unless it fires earlier anyway. */
  #armBy(deadline: number): void {
    const { mono, wall } = this.#clock.now()
    const at = this.#clockName === 'mono' ? deadline : mono + Math.min(WALL_CHECK_MS, deadline - wall)
    if (this.#armed && this.#armed.at <= at) return
    this.#armed?.cancel()
    this.#armed = { at, cancel: this.#clock.after(Math.max(0, at - mono), () => this.#fire()) }
  }

  #fire(): void {
    this.#armed = null
    const now = this.#clock.now()[this.#clockName]
    const passed: string[] = []
    let nearest = Infinity
    for (const [key, at] of this.#deadlines) {
      if (at <= now) passed.push(key)
      else nearest = Math.min(nearest, at)
    }
    // The timer is set before any key rings, because a ring may stop the alarm.
    if (nearest < Infinity) this.#armBy(nearest)
    for (const key of passed) {
      // The ring of an earlier key may have moved or cleared this deadline.
      if ((this.#deadlines.get(key) ?? Infinity) > now) continue
      this.#deadlines.delete(key)
      this.#ring(key)
    }
  }
}
