// A gate that is closed while the process is paused. Callers wait at it before they begin work, such as the next prompt.
// Test: test/processes/acp/pause.test.ts.

export class PauseGate {
  #opened = Promise.withResolvers<void>()
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
  }

  open(): void {
    this.#isClosed = false
    this.#opened.resolve()
    this.#opened = Promise.withResolvers()
  }

  async waitUntilOpen(): Promise<void> {
    // The gate may have closed again before a caller that waited runs.
    while (this.#isClosed) await this.#opened.promise
  }
}
