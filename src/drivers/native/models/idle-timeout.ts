// Aborts a model call when its request is aborted, or when no data has arrived for `idleMs`. Must be disposed when the call
// ends, because its timer would keep running.
// Test: test/processes/native/model-calls.test.ts.

export class IdleTimeout {
  readonly #controller = new AbortController()
  readonly #requestSignal: AbortSignal
  readonly #timer: NodeJS.Timeout
  isExpired = false

  constructor(requestSignal: AbortSignal, idleMs: number) {
    this.#requestSignal = requestSignal
    this.#timer = setTimeout(() => {
      this.isExpired = true
      this.#controller.abort()
    }, idleMs)
    requestSignal.addEventListener('abort', this.#abort)
    if (requestSignal.aborted) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the time limit. Called for each part of the answer. */
  restart(): void {
    this.#timer.refresh()
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#requestSignal.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#controller.abort()
}

/** Formats a duration as `5 min`, `1.5 s` or `100 ms`. */
export function durationText(ms: number): string {
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`
}
