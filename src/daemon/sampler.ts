// The sampler: measures what the programs of the running incarnations use, and tells the kernel of it when that matters.
// Owns when it looks (every 5 s, every second where a limit on such use counts, never at what stands still) and what is worth a
// fact. Decides nothing: what a limit does is the kernel's. Test: test/tables/sampler.test.ts, test/e2e/measured.test.ts.
import { payerOf } from '../kernel/accounts.ts'
import type { Containment, Metered } from '../drivers/contain/contain.ts'
import type { Report } from '../kernel/reports.ts'
import type { Measured } from '../kernel/usage.ts'
import type { Limits, Pid, Process, Uuid } from '../kernel/types.ts'
import type { Clock } from './clock.ts'

export const SAMPLE_MS = 5_000
export const LIMITED_MS = 1_000
/** What no limit asks for is told this often at most. */
export const TELL_MS = 30_000

/** Less than this is not told before the end: an agent that waits must not keep the disk awake. */
const LEAST = { cpuTimeMs: 100, outputBytes: 65_536, rssBytes: 8_388_608 }
/** Of memory this share must have come or gone, too. */
const RSS_SHARE = 0.2
/** Of a limit this much is worth to be told; of memory from this share of the limit on. */
const LIMIT_SHARE = 0.01
const NEAR = 0.8

type MeasuredReport = Extract<Report, { readonly type: 'measured' }>

export interface SamplerParts {
  readonly clock: Clock
  readonly get: (uuid: Uuid) => Process | undefined
  readonly tell: (uuid: Uuid, pid: Pid, report: MeasuredReport) => void
  readonly log: (message: string, error: unknown) => void
}

type Measurable = Pick<Containment, 'measure' | 'used' | 'limitMemory'>

/** One incarnation: what was told of it, and what it is now. */
interface Entry {
  readonly pid: Pid
  readonly containment: Measurable
  /** the totals up to which it was told */
  readonly told: { cpuTimeMs: number; outputBytes: number; rssBytes: number; outOfMemory: boolean }
  /** what its memory is kept below */
  limitBytes: number | null
  peakRssBytes: number
  toldMono: number
  nextMono: number
  /** it was looked at since it stands still */
  still: boolean
  /** it was said that it cannot be measured */
  failed: boolean
}

export class Sampler {
  readonly #parts: SamplerParts
  readonly #entries = new Map<Uuid, Entry>()
  #timer: { readonly at: number; readonly cancel: () => void } | null = null

  constructor(parts: SamplerParts) {
    this.#parts = parts
  }

  /** From its first program on. */
  watch({ uuid, pid, spec }: Pick<Process, 'uuid' | 'pid' | 'spec'>, containment: Measurable): void {
    const limitBytes = spec.limits.memoryBytes ?? null
    containment.limitMemory(limitBytes)
    containment.used.then(() => {
      const { mono } = this.#parts.clock.now()
      const told = { cpuTimeMs: 0, outputBytes: 0, rssBytes: 0, outOfMemory: false }
      this.#entries.set(uuid, { pid, containment, told, limitBytes, peakRssBytes: 0, toldMono: mono, nextMono: mono + LIMITED_MS, still: false, failed: false })
      this.#arm()
    }, () => undefined)
  }

  /** It goes on. */
  wake(uuid: Uuid): void {
    const entry = this.#entries.get(uuid)
    if (!entry) return
    Object.assign(entry, { still: false, nextMono: this.#parts.clock.now().mono })
    this.#arm()
  }

  /** What was not told of one that ends, or is about to: a hundred may end at once, so that nobody is looked for. */
  last({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): MeasuredReport | null {
    const entry = this.#entries.get(uuid)
    return entry?.pid === pid ? this.#look(entry, () => true, 'known') : null
  }

  /** Tells what was not told of all that run: for a daemon that stops. */
  flush(): void {
    for (const [uuid, entry] of this.#entries) this.#sample(uuid, entry, () => true)
    this.stop()
  }

  forget({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): void {
    if (this.#entries.get(uuid)?.pid === pid) this.#entries.delete(uuid)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #arm(): void {
    const at = [...this.#entries.values()].reduce((nearest, { still, nextMono }) => (still ? nearest : Math.min(nearest, nextMono)), Infinity)
    if (at === Infinity || (this.#timer && this.#timer.at <= at)) return
    this.#timer?.cancel()
    const { clock } = this.#parts
    this.#timer = { at, cancel: clock.after(Math.max(0, at - clock.now().mono), () => this.#tick()) }
  }

  #tick(): void {
    this.#timer = null
    const { mono } = this.#parts.clock.now()
    for (const [uuid, entry] of this.#entries) {
      const process = this.#parts.get(uuid)
      if (entry.still || entry.nextMono > mono || process?.pid !== entry.pid) continue
      const limits = this.#limitsOver(process)
      entry.nextMono = mono + (limits.length > 0 ? LIMITED_MS : SAMPLE_MS)
      entry.still = standsStill(process)
      this.#try(entry, () => keepBelow(entry, process.spec.limits.memoryBytes ?? null))
      this.#sample(uuid, entry, (measured) => entry.still || isWorthIt(measured, { entry, process, limits, sinceMs: mono - entry.toldMono }))
    }
    for (const [uuid, { pid }] of this.#entries) if (this.#parts.get(uuid)?.pid !== pid) this.#entries.delete(uuid)
    this.#arm()
  }

  #sample(uuid: Uuid, entry: Entry, isWorth: (measured: Measured) => boolean): void {
    const report = this.#look(entry, isWorth)
    if (report) this.#parts.tell(uuid, entry.pid, report)
  }

  #look(entry: Entry, isWorth: (measured: Measured) => boolean, how: 'look' | 'known' = 'look'): MeasuredReport | null {
    const now = this.#try(entry, () => entry.containment.measure(how))
    if (!now) return null
    entry.peakRssBytes = Math.max(entry.peakRssBytes, now.rssBytes, now.peakRssBytes ?? 0)
    const measured = since(entry, now)
    const isOut = now.outOfMemory && !entry.told.outOfMemory
    if (!isOut && (isNothing(measured, entry) || !isWorth(measured))) return null
    Object.assign(entry.told, { cpuTimeMs: entry.told.cpuTimeMs + measured.cpuTimeMs, outputBytes: now.outputBytes, rssBytes: now.rssBytes, outOfMemory: now.outOfMemory })
    entry.toldMono = this.#parts.clock.now().mono
    return { type: 'measured', measured, ...(isOut ? { outOfMemory: true } : {}) }
  }

  /** No timer of the daemon's may fail over one process; what cannot be done is told once. */
  #try<T>(entry: Entry, work: () => T): T | null {
    try {
      return work()
    } catch (error) {
      if (!entry.failed) this.#parts.log(`what process ${entry.pid} uses cannot be measured, or limited`, error)
      entry.failed = true
      return null
    }
  }

  /** Its own and those of who pays for it, as far as such use counts against them. */
  #limitsOver(process: Process): readonly Limits[] {
    const found: Limits[] = []
    for (let each: Process | undefined = process; each !== undefined;) {
      const { cpuTimeMs, memoryBytes, outputBytes } = each.spec.limits
      if (cpuTimeMs !== undefined || memoryBytes !== undefined || outputBytes !== undefined) found.push(each.spec.limits)
      const payer: Uuid | null = payerOf(each)
      each = payer === null ? undefined : this.#parts.get(payer)
    }
    return found
  }
}

/** It may have been given more. */
function keepBelow(entry: Entry, bytes: number | null): void {
  if (entry.limitBytes === bytes) return
  entry.limitBytes = bytes
  entry.containment.limitMemory(bytes)
}

function since({ told, peakRssBytes }: Entry, now: Metered): Measured {
  return {
    cpuTimeMs: Math.max(0, Math.round(now.cpuTimeMs) - told.cpuTimeMs), outputBytes: now.outputBytes - told.outputBytes,
    rssBytes: now.rssBytes, peakRssBytes,
  }
}

function isNothing({ cpuTimeMs, outputBytes, rssBytes }: Measured, { told }: Entry): boolean {
  return cpuTimeMs === 0 && outputBytes === 0 && rssBytes === told.rssBytes
}

function standsStill({ life }: Process): boolean {
  return life.state !== 'running' || (life.holds.length > 0 && life.drained)
}

interface Worth {
  readonly entry: Entry
  readonly process: Process
  readonly limits: readonly Limits[]
  readonly sinceMs: number
}

function isWorthIt(measured: Measured, { entry, process, limits, sinceMs }: Worth): boolean {
  if (limits.some((each) => isNear(measured, each, entry))) return true
  if (isReached(measured, process)) return true
  if (sinceMs < TELL_MS) return false
  const rssChange = Math.abs(measured.rssBytes - entry.told.rssBytes)
  return measured.cpuTimeMs >= LEAST.cpuTimeMs || measured.outputBytes >= LEAST.outputBytes
    || (rssChange >= LEAST.rssBytes && rssChange >= RSS_SHARE * entry.told.rssBytes)
}

/** A good part of a limit was used since it was told; memory also counts where it was. */
function isNear(measured: Measured, { cpuTimeMs, outputBytes, memoryBytes }: Limits, { told }: Entry): boolean {
  if (cpuTimeMs !== undefined && measured.cpuTimeMs >= LIMIT_SHARE * cpuTimeMs) return true
  if (outputBytes !== undefined && measured.outputBytes >= LIMIT_SHARE * outputBytes) return true
  if (memoryBytes === undefined || measured.rssBytes < NEAR * memoryBytes) return false
  return Math.abs(measured.rssBytes - told.rssBytes) >= LIMIT_SHARE * memoryBytes
}

function isReached(measured: Measured, { usage, spec: { limits } }: Process): boolean {
  const { cpuTimeMs = Infinity, outputBytes = Infinity, memoryBytes = Infinity } = limits
  return (usage.cpuTimeMs ?? 0) + measured.cpuTimeMs >= cpuTimeMs || (usage.outputBytes ?? 0) + measured.outputBytes >= outputBytes || measured.rssBytes >= memoryBytes
}
