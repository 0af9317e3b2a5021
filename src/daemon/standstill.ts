// The wish that an incarnation stands still, kept where it is heeded also while its driver still begins: nobody is there to be
// told then, and what began in that time would run although the row says suspended. What has not begun waits until the wish is
// gone, and never begins if the end comes first; what has is frozen at once. Once the agent is up it is told of pauses itself.
// Must never say `frozen` for an agent that is up. Test: test/processes/pause-start.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { Containment } from '../drivers/contain/contain.ts'

interface StandstillParts {
  /** nothing of it runs, and none of its turns is in flight */
  readonly frozen: () => Promise<unknown>
  readonly log: (message: string, error: unknown) => void
}

export class Standstill {
  readonly #parts: StandstillParts
  #containment: Containment | null = null
  #isWanted = false
  #isUp = false
  #isOver = false
  /** how often it was let go on */
  #releases = 0
  #changed = Promise.withResolvers<void>()

  constructor(parts: StandstillParts) {
    this.#parts = parts
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** A hold was added. Returns whether that still counts when the agent can be told. */
  pause(freeze: boolean): () => boolean {
    const releases = this.#releases
    if (freeze) this.#isWanted = true
    if (freeze && !this.#isUp) this.#freeze()
    return () => releases === this.#releases
  }

  /** The last hold is gone. Nothing stays frozen, whether or not its agent has heard of the pause. */
  unpause(): void {
    this.#releases += 1
    this.#isWanted = false
    this.#containment?.thaw().catch((error: unknown) => this.#parts.log('the thaw failed', error))
    this.#change()
  }

  /** What its programs will be in. */
  own(containment: Containment): void {
    this.#containment = containment
    if (this.#isWanted) this.#freeze()
  }

  /** Waits until its driver may begin. Errors: `NOT_FOUND`: it ends, and nothing of it has begun. */
  async clear(): Promise<void> {
    while (this.#isWanted && !this.#isOver) await this.#changed.promise
    if (this.#isOver) throw new KernelError('NOT_FOUND', 'The process has ended: nothing more is started for it')
  }

  up(): void {
    this.#isUp = true
  }

  /** It is to end: what waits for the thaw would keep it. */
  end(): void {
    if (this.#isUp || this.#isOver || !this.#isWanted) return
    this.#isOver = true
    this.#containment?.dispose().catch((error: unknown) => this.#parts.log('what was frozen while it began did not end', error))
    this.#change()
  }

  /** What is in the containment stands still, and what is about to come in waits. */
  #freeze(): void {
    this.#containment?.freeze()
      .then(() => (this.#isWanted && !this.#isUp && !this.#isOver ? this.#parts.frozen() : undefined))
      .catch((error: unknown) => { if (!this.#isOver) this.#parts.log('the freeze failed', error) })
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}
