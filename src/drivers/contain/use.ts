// What processes use of the machine, as /proc tells it: CPU time and memory, summed over the members of a containment.
// Owns how the sum stays true while members come and go: what an ended one had used is in its parent's count if that has
// waited for it, and is kept here if nobody has. Reads only. Test: test/tables/contain-use.test.ts, test/processes/contain-measure.test.ts.
import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'
import type { OsHandle } from '../../kernel/types.ts'
import { readOrNull } from './proc.ts'

/** One process: the time of its own threads, that of the children it has waited for (with theirs), and what it has in memory. */
export interface Use {
  readonly pid: number
  readonly ppid: number
  readonly startTime: string
  readonly ownMs: number
  readonly waitedMs: number
  readonly rssBytes: number
}

const LINUX = process.platform === 'linux'
// Places in the auxiliary vector: the system says there how it counts.
const AT_PAGESZ = 6
const AT_CLKTCK = 17

/** Null for one that is gone, and where there is no /proc. */
function useOf(pid: number): Use | null {
  const stat = LINUX ? readOrNull(`/proc/${pid}/stat`) : null
  return stat === null ? null : parseUse(pid, stat)
}

/** The fields begin after the last `)`: the name before it may hold anything. */
function parseUse(pid: number, stat: string): Use | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTime = fields[19]
  if (startTime === undefined) return null
  const number = (at: number): number => Number(fields[at])
  const msPerTick = 1_000 / units().ticksPerSecond
  return {
    pid, startTime, ppid: number(1),
    ownMs: (number(11) + number(12)) * msPerTick,
    waitedMs: (number(13) + number(14)) * msPerTick,
    rssBytes: number(21) * units().pageBytes,
  }
}

/** What a process has for itself, and its share of what it has together with others: exact, and dear. Null if it may not be read. */
function shareOf(pid: number): number | null {
  const pss = /^Pss:\s+(\d+) kB$/m.exec(readOrNull(`/proc/${pid}/smaps_rollup`) ?? '')?.[1]
  return pss === undefined ? null : Number(pss) * 1_024
}

interface Units {
  readonly pageBytes: number
  readonly ticksPerSecond: number
}

let known: Units | null = null

function units(): Units {
  known ??= readUnits()
  return known
}

function readUnits(): Units {
  const vector = new Map<number, number>()
  const bytes = auxv()
  const word = (at: number): number => Number(endianness() === 'LE' ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at))
  for (let at = 0; at + 16 <= bytes.length; at += 16) vector.set(word(at), word(at + 8))
  return { pageBytes: vector.get(AT_PAGESZ) ?? 4_096, ticksPerSecond: vector.get(AT_CLKTCK) ?? 100 }
}

function auxv(): Buffer {
  try {
    return readFileSync('/proc/self/auxv')
  } catch {
    return Buffer.alloc(0)
  }
}

/** The CPU time of all that was ever seen in a containment; it never goes back. */
export class CpuTally {
  #seen = new Map<number, Use>()
  /** of ended ones that nobody who is seen has waited for */
  #goneMs = 0
  #mostMs = 0

  /** All members as they are now. */
  count(members: readonly Use[]): number {
    const now = new Map(members.map((use) => [use.pid, use]))
    const waited = new Map(members.map((use) => [use.pid, use.waitedMs - (this.#before(use)?.waitedMs ?? use.waitedMs)]))
    for (const use of this.#seen.values()) {
      if (now.get(use.pid)?.startTime !== use.startTime) this.#goneMs += this.#unwaited(use, now, waited)
    }
    this.#seen = now
    return this.#most(members.reduce((sum, { ownMs, waitedMs }) => sum + ownMs + waitedMs, this.#goneMs))
  }

  /** One of our own children was waited for, and had used so much, with all that it had waited for. */
  ended(pid: number, usedMs: number): void {
    const { ownMs = 0, waitedMs = 0 } = this.#seen.get(pid) ?? {}
    this.#goneMs += Math.max(usedMs, ownMs + waitedMs)
    const gone = new Set([pid])
    // What it had made is in its count, or lives on and is seen again.
    for (let before = 0; before !== gone.size;) {
      before = gone.size
      for (const use of this.#seen.values()) if (gone.has(use.ppid)) gone.add(use.pid)
    }
    for (const each of gone) this.#seen.delete(each)
  }

  #before(use: Use): Use | undefined {
    const before = this.#seen.get(use.pid)
    return before?.startTime === use.startTime ? before : undefined
  }

  /** What of its time no ancestor that lives has taken over. */
  #unwaited(use: Use, now: ReadonlyMap<number, Use>, waited: Map<number, number>): number {
    let ancestor = use.ppid
    while (!now.has(ancestor)) {
      const next = this.#seen.get(ancestor)
      if (next === undefined) break
      ancestor = next.ppid
    }
    const usedMs = use.ownMs + use.waitedMs
    const takenMs = Math.min(usedMs, waited.get(ancestor) ?? 0)
    waited.set(ancestor, (waited.get(ancestor) ?? 0) - takenMs)
    return usedMs - takenMs
  }

  #most(ms: number): number {
    this.#mostMs = Math.max(this.#mostMs, ms)
    return this.#mostMs
  }
}

/** What a cage has in it, as the system tells it. */
export interface CageUse {
  /** since the cage was made */
  readonly cpuTimeMs: number
  readonly rssBytes: number
  /** null where only who looks again and again knows it */
  readonly peakRssBytes: number | null
  /** the system has ended somebody inside, as all together had reached the limit */
  readonly outOfMemory: boolean
}

/** From this share of the limit on memory is counted exactly: the sum counts what processes share for each of them. */
const EXACT_FROM = 0.8

/** For the kinds of containment of which the system tells nothing: by their members. */
export class MemberMeter {
  readonly #cpu = new CpuTally()

  /** What children of ours that belong to nobody have used is nobody's: it must not be there when the next one ends. */
  admit(): void {
    waitedSince()
  }

  /** A child of ours was waited for in this turn. */
  ended(pid: number): void {
    this.#cpu.ended(pid, waitedSince())
  }

  look(handles: readonly OsHandle[], limitBytes: number | null): CageUse | null {
    if (!LINUX) return null
    const started = new Map(handles.map(({ pid, startTime }) => [pid, startTime]))
    const members = usesOf([...started.keys()]).filter(({ pid, startTime }) => started.get(pid) === startTime)
    return { cpuTimeMs: this.#cpu.count(members), rssBytes: residentIn(members, limitBytes), peakRssBytes: null, outOfMemory: false }
  }
}

export function usesOf(pids: readonly number[]): Use[] {
  return pids.map(useOf).filter((use) => use !== null)
}

export function residentIn(members: readonly Use[], limitBytes: number | null): number {
  const sum = members.reduce((bytes, { rssBytes }) => bytes + rssBytes, 0)
  if (limitBytes === null || sum < EXACT_FROM * limitBytes) return sum
  return members.reduce((bytes, { pid, rssBytes }) => bytes + (shareOf(pid) ?? rssBytes), 0)
}

let waitedBeforeMs = 0
let wasRead = false

/** What the children that this program has waited for since the last call had used; 0 where nobody tells. All that ended in one turn are told to the first who asks. */
function waitedSince(): number {
  // They are all waited for before anybody hears of the first of them.
  if (wasRead) return 0
  wasRead = true
  setImmediate(() => { wasRead = false })
  const { waitedMs = 0 } = useOf(process.pid) ?? {}
  const since = Math.max(0, waitedMs - waitedBeforeMs)
  waitedBeforeMs = waitedMs
  return since
}
