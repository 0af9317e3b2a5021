// The scheduler of a simulation: all work waits here, and a random number picks the next entry. A dropped entry never continues.
import type { PickNumber } from './random-inputs.ts'

interface Entry {
  readonly owner: object
  readonly resume: () => void
}

export class Scheduler {
  readonly #pick: PickNumber
  #waiting: Entry[] = []

  constructor(pick: PickNumber) {
    this.#pick = pick
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves when this entry is picked; never, if its owner is dropped first. */
  waitForTurn(owner: object): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ owner, resume: resolve })
    })
  }

  /** Lets one waiting entry continue; returns false if none waits. */
  next(): boolean {
    const [entry] = this.#waiting.splice(this.#pick(Math.max(1, this.#waiting.length)), 1)
    entry?.resume()
    return entry !== undefined
  }

  drop(owner: object): void {
    this.#waiting = this.#waiting.filter((entry) => entry.owner !== owner)
  }

  dropAll(): void {
    this.#waiting = []
  }
}
