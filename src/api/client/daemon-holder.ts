// Finds the program that has the lock of a home. Reads the record that the program wrote (OS pid, start time, boot id), and its state in
// the system. Must never return a program that only reuses the OS pid. Works only on Linux; elsewhere the holder is unknown. Test:
// test/e2e/daemon/unresponsive-daemon.test.ts.
import { readdirSync, readFileSync } from 'node:fs'

/** The record that the daemon writes when it has taken the lock. */
export interface LockHolderRecord {
  readonly pid: number
  /** the start time in /proc: clock ticks since the boot of the machine */
  readonly startTime: string
  /** the id of the boot of the machine */
  readonly boot: string
}

export interface LockHolder extends LockHolderRecord {
  /** the state letter of `ps`: R, S, D, T, … */
  readonly state: string
  /** when the program last ran, in wall ms; null while it runs, or if unknown */
  readonly idleSince: number | null
}

/** Returns the program that wrote the record; null if it is not alive. */
export function readHolder(file: string): LockHolder | null {
  const record = parseRecord(file)
  const program = record && readProgram(record.pid)
  if (!record || !program || program.startTime !== record.startTime || record.boot !== bootId()) return null
  return { ...record, state: program.state, idleSince: program.state === 'R' ? null : lastRunTime(record.pid) }
}

/** Returns the record for a living program; null if it has ended, or the system does not show it. */
export function readHolderRecord(pid: number): LockHolderRecord | null {
  const program = readProgram(pid)
  return program && { pid, startTime: program.startTime, boot: bootId() }
}

/** Whether a signal has stopped the program. A stopped program runs again only after a SIGCONT. */
export function isStopped({ state }: LockHolder): boolean {
  return state === 'T' || state === 't'
}

function parseRecord(file: string): LockHolderRecord | null {
  try {
    const { pid, startTime, boot } = JSON.parse(readFileSync(file, 'utf8')) as Partial<LockHolderRecord>
    return Number.isSafeInteger(pid) && Number(pid) > 1 && typeof startTime === 'string' && typeof boot === 'string'
      ? { pid: Number(pid), startTime, boot }
      : null
  } catch {
    // Without a complete record, no daemon is known to have the lock.
    return null
  }
}

/** Reads state and start time of a program; null if it has ended. The name in parentheses may contain anything, even parentheses. */
function readProgram(pid: number): { readonly state: string; readonly startTime: string } | null {
  const stat = readOrEmpty(`/proc/${pid}/stat`)
  const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTime = rest[18]
  return startTime === undefined || ('ZX'.includes(state) && !hasThreads(pid)) ? null : { state, startTime }
}

/** Whether a zombie has threads that are still ending, and that keep its socket and its lock. */
function hasThreads(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).length > 1
  } catch {
    // The directory disappears with the last thread.
    return false
  }
}

/** Returns when a program last ran, in wall ms. `exec_start` and `hrtime` both count from the boot, without the time asleep. */
function lastRunTime(pid: number): number | null {
  const lastStart = /^se\.exec_start\s*:\s*([\d.]+)$/m.exec(readOrEmpty(`/proc/${pid}/sched`))?.[1]
  return lastStart === undefined ? null : Date.now() - Math.max(0, Number(process.hrtime.bigint()) / 1e6 - Number(lastStart))
}

function bootId(): string {
  return readOrEmpty('/proc/sys/kernel/random/boot_id').trim()
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    // The program has ended, or this system has no /proc.
    return ''
  }
}
