// Does something soon after it was asked for, and never more often than once in a while: for redraws and questions.
// The last request is never lost. Test: test/tables/cli-live.test.ts.

export class Throttle implements Disposable {
  readonly #act: () => void
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined
  #lastAt = -Infinity
  #isOver = false

  constructor(everyMs: number, act: () => void) {
    this.#everyMs = everyMs
    this.#act = act
  }

  ask(): void {
    if (this.#timer || this.#isOver) return
    const left = this.#lastAt + this.#everyMs - performance.now()
    this.#timer = setTimeout(this.#now, Math.max(0, left))
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #now = (): void => {
    this.#timer = undefined
    this.#lastAt = performance.now()
    this.#act()
  }
}
