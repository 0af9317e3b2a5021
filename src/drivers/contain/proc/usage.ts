// Sums the CPU time and memory of a containment's members, as /proc reports them. Guarantees a correct sum while members come and
// go. If a parent has waited for an ended process, the parent's count includes its usage. Otherwise the usage is kept here. Reads
// only. Test: test/tables/drivers/contain/proc/usage.test.ts, test/processes/contain/measure.test.ts.
import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'
import type { OsHandle } from '../../../kernel/model/process.ts'
import { readProcFile } from './process-table.ts'

/** The usage of one process. */
export interface ProcessUsage {
  readonly pid: number
  readonly ppid: number
  readonly startTime: string
  /** CPU time of its own threads */
  readonly ownMs: number
  /** CPU time of ended descendants for which it has waited */
  readonly waitedMs: number
  /** resident memory */
  readonly rssBytes: number
}

const IS_LINUX = process.platform === 'linux'
// Keys of the auxiliary vector at which the kernel stores the system's units.
const AT_PAGESZ = 6
const AT_CLKTCK = 17

/** Reads the usage of one process; null if it is gone or there is no /proc. */
function readUsage(pid: number): ProcessUsage | null {
  const stat = IS_LINUX ? readProcFile(`/proc/${pid}/stat`) : null
  return stat === null ? null : parseUsage(pid, stat)
}

// The fields of /proc/PID/stat begin after the last `)`, because the name before it may contain anything.
function parseUsage(pid: number, stat: string): ProcessUsage | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTime = fields[19]
  if (startTime === undefined) return null
  const number = (at: number): number => Number(fields[at])
  const msPerTick = 1_000 / cachedUnits().ticksPerSecond
  return {
    pid,
    startTime,
    ppid: number(1),
    ownMs: (number(11) + number(12)) * msPerTick,
    waitedMs: (number(13) + number(14)) * msPerTick,
    rssBytes: number(21) * cachedUnits().pageBytes,
  }
}

/** Reads the proportional set size in bytes: private memory plus a share of shared memory. Exact but expensive. Null if unreadable. */
function proportionalBytes(pid: number): number | null {
  const pss = /^Pss:\s+(\d+) kB$/m.exec(readProcFile(`/proc/${pid}/smaps_rollup`) ?? '')?.[1]
  return pss === undefined ? null : Number(pss) * 1_024
}

interface Units {
  readonly pageBytes: number
  readonly ticksPerSecond: number
}

let systemUnits: Units | null = null

function cachedUnits(): Units {
  systemUnits ??= readUnits()
  return systemUnits
}

function readUnits(): Units {
  const vector = new Map<number, number>()
  const bytes = readAuxiliaryVector()
  const word = (at: number): number => Number(endianness() === 'LE' ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at))
  for (let at = 0; at + 16 <= bytes.length; at += 16) vector.set(word(at), word(at + 8))
  return { pageBytes: vector.get(AT_PAGESZ) ?? 4_096, ticksPerSecond: vector.get(AT_CLKTCK) ?? 100 }
}

function readAuxiliaryVector(): Buffer {
  try {
    return readFileSync('/proc/self/auxv')
  } catch {
    // Without the vector, the caller uses the usual values of Linux.
    return Buffer.alloc(0)
  }
}

/** The total CPU time of all processes ever found in a containment; it never decreases. */
export class CpuTally {
  #lastSeen = new Map<number, ProcessUsage>()
  /** the time of ended processes for which no visible process has waited */
  #endedMembersMs = 0
  #highestMs = 0

  /** Counts the current members and returns the total in ms. */
  count(members: readonly ProcessUsage[]): number {
    const current = new Map(members.map((usage) => [usage.pid, usage]))
    const waited = new Map(members.map((usage) => [usage.pid, usage.waitedMs - (this.#findPrevious(usage)?.waitedMs ?? usage.waitedMs)]))
    for (const usage of this.#lastSeen.values()) {
      if (current.get(usage.pid)?.startTime !== usage.startTime) this.#endedMembersMs += this.#unclaimedMs(usage, current, waited)
    }
    this.#lastSeen = current
    return this.#keepHighest(members.reduce((sum, { ownMs, waitedMs }) => sum + ownMs + waitedMs, this.#endedMembersMs))
  }

  /** Records the exit of one of our own children, with its total usage including descendants for which it has waited. */
  addEnded(pid: number, usedMs: number): void {
    const { ownMs = 0, waitedMs = 0 } = this.#lastSeen.get(pid) ?? {}
    this.#endedMembersMs += Math.max(usedMs, ownMs + waitedMs)
    const ended = new Set([pid])
    // The descendants of the child are in its count, or they live on and are found again.
    for (let before = 0; before !== ended.size;) {
      before = ended.size
      for (const usage of this.#lastSeen.values()) if (ended.has(usage.ppid)) ended.add(usage.pid)
    }
    for (const endedPid of ended) this.#lastSeen.delete(endedPid)
  }

  #findPrevious(usage: ProcessUsage): ProcessUsage | undefined {
    const before = this.#lastSeen.get(usage.pid)
    return before?.startTime === usage.startTime ? before : undefined
  }

  /** Returns the part of an ended process's time that no living ancestor has taken over. */
  #unclaimedMs(usage: ProcessUsage, current: ReadonlyMap<number, ProcessUsage>, waited: Map<number, number>): number {
    let ancestor = usage.ppid
    while (!current.has(ancestor)) {
      const lastKnown = this.#lastSeen.get(ancestor)
      if (lastKnown === undefined) break
      ancestor = lastKnown.ppid
    }
    const usedMs = usage.ownMs + usage.waitedMs
    const takenMs = Math.min(usedMs, waited.get(ancestor) ?? 0)
    waited.set(ancestor, (waited.get(ancestor) ?? 0) - takenMs)
    return usedMs - takenMs
  }

  #keepHighest(ms: number): number {
    this.#highestMs = Math.max(this.#highestMs, ms)
    return this.#highestMs
  }
}

/** The usage of a containment's members, as the system reports it. */
export interface BackendUsage {
  /** CPU time since the containment was created */
  readonly cpuTimeMs: number
  readonly rssBytes: number
  /** the highest memory usage; null where only repeated measurements could find it */
  readonly peakRssBytes: number | null
  /** whether the system killed a member because all members together had reached the limit */
  readonly outOfMemory: boolean
}

/** From this share of the limit on, memory is measured exactly, because the plain sum counts shared memory once per process. */
const EXACT_FROM_SHARE = 0.8

/** Measures process by process, for kinds of containment for which the system has no figures. */
export class MemberMeter {
  readonly #cpu = new CpuTally()

  /** Discards the usage of unrelated children, so that it is not added to the next program that ends. */
  discardEarlierUsage(): void {
    takeWaitedMs()
  }

  /** Records a child that was reaped in this turn of the event loop. */
  addEnded(pid: number): void {
    this.#cpu.addEnded(pid, takeWaitedMs())
  }

  measure(handles: readonly OsHandle[], limitBytes: number | null): BackendUsage | null {
    if (!IS_LINUX) return null
    const started = new Map(handles.map(({ pid, startTime }) => [pid, startTime]))
    const members = readUsages([...started.keys()]).filter(({ pid, startTime }) => started.get(pid) === startTime)
    return { cpuTimeMs: this.#cpu.count(members), rssBytes: residentBytes(members, limitBytes), peakRssBytes: null, outOfMemory: false }
  }
}

export function readUsages(pids: readonly number[]): ProcessUsage[] {
  return pids.map(readUsage).filter((usage) => usage !== null)
}

/** Returns the memory of all members, in bytes: a plain sum, or an exact figure near the limit. */
export function residentBytes(members: readonly ProcessUsage[], limitBytes: number | null): number {
  const sum = members.reduce((bytes, { rssBytes }) => bytes + rssBytes, 0)
  if (limitBytes === null || sum < EXACT_FROM_SHARE * limitBytes) return sum
  return members.reduce((bytes, { pid, rssBytes }) => bytes + (proportionalBytes(pid) ?? rssBytes), 0)
}

let waitedBeforeMs = 0
let wasReadInTurn = false

/**
 * Returns the CPU time in ms of children reaped since the last call; 0 without figures. The first caller in a turn of the event loop
 * gets the sum for all callers.
 */
function takeWaitedMs(): number {
  // Node reaps all ended children before it sends the first exit event.
  if (wasReadInTurn) return 0
  wasReadInTurn = true
  setImmediate(() => {
    wasReadInTurn = false
  })
  const { waitedMs = 0 } = readUsage(process.pid) ?? {}
  const increaseMs = Math.max(0, waitedMs - waitedBeforeMs)
  waitedBeforeMs = waitedMs
  return increaseMs
}
