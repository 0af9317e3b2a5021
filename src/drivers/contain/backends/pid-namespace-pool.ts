// Creates the daemon's PID namespaces and keeps track of the living ones. After the first request it keeps one in reserve, so
// that a program need not wait for its namespace. Disposal leaves nothing behind. Tests: test/processes/contain/pidns.test.ts.
import { Namespace } from './pid-namespace.ts'
import type { NamespaceTools } from './pid-namespace.ts'
import type { SliceQueue } from '../../common/event-loop-turns.ts'

/** Time limit for the creation of a namespace. */
const CREATION_MS = 10_000

export class NamespacePool implements AsyncDisposable {
  readonly #tools: NamespaceTools
  readonly #marker: string
  readonly #starts: SliceQueue
  readonly #creationMs: number
  readonly #living = new Set<Namespace>()
  readonly #beingCreated = new Set<Promise<Namespace>>()
  #reserve: Promise<Namespace | null> | null = null
  #isClosed = false

  /** `marker` goes into the environment of each init, so that the guardian finds an init whose lifeline has failed. */
  constructor(tools: NamespaceTools, marker: string, starts: SliceQueue, creationMs = CREATION_MS) {
    this.#tools = tools
    this.#starts = starts
    this.#creationMs = creationMs
    this.#marker = marker
  }

  /** Returns an empty namespace. Errors: an `Error` with the reason why none could be created. */
  async take(): Promise<Namespace> {
    const reserve = this.#reserve
    this.#reserve = null
    const stored = await reserve
    const taken = stored === null || !stored.isOpen ? await this.#create() : stored
    // The refill is deferred, so that the program that waits for this namespace starts first.
    setImmediate(() => this.#refill())
    return taken
  }

  /** Takes back a namespace that no program has entered; the next `take` returns it. */
  giveBack(namespace: Namespace): void {
    if (this.#reserve !== null || this.#isClosed) namespace.kill()
    else this.#reserve = Promise.resolve(namespace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#beingCreated)
    await Promise.all([...this.#living].map((namespace) => namespace.close()))
  }

  #refill(): void {
    // After a failure the next `take` creates a namespace itself, and gets the error.
    if (this.#reserve === null && !this.#isClosed) this.#reserve = this.#create().catch(() => null)
  }

  async #create(): Promise<Namespace> {
    const creation = this.#starts.next().then(() => Namespace.create(this.#tools, this.#marker, this.#creationMs))
    this.#beingCreated.add(creation)
    try {
      const namespace = await creation
      this.#living.add(namespace)
      namespace.onEnd(() => {
        this.#living.delete(namespace)
      })
      return namespace
    } finally {
      this.#beingCreated.delete(creation)
    }
  }
}
