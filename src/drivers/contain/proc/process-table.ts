// Reads the operating system's process table: one row, all rows, and the environment marker of a process. Reads only, never
// signals. Uses /proc on Linux and `ps` elsewhere (ps-output.ts). Reads are synchronous, because an identity that is checked
// before a signal must not become stale across an await. Tests: test/processes/contain/handle.test.ts.
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { MARKER_VARIABLE } from '../marker.ts'
import { psTable, psRow } from './ps-output.ts'
import type { MarkedRow, ProcRow } from './proc-row.ts'

const IS_LINUX = process.platform === 'linux'
const scratch = Buffer.allocUnsafe(64 * 1024)

/** Whether the process has ended and only its PID is still in use. */
export function isZombie(row: ProcRow): boolean {
  return row.state === 'Z' || row.state === 'X'
}

export function isStopped(row: ProcRow): boolean {
  return row.state === 'T' || row.state === 't'
}

/** Reads the row of one process, which may be a zombie; null if there is no such process. */
export function readRow(pid: number): ProcRow | null {
  if (!IS_LINUX) return psRow(pid)
  const stat = readProcFile(`/proc/${pid}/stat`)
  return stat === null ? null : parseStat(pid, stat)
}

/**
 * Lists the children of all threads of a process, oldest first; empty if the process is gone. A younger child can be missing if an
 * older one of the same thread ends during the read. The oldest child of a thread is never missing.
 */
export function childrenOf(pid: number): number[] {
  return listOrNone(`/proc/${pid}/task`).flatMap((task) =>
    (readProcFile(`/proc/${pid}/task/${task}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  )
}

/** Identifies the PID namespace of a process, or that of its future children. Null if the process is gone or unreadable. */
export function pidNamespaceOf(pid: number, whose: 'own' | 'children'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/${whose === 'own' ? 'pid' : 'pid_for_children'}`)
  } catch {
    // The process has ended, or belongs to another user.
    return null
  }
}

/** Whether the process is the init of a PID namespace below ours. Its PID is 1 there, and another one here. */
export function isInit(pid: number): boolean {
  return pid > 1 && /^NSpid:.*\s1$/m.test(readProcFile(`/proc/${pid}/status`) ?? '')
}

/** A snapshot of all processes, indexed by PID, parent, group and marker. */
export class ProcessTable {
  readonly rows: readonly MarkedRow[]
  readonly #byPid: ReadonlyMap<number, MarkedRow>
  #children: ReadonlyMap<number, readonly MarkedRow[]> | null = null
  #groups: ReadonlyMap<number, readonly MarkedRow[]> | null = null
  #markedRows: ReadonlyMap<string | null, readonly MarkedRow[]> | null = null

  constructor(rows: readonly MarkedRow[]) {
    this.rows = rows
    this.#byPid = new Map(rows.map((row) => [row.pid, row]))
  }

  get(pid: number): MarkedRow | undefined {
    return this.#byPid.get(pid)
  }

  childrenOf(pid: number): readonly MarkedRow[] {
    this.#children ??= Map.groupBy(this.rows, (row) => row.ppid)
    return this.#children.get(pid) ?? []
  }

  inGroup(pgid: number): readonly MarkedRow[] {
    this.#groups ??= Map.groupBy(this.rows, (row) => row.pgid)
    return this.#groups.get(pgid) ?? []
  }

  marked(marker: string): readonly MarkedRow[] {
    this.#markedRows ??= Map.groupBy(this.rows, (row) => row.marker)
    return this.#markedRows.get(marker) ?? []
  }
}

/**
 * The processes whose markers are read: `all`, or only processes that are `younger` than this daemon, because no older process
 * can have one of its markers.
 */
export type MarkerScope = 'all' | 'younger'

const sharedReadings = new Map<MarkerScope, ProcessTable>()
let readingMs = 0

/** Reads all processes. All callers in the same turn of the event loop share one reading. */
export function readProcessTable(markerScope: MarkerScope): ProcessTable {
  const sharedReading = sharedReadings.get(markerScope)
  if (sharedReading !== undefined) return sharedReading
  const startedMs = performance.now()
  const reading = new ProcessTable(IS_LINUX ? readProc(markerScope) : psTable())
  readingMs = performance.now() - startedMs
  sharedReadings.set(markerScope, reading)
  setImmediate(() => sharedReadings.delete(markerScope))
  return reading
}

/** Forgets the reading of this turn, which lacks a program that was started since. */
export function clearProcessTableCache(): void {
  sharedReadings.clear()
}

/** The delay between two batches, as a multiple of the time of one reading. */
const DELAY_FACTOR = 2
let pendingCallbacks: (() => void)[] = []
let nextBatchMs = 0

/** Calls back soon, in the same turn as all other pending callers, so that they share one reading and its cost. */
export function runInNextBatch(callback: () => void): void {
  pendingCallbacks.push(callback)
  if (pendingCallbacks.length > 1) return
  setTimeout(
    () => {
      const batch = pendingCallbacks
      pendingCallbacks = []
      for (const run of batch) run()
      nextBatchMs = performance.now() + DELAY_FACTOR * readingMs
    },
    Math.max(0, nextBatchMs - performance.now()),
  )
}

/** Identifies this boot of the system, so that start times of two boots are never compared. Returns '0' where start times are dates. */
export function bootId(): string {
  const id = IS_LINUX ? readProcFile('/proc/sys/kernel/random/boot_id') : null
  return id === null ? '0' : id.slice(0, 8)
}

// The start time of this daemon never changes, so it is read once.
const OWN_START_TIME = Number(readRow(process.pid)?.startTime)

function readProc(markerScope: MarkerScope): MarkedRow[] {
  const rows: MarkedRow[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const row = readRow(pid)
    if (row !== null)
      rows.push({
        ...row,
        marker: isZombie(row) || (markerScope === 'younger' && Number(row.startTime) < OWN_START_TIME) ? null : environMarker(pid),
      })
  }
  return rows
}

// The command's name is in parentheses and may contain anything, even `)` and newlines. So the fields begin after the last `)`.
function parseStat(pid: number, stat: string): ProcRow | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, ppid, pgid, startTime] = [fields[0], fields[1], fields[2], fields[19]]
  if (state === undefined || startTime === undefined) return null
  return { pid, ppid: Number(ppid), pgid: Number(pgid), state, startTime }
}

function environMarker(pid: number): string | null {
  const environ = readProcFile(`/proc/${pid}/environ`)
  if (environ === null) return null
  const at = `\0${environ}`.indexOf(`\0${MARKER_VARIABLE}=`)
  if (at < 0) return null
  const value = environ.slice(at + MARKER_VARIABLE.length + 1)
  const end = value.indexOf('\0')
  return end < 0 ? value : value.slice(0, end)
}

function listOrNone(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    // The process has ended, or there is no /proc.
    return []
  }
}

/**
 * Returns the text of a file in /proc. Null if the process has ended (ENOENT, ESRCH), or belongs to another user (EACCES). Runs for each
 * process again and again; `readFileSync` would take more than twice the time.
 */
export function readProcFile(path: string): string | null {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch {
    // The process has ended, or belongs to another user.
    return null
  }
  try {
    return readAll(fd)
  } catch {
    // The process ended during the read.
    return null
  } finally {
    closeSync(fd)
  }
}

function readAll(fd: number): string {
  let text = ''
  for (;;) {
    const length = readSync(fd, scratch, 0, scratch.length, null)
    if (length === 0) return text
    text += scratch.toString('latin1', 0, length)
  }
}
