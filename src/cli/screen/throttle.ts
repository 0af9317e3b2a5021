// Runs an action, such as a redraw or a poll, at most once per interval. An action always follows the last request. Test:
// test/tables/cli/top/latest-read.test.ts.

export class Throttle implements Disposable {
  readonly #action: () => void
  /** the shortest time between two runs */
  intervalMs: number
  #timer: NodeJS.Timeout | undefined
  #lastAt = -Infinity
  #isDisposed = false

  constructor(intervalMs: number, action: () => void) {
    this.intervalMs = intervalMs
    this.#action = action
  }

  /** Runs the action soon; does nothing if a run is already scheduled. */
  request(): void {
    if (this.#timer || this.#isDisposed) return
    const waitMs = this.#lastAt + this.intervalMs - performance.now()
    this.#timer = setTimeout(this.#run, Math.max(0, waitMs))
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    clearTimeout(this.#timer)
  }

  #run = (): void => {
    this.#timer = undefined
    this.#lastAt = performance.now()
    this.#action()
  }
}
