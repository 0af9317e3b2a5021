// One timer for all deadlines: keeps the nearest deadline of each process and tells which may have come. Those on the wall
// clock are looked at once a minute while there are any, as that clock jumps, and goes on while the machine sleeps.
// Owns no decision: the kernel looks again at a `tick`. Tests: test/simulation, test/tables/deadline.test.ts.
import { deadlineOf, wallDeadlineOf } from '../kernel/deadline.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Clock } from './clock.ts'

/** How late a deadline on the wall clock may be seen when that clock was set, in ms. */
const WALL_LOOK_MS = 60_000

export class Deadlines {
  readonly #clock: Clock
  readonly #due: (uuid: Uuid) => void
  readonly #times = new Map<Uuid, number>()
  readonly #walls = new Map<Uuid, number>()
  #armed: { readonly at: number; readonly cancel: () => void } | null = null

  constructor(clock: Clock, due: (uuid: Uuid) => void) {
    this.#clock = clock
    this.#due = due
  }

  /** Takes note of a process as it is now; undefined when it has left the table. */
  watch(uuid: Uuid, process: Process | undefined): void {
    this.#note(this.#times, uuid, process ? deadlineOf(process) : null, (at) => at)
    this.#note(this.#walls, uuid, process ? wallDeadlineOf(process) : null, (at) => this.#lookAt(at))
  }

  #note(times: Map<Uuid, number>, uuid: Uuid, at: number | null, monoOf: (at: number) => number): void {
    if (at === null) {
      times.delete(uuid)
      return
    }
    times.set(uuid, at)
    const mono = monoOf(at)
    if (!this.#armed || mono < this.#armed.at) this.#arm(mono)
  }

  #lookAt(wallMs: number): number {
    const { wall, mono } = this.#clock.now()
    return mono + Math.min(WALL_LOOK_MS, wallMs - wall)
  }

  stop(): void {
    this.#armed?.cancel()
    this.#armed = null
    this.#times.clear()
    this.#walls.clear()
  }

  #arm(at: number): void {
    this.#armed?.cancel()
    this.#armed = { at, cancel: this.#clock.after(at - this.#clock.now().mono, () => this.#fire()) }
  }

  #fire(): void {
    this.#armed = null
    const { mono, wall } = this.#clock.now()
    const nearest = this.#tell(this.#times, mono)
    const wallNearest = this.#tell(this.#walls, wall)
    const times = [nearest, wallNearest === null ? null : this.#lookAt(wallNearest)].filter((at) => at !== null)
    if (times.length > 0) this.#arm(Math.min(...times))
  }

  /** Tells of those that have come; gives the nearest of the others. */
  #tell(times: Map<Uuid, number>, now: number): number | null {
    let nearest: number | null = null
    for (const [uuid, at] of times) {
      if (at <= now) {
        times.delete(uuid)
        this.#due(uuid)
      } else if (nearest === null || at < nearest) nearest = at
    }
    return nearest
  }
}
