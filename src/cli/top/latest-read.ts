// Reads something again whenever it may have changed: one read at a time, and one more after it if a change came meanwhile. So an older
// answer never replaces a newer one. Test: test/tables/cli/top/latest-read.test.ts.
import { Throttle } from '../screen/throttle.ts'

export class LatestRead implements Disposable {
  readonly #read: () => Promise<void>
  readonly #throttle: Throttle
  #isReading = false
  #isWanted = false

  /** `read`: never rejects; `intervalMs`: the shortest time between the starts of two reads */
  constructor(intervalMs: number, read: () => Promise<void>) {
    this.#read = read
    this.#throttle = new Throttle(intervalMs, () => this.#start())
  }

  /** Reads soon. */
  request(): void {
    this.#isWanted = true
    if (!this.#isReading) this.#throttle.request()
  }

  [Symbol.dispose](): void {
    this.#throttle[Symbol.dispose]()
  }

  #start(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#isWanted = false
    // oxlint-disable-next-line typescript/no-floating-promises -- `read` never rejects
    this.#read().finally(() => {
      this.#isReading = false
      if (this.#isWanted) this.#throttle.request()
    })
  }
}
