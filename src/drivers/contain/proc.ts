// The process table of the operating system: one row, all rows, and the environment marker of a process.
// Reads only, never signals. On Linux it is /proc; elsewhere `ps` (ps.ts). Reads are synchronous: an identity that is
// looked up before a signal must not grow old across an await.
// Tests: test/processes/contain-handle.test.ts.
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { psCensus, psRow } from './ps.ts'

/** The name of the environment variable that names the incarnation a program belongs to. */
export const MARKER = 'REEVE_PROC'

export interface ProcRow {
  readonly pid: number
  readonly ppid: number
  readonly pgid: number
  /** one letter, as `ps` shows it: R, S, D, T, Z, … */
  readonly state: string
  /** what tells two processes with the same PID apart */
  readonly startTime: string
}

export interface MarkedRow extends ProcRow {
  /** value of REEVE_PROC in its environment; null if it has none or may not be read */
  readonly marker: string | null
}

const LINUX = process.platform === 'linux'
const scratch = Buffer.allocUnsafe(64 * 1024)

/** A zombie has ended: it holds nothing but its number. */
export function isZombie(row: ProcRow): boolean {
  return row.state === 'Z' || row.state === 'X'
}

export function isStopped(row: ProcRow): boolean {
  return row.state === 'T' || row.state === 't'
}

/** The row of one process, also of a zombie; null if there is none. */
export function readRow(pid: number): ProcRow | null {
  if (!LINUX) return psRow(pid)
  const stat = readOrNull(`/proc/${pid}/stat`)
  return stat === null ? null : parseStat(pid, stat)
}

/** The children of all its threads, in the order of their birth; none if it is gone. Exact for the first and for a lone last one. */
export function childrenOf(pid: number): number[] {
  return listOrNone(`/proc/${pid}/task`).flatMap((task) => (readOrNull(`/proc/${pid}/task/${task}/children`) ?? '').split(' ').filter(Boolean).map(Number))
}

/** Names the PID namespace that it is in, or the one that its children are born into; null if it is gone or may not be seen. */
export function pidNamespaceOf(pid: number, whose: 'own' | 'children'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/${whose === 'own' ? 'pid' : 'pid_for_children'}`)
  } catch {
    return null
  }
}

/** Whether it is the init of a PID namespace below ours: number 1 there, another one here. */
export function isInit(pid: number): boolean {
  return pid > 1 && /^NSpid:.*\s1$/m.test(readOrNull(`/proc/${pid}/status`) ?? '')
}

/** All processes at one moment, and who belongs to whom. */
export class Census {
  readonly rows: readonly MarkedRow[]
  readonly #byPid: ReadonlyMap<number, MarkedRow>
  #children: ReadonlyMap<number, readonly MarkedRow[]> | null = null
  #groups: ReadonlyMap<number, readonly MarkedRow[]> | null = null
  #marked: ReadonlyMap<string | null, readonly MarkedRow[]> | null = null

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
    this.#marked ??= Map.groupBy(this.rows, (row) => row.marker)
    return this.#marked.get(marker) ?? []
  }
}

/** Whose markers are read: of `everybody`, or of those who are not older than this program: nobody else can have one of its own. */
export type Readable = 'everybody' | 'younger'

const shared = new Map<Readable, Census>()
let tookMs = 0

/** All processes. Callers in the same turn of the event loop share one reading. */
export function census(readable: Readable): Census {
  const known = shared.get(readable)
  if (known !== undefined) return known
  const begun = performance.now()
  const taken = new Census(LINUX ? procCensus(readable) : psCensus())
  tookMs = performance.now() - begun
  shared.set(readable, taken)
  setImmediate(() => shared.delete(readable))
  return taken
}

/** A program was started in this turn: it is not in a reading from before. */
export function forgetCensus(): void {
  shared.clear()
}

/** The pause between two, for those who can wait, as a multiple of what a census takes. */
const PAUSES = 2
let lookers: (() => void)[] = []
let nextMs = 0

/** Calls back soon, in one turn with all others who asked meanwhile, so that they share a census and do not spend all time on it. */
export function togetherSoon(look: () => void): void {
  lookers.push(look)
  if (lookers.length > 1) return
  setTimeout(() => {
    const all = lookers
    lookers = []
    for (const each of all) each()
    nextMs = performance.now() + PAUSES * tookMs
  }, Math.max(0, nextMs - performance.now()))
}

/** Names this boot of the machine, so that start times of two boots are never compared; '0' where start times are dates. */
export function bootId(): string {
  const id = LINUX ? readOrNull('/proc/sys/kernel/random/boot_id') : null
  return id === null ? '0' : id.slice(0, 8)
}

// Nothing in Node changes it.
const OWN_START = Number(readRow(process.pid)?.startTime)

function procCensus(readable: Readable): MarkedRow[] {
  const rows: MarkedRow[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const row = readRow(pid)
    if (row !== null) rows.push({ ...row, marker: isZombie(row) || (readable === 'younger' && Number(row.startTime) < OWN_START) ? null : environMarker(pid) })
  }
  return rows
}

// The command's name stands in parentheses and may hold anything, also `)` and line ends: the fields begin after the last.
function parseStat(pid: number, stat: string): ProcRow | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, ppid, pgid, startTime] = [fields[0], fields[1], fields[2], fields[19]]
  if (state === undefined || startTime === undefined) return null
  return { pid, ppid: Number(ppid), pgid: Number(pgid), state, startTime }
}

function environMarker(pid: number): string | null {
  const environ = readOrNull(`/proc/${pid}/environ`)
  if (environ === null) return null
  const at = `\0${environ}`.indexOf(`\0${MARKER}=`)
  if (at < 0) return null
  const value = environ.slice(at + MARKER.length + 1)
  const end = value.indexOf('\0')
  return end < 0 ? value : value.slice(0, end)
}

function listOrNone(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

// A process may end between any two reads (ENOENT, ESRCH) or belong to somebody else (EACCES): it is not there for us.
// This is done for each process that there is, again and again: `readFileSync` would take more than twice the time.
export function readOrNull(path: string): string | null {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch {
    return null
  }
  try {
    return readAll(fd)
  } catch {
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
