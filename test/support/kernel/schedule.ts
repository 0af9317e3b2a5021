// Who goes next: everything that waits for its turn waits here, and chance picks one. What is dropped never goes on.
import type { Pick } from './random.ts'

interface Turn {
  readonly of: object
  readonly go: () => void
}

export class Schedule {
  readonly #pick: Pick
  #waiting: Turn[] = []

  constructor(pick: Pick) {
    this.#pick = pick
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves when it is this one's turn; never, if its owner is dropped first. */
  turn(of: object): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ of, go: resolve })
    })
  }

  /** Lets one go on; false if nobody waits. */
  next(): boolean {
    const [turn] = this.#waiting.splice(this.#pick(Math.max(1, this.#waiting.length)), 1)
    turn?.go()
    return turn !== undefined
  }

  drop(of: object): void {
    this.#waiting = this.#waiting.filter((turn) => turn.of !== of)
  }

  dropAll(): void {
    this.#waiting = []
  }
}
