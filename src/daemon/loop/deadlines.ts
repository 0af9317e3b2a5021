// Watches the deadlines of all processes, on the monotonic clock and the wall clock. Reports a process when one of its deadlines may
// have passed. Decides nothing: the kernel checks the deadline again at a `tick`. Tests: test/tables/daemon/loop/deadlines.test.ts,
// test/simulation.
import { deadlineOf, wallDeadlineOf } from '../../kernel/decide/next-deadline.ts'
import { Alarm } from './alarm.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Clock } from './clock.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export class Deadlines {
  readonly #mono: Alarm
  readonly #wall: Alarm

  constructor(clock: Clock, onDue: (uuid: Uuid) => void) {
    this.#mono = new Alarm(clock, 'mono', onDue)
    this.#wall = new Alarm(clock, 'wall', onDue)
  }

  /** Replaces the deadlines of a process. `process` is undefined if it has left the table; its deadlines are then cleared. */
  update(uuid: Uuid, process: Process | undefined): void {
    this.#mono.set(uuid, process ? deadlineOf(process) : null)
    this.#wall.set(uuid, process ? wallDeadlineOf(process) : null)
  }

  stop(): void {
    this.#mono.stop()
    this.#wall.stop()
  }
}
