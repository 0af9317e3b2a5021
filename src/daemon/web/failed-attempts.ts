// Limits how many wrong tokens, codes or ids of sessions get the usual refusal: three in a second. A valid one is never counted, so that no
// other program on the machine can lock the user out. Test: test/tables/daemon/web/sessions.test.ts.
import type { Clock } from '../loop/clock.ts'

const MAX_FAILED = 3
const WINDOW_MS = 1_000

export class FailedAttempts {
  readonly #clock: Pick<Clock, 'now'>
  #times: readonly number[] = []

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Counts a failed attempt. True: there were too many within a second. */
  count(): boolean {
    const { mono } = this.#clock.now()
    this.#times = [...this.#times.filter((at) => mono - at < WINDOW_MS), mono].slice(-MAX_FAILED - 1)
    return this.#times.length > MAX_FAILED
  }
}
