// How long a request is kept waiting: until its client goes, its process is ended, or so long that clients would drop it.
// Test: test/processes/gateway-hold.test.ts.
import type { ServerResponse } from 'node:http'
import type { LaneClock } from './lanes.ts'

/** Clients drop a connection on which nothing comes after 300 s; so does one that gets comments in place of events. */
export const HOLD_MS = 240_000

export class Patience implements Disposable {
  readonly #end = new AbortController()
  readonly #clock: LaneClock
  readonly #response: ServerResponse
  readonly #process: AbortSignal
  readonly #until: number
  readonly #disarm: () => void
  readonly #gone = (): void => this.#end.abort()
  isLate = false

  constructor(clock: LaneClock, response: ServerResponse, process: AbortSignal) {
    this.#clock = clock
    this.#response = response
    this.#process = process
    this.#until = clock.now().mono + HOLD_MS
    this.#disarm = clock.after(HOLD_MS, () => {
      this.isLate = true
      this.#end.abort()
    })
    response.once('close', this.#gone)
    process.addEventListener('abort', this.#gone, { once: true })
    if (process.aborted || response.destroyed) this.#end.abort()
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  get leftMs(): number {
    return this.#until - this.#clock.now().mono
  }

  [Symbol.dispose](): void {
    this.#disarm()
    this.#response.off('close', this.#gone)
    this.#process.removeEventListener('abort', this.#gone)
  }
}
