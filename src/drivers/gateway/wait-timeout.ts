// Limits how long a model call waits before it begins: until its client disconnects, its process ends, or a time limit expires.
// The time limit is shorter than the time after which clients drop the connection. So the client gets an error, and repeats the call.
// Test: test/processes/gateway/waiting-calls.test.ts.
import type { ServerResponse } from 'node:http'
import type { GatewayClock } from './rate-limiter.ts'

/** The time limit in ms. Clients drop a connection after 300 s without an event of the stream; comments in the stream do not count. */
export const MAX_WAIT_MS = 240_000

/** Aborts `signal` when the wait must end. */
export class WaitTimeout implements Disposable {
  readonly #controller = new AbortController()
  readonly #clock: GatewayClock
  readonly #response: ServerResponse
  readonly #processSignal: AbortSignal
  readonly #deadlineMono: number
  readonly #cancelTimer: () => void
  readonly #abort = (): void => this.#controller.abort()
  /** true if the time limit ended the wait */
  hasExpired = false

  constructor(clock: GatewayClock, response: ServerResponse, processSignal: AbortSignal) {
    this.#clock = clock
    this.#response = response
    this.#processSignal = processSignal
    this.#deadlineMono = clock.now().mono + MAX_WAIT_MS
    this.#cancelTimer = clock.after(MAX_WAIT_MS, () => {
      this.hasExpired = true
      this.#controller.abort()
    })
    response.once('close', this.#abort)
    processSignal.addEventListener('abort', this.#abort, { once: true })
    if (processSignal.aborted || response.destroyed) this.#controller.abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** the time until the limit expires, in ms */
  get leftMs(): number {
    return this.#deadlineMono - this.#clock.now().mono
  }

  [Symbol.dispose](): void {
    this.#cancelTimer()
    this.#response.off('close', this.#abort)
    this.#processSignal.removeEventListener('abort', this.#abort)
  }
}
