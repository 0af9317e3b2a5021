// Makes the daemon's PID namespaces and knows each that lives. Once one was asked for, it keeps one in store, so that a
// program need not wait until its own is made. Nothing of it is left once it is disposed.
// Tests: test/processes/contain-pidns.test.ts.
import { Namespace } from './namespace.ts'
import type { Tools } from './namespace.ts'

/** What is not up after this time never will be. */
const UP_MS = 10_000

export class Namespaces implements AsyncDisposable {
  readonly #tools: Tools
  readonly #marker: string
  readonly #upMs: number
  readonly #living = new Set<Namespace>()
  readonly #making = new Set<Promise<Namespace>>()
  #spare: Promise<Namespace | null> | null = null
  #closed = false

  /** `marker` goes into the environment of each init: by it the guardian finds those whose lifeline fails. */
  constructor(tools: Tools, marker: string, upMs = UP_MS) {
    this.#tools = tools
    this.#upMs = upMs
    this.#marker = marker
  }

  async take(): Promise<Namespace> {
    const spare = this.#spare
    this.#spare = null
    const stored = await spare
    const taken = stored === null || !stored.isOpen ? await this.#make() : stored
    // Later: first the program that this one is for is started.
    setImmediate(() => this.#store())
    return taken
  }

  /** One that was never entered; it serves the next one who asks. */
  giveBack(namespace: Namespace): void {
    if (this.#spare !== null || this.#closed) namespace.kill()
    else this.#spare = Promise.resolve(namespace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#making)
    await Promise.all([...this.#living].map((namespace) => namespace.close()))
  }

  #store(): void {
    if (this.#spare === null && !this.#closed) this.#spare = this.#make().catch(() => null)
  }

  async #make(): Promise<Namespace> {
    const making = Namespace.make(this.#tools, this.#marker, this.#upMs)
    this.#making.add(making)
    try {
      const made = await making
      this.#living.add(made)
      made.onEnd(() => { this.#living.delete(made) })
      return made
    } finally {
      this.#making.delete(making)
    }
  }
}
