// Whether the process is paused, for those who have to wait until it is not. Test: test/processes/acp-pause.test.ts.

export class Gate {
  #open = Promise.withResolvers<void>()
  #isHeld = false

  get isHeld(): boolean {
    return this.#isHeld
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#open.resolve()
    this.#open = Promise.withResolvers()
  }

  async clear(): Promise<void> {
    while (this.#isHeld) await this.#open.promise
  }
}
