// One timer for all deadlines: keeps the nearest deadline of each process and tells which may have come.
// Owns no decision: the kernel looks again at a `tick`. Test: test/simulation.
import { deadlineOf } from '../kernel/deadline.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Clock } from './clock.ts'

export class Deadlines {
  readonly #clock: Clock
  readonly #due: (uuid: Uuid) => void
  readonly #times = new Map<Uuid, number>()
  #armed: { readonly at: number; readonly cancel: () => void } | null = null

  constructor(clock: Clock, due: (uuid: Uuid) => void) {
    this.#clock = clock
    this.#due = due
  }

  /** Takes note of a process as it is now; undefined when it has left the table. */
  watch(uuid: Uuid, process: Process | undefined): void {
    const at = process ? deadlineOf(process) : null
    if (at === null) {
      this.#times.delete(uuid)
      return
    }
    this.#times.set(uuid, at)
    if (!this.#armed || at < this.#armed.at) this.#arm(at)
  }

  stop(): void {
    this.#armed?.cancel()
    this.#armed = null
    this.#times.clear()
  }

  #arm(at: number): void {
    this.#armed?.cancel()
    this.#armed = { at, cancel: this.#clock.after(at - this.#clock.now().mono, () => this.#fire()) }
  }

  #fire(): void {
    this.#armed = null
    const { mono } = this.#clock.now()
    let nearest: number | null = null
    for (const [uuid, at] of this.#times) {
      if (at <= mono) {
        this.#times.delete(uuid)
        this.#due(uuid)
      } else if (nearest === null || at < nearest) nearest = at
    }
    if (nearest !== null) this.#arm(nearest)
  }
}
