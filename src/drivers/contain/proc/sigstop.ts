// Stops processes one by one with SIGSTOP, and continues only these. A process that was stopped before stays stopped. Serves the kinds of
// containment for which the system has no freezer; they supply the members.
// Tests: test/processes/contain/freeze.test.ts.
import type { OsHandle } from '../../../kernel/model/process.ts'
import { signalOne } from './handle.ts'
import { isStopped, isZombie, readRow } from './process-table.ts'

export class SigstopFreezer {
  /** the OS processes that this freezer has stopped, by OS PID */
  readonly #stoppedMembers = new Map<number, OsHandle>()
  readonly #members: () => readonly OsHandle[]

  constructor(members: () => readonly OsHandle[]) {
    this.#members = members
  }

  /** whether this freezer has stopped any process */
  get hasStopped(): boolean {
    return this.#stoppedMembers.size > 0
  }

  stop(): void {
    for (const handle of this.#members()) {
      if (isStoppedOrEnded(handle) || signalOne(handle, 'SIGSTOP') !== 'sent') continue
      this.#stoppedMembers.set(handle.pid, handle)
    }
  }

  /**
   * Returns whether all OS processes are stopped; if not, it stops them again, because one may have been born since. A signalled OS
   * process may wait in the kernel, for example for its stopped vfork child. It counts as stopped, because it runs no further instruction.
   */
  tryToStopAll(): boolean {
    if (this.#members().every((handle) => isStoppedOrEnded(handle) || (this.#stoppedMembers.has(handle.pid) && isInKernel(handle))))
      return true
    this.stop()
    return false
  }

  /** Continues all processes that it has stopped, the last one first. */
  resume(): void {
    for (const handle of [...this.#stoppedMembers.values()].toReversed()) signalOne(handle, 'SIGCONT')
    this.#stoppedMembers.clear()
  }
}

/** Whether the process is stopped or has ended. */
export function isStoppedOrEnded(handle: OsHandle): boolean {
  const row = readRow(handle.pid)
  return row === null || row.startTime !== handle.startTime || isZombie(row) || isStopped(row)
}

function isInKernel(handle: OsHandle): boolean {
  return readRow(handle.pid)?.state === 'D'
}
