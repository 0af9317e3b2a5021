// Limits how many wrong tokens, codes and ids of sessions get the usual refusal: three in a second. A valid token is never counted, so that
// no other program on the machine can lock the user out. Test: test/tables/daemon/web/sessions.test.ts.
import type { Clock } from '../loop/clock.ts'

const MAX_WRONG = 3
const WINDOW_MS = 1_000

export class WrongTokens {
  readonly #clock: Pick<Clock, 'now'>
  #times: readonly number[] = []

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Counts a wrong token. True: there were too many within a second. */
  count(): boolean {
    const { mono } = this.#clock.now()
    this.#times = [...this.#times.filter((at) => mono - at < WINDOW_MS), mono].slice(-MAX_WRONG - 1)
    return this.#times.length > MAX_WRONG
  }
}
