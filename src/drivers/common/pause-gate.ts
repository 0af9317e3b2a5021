// A gate that callers await while the process is paused. Test: test/processes/acp/pause.test.ts.

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
    while (this.#isClosed) await this.#opened.promise
  }
}
