// Makes processes stand still by SIGSTOP, one by one, and lets go on those that it stopped: what stood still before us
// stays so. For the kinds of containment that the system has no freezer for; they say who the members are.
// Tests: test/processes/contain-freeze.test.ts.
import type { OsHandle } from '../../kernel/types.ts'
import { signalOne } from './handle.ts'
import { isStopped, isZombie, readRow } from './proc.ts'

export class Still {
  /** stopped by us, by PID */
  readonly #stopped = new Map<number, OsHandle>()
  readonly #members: () => readonly OsHandle[]

  constructor(members: () => readonly OsHandle[]) {
    this.#members = members
  }

  /** someone stands still because of us */
  get holds(): boolean {
    return this.#stopped.size > 0
  }

  stop(): void {
    for (const handle of this.#members()) {
      if (standsStill(handle) || signalOne(handle, 'SIGSTOP') !== 'sent') continue
      this.#stopped.set(handle.pid, handle)
    }
  }

  // Those that are born meanwhile are stopped at the next look. One that waits in the kernel (for the child that it made
  // by vfork and that we stopped, say) has the signal before it and runs no instruction of its own any more.
  allStopped(): boolean {
    if (this.#members().every((handle) => standsStill(handle) || (this.#stopped.has(handle.pid) && isInKernel(handle)))) return true
    this.stop()
    return false
  }

  /** The last that was stopped goes on first. */
  goOn(): void {
    for (const handle of [...this.#stopped.values()].toReversed()) signalOne(handle, 'SIGCONT')
    this.#stopped.clear()
  }
}

export function standsStill(handle: OsHandle): boolean {
  const row = readRow(handle.pid)
  return row === null || row.startTime !== handle.startTime || isZombie(row) || isStopped(row)
}

function isInKernel(handle: OsHandle): boolean {
  return readRow(handle.pid)?.state === 'D'
}
