// One signal for the two ends of a call: the request is aborted, or nothing came in for a while.
// Must be ended with the call, else its timer stays. Test: test/e2e/native-models.test.ts.

export class IdleWatch {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #timer: NodeJS.Timeout
  expired = false

  constructor(outer: AbortSignal, idleMs: number) {
    this.#outer = outer
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#controller.abort()
    }, idleMs)
    outer.addEventListener('abort', this.#abort)
    if (outer.aborted) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  touch(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#controller.abort()
}
