// A handle is a PID and something that cannot be reused. Every signal of reeve goes through here, and its target's
// identity is checked in the same breath: a stale handle signals nothing, and no group of 1 or less, nor our own, ever is.
// Must never find a process by name, folder or a bare PID. Tests: test/processes/contain-handle.test.ts.
import type { OsHandle } from '../../kernel/types.ts'
import { isZombie, readRow } from './proc.ts'

export type OsSignal = 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'

/** `sent` · `refused`: a target that reeve never signals · `gone`: no such process · `stale`: another process has the PID */
export type Delivery = 'sent' | 'refused' | 'gone' | 'stale'

/** `alive` · `gone`: it has ended · `stale`: its PID is somebody else's now */
export type Liveness = 'alive' | 'gone' | 'stale'

// Nothing in Node changes it.
const OWN_PGID = readRow(process.pid)?.pgid

/** The handle of a process as it is now; null if it is gone. */
export function handleOf(pid: number): OsHandle | null {
  const row = readRow(pid)
  return row === null ? null : { pid, startTime: row.startTime, pgid: row.pgid }
}

export function liveness(handle: OsHandle): Liveness {
  const row = readRow(handle.pid)
  if (row === null) return 'gone'
  if (row.startTime !== handle.startTime) return 'stale'
  return isZombie(row) ? 'gone' : 'alive'
}

/** Signals the group that this process is in. A zombie still vouches for its group: its number cannot be reused. */
export function signalGroup(handle: OsHandle, signal: OsSignal): Delivery {
  if (!Number.isInteger(handle.pgid) || handle.pgid <= 1 || handle.pid <= 1) return 'refused'
  if (handle.pgid === OWN_PGID) return 'refused'
  const now = handleOf(handle.pid)
  if (now === null) return 'gone'
  if (now.startTime !== handle.startTime || now.pgid !== handle.pgid) return 'stale'
  return send(-handle.pgid, signal)
}

/** Signals one process. */
export function signalOne(handle: OsHandle, signal: OsSignal): Delivery {
  if (!Number.isInteger(handle.pid) || handle.pid <= 1 || handle.pid === process.pid) return 'refused'
  const state = liveness(handle)
  return state === 'alive' ? send(handle.pid, signal) : state
}

/** Whether the group has members; zombies count, so this may say yes where nobody lives. Signal 0 reaches nobody. */
export function groupHasMembers(pgid: number): boolean {
  try {
    return pgid > 1 && process.kill(-pgid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function send(target: number, signal: OsSignal): Delivery {
  try {
    process.kill(target, signal)
    return 'sent'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone'
    return 'refused'
  }
}
