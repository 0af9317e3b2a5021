// A handle is an OS pid with its start time: the two together are never reused. Signals a contained process or its group after a check
// of its identity. A stale handle signals nothing. The group of reeve itself, and groups with a number up to 1, are never signalled. A kill
// by a cgroup or by the guardian does not pass through this file. Must never signal a process that is known only by its name, its
// directory or a bare pid.
// Tests: test/processes/contain/handle.test.ts.
import type { OsHandle } from '../../../kernel/model/process.ts'
import { isZombie, readRow } from './process-table.ts'

export type OsSignal = 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'

/**
 * `sent`: the signal was sent. `refused`: reeve or the system does not allow this signal. `gone`: the process has ended. `stale`: another
 * process has the pid.
 */
export type SendResult = 'sent' | 'refused' | 'gone' | 'stale'

/** `gone`: the process has ended. `stale`: another process has the pid now. */
export type HandleState = 'alive' | 'gone' | 'stale'

// Node cannot change the group of its own process, so the group is read once.
const OWN_PGID = readRow(process.pid)?.pgid

/** Returns the current handle of a process; null if the process is gone. */
export function handleOf(pid: number): OsHandle | null {
  const row = readRow(pid)
  return row === null ? null : { pid, startTime: row.startTime, pgid: row.pgid }
}

/** Returns the state of the process that the handle names. */
export function handleState(handle: OsHandle): HandleState {
  const row = readRow(handle.pid)
  if (row === null) return 'gone'
  if (row.startTime !== handle.startTime) return 'stale'
  return isZombie(row) ? 'gone' : 'alive'
}

/** Signals the group of this process. A zombie proves the group as well, because the group's number cannot be reused while it exists. */
export function signalGroup(handle: OsHandle, signal: OsSignal): SendResult {
  if (!Number.isInteger(handle.pgid) || handle.pgid <= 1 || handle.pid <= 1) return 'refused'
  if (handle.pgid === OWN_PGID) return 'refused'
  const current = handleOf(handle.pid)
  if (current === null) return 'gone'
  if (current.startTime !== handle.startTime || current.pgid !== handle.pgid) return 'stale'
  return send(-handle.pgid, signal)
}

/** Signals one process, but not its group. */
export function signalOne(handle: OsHandle, signal: OsSignal): SendResult {
  if (!Number.isInteger(handle.pid) || handle.pid <= 1 || handle.pid === process.pid) return 'refused'
  const state = handleState(handle)
  return state === 'alive' ? send(handle.pid, signal) : state
}

/** Whether the group has members, zombies included. Sends signal 0, which has no effect. */
export function groupHasMembers(pgid: number): boolean {
  try {
    return pgid > 1 && process.kill(-pgid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function send(target: number, signal: OsSignal): SendResult {
  try {
    process.kill(target, signal)
    return 'sent'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone'
    return 'refused'
  }
}
