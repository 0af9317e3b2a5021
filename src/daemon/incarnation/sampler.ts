// The sampler: measures the resource usage of the programs of running incarnations, and reports relevant changes to the kernel. Measures
// every 5 s, or every second under a limit of CPU time, memory or output. A suspended process is not measured. The kernel enforces the
// limits. Test: test/tables/daemon/incarnation/sampler.test.ts, test/e2e/limits/resource-limits.test.ts.
import { payerOf } from '../../kernel/state/accounts.ts'
import type { Containment, ContainmentUsage } from '../../drivers/contain/containment-contract.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { Measured } from '../../kernel/model/usage.ts'
import type { Process } from '../../kernel/model/process.ts'
import { Alarm } from '../loop/alarm.ts'
import type { Clock } from '../loop/clock.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'
import type { Limits } from '../../kernel/model/words.ts'

/** Interval of measurements without a limit, in ms. */
export const SAMPLE_MS = 5_000
/** Interval of measurements under a limit, in ms. */
const LIMITED_SAMPLE_MS = 1_000
/** The shortest time between two reports of usage that is near no limit, in ms. */
const REPORT_MS = 30_000

/** A smaller change is reported only at the end: a waiting agent must not cause disk writes. */
const MIN_CHANGE = { cpuTimeMs: 100, outputBytes: 65_536, rssBytes: 8_388_608 }
/** A change of memory is reported only if it is at least this share of the last reported value. */
const RSS_SHARE = 0.2
/** Usage since the last report that is worth a report at once, as a share of its limit. */
const LIMIT_SHARE = 0.01
/** A change of memory is worth such a report only if the use is at least this share of the memory limit. */
const NEAR_LIMIT = 0.8

type MeasuredReport = Extract<Report, { readonly type: 'measured' }>

export interface SamplerDeps {
  readonly clock: Clock
  readonly get: (uuid: Uuid) => Process | undefined
  readonly report: (uuid: Uuid, pid: Pid, report: MeasuredReport) => void
  readonly log: (message: string, error: unknown) => void
}

type Measurable = Pick<Containment, 'measure' | 'firstStart' | 'limitMemory'>

/** A measured incarnation. */
interface MeasuredIncarnation {
  readonly pid: Pid
  readonly containment: Measurable
  /** the totals that were reported so far */
  readonly reported: { cpuTimeMs: number; outputBytes: number; rssBytes: number; outOfMemory: boolean }
  /** the memory limit that the containment enforces now, in bytes */
  limitBytes: number | null
  /** the largest memory usage so far */
  peakRssBytes: number
  /** the time of the last report, in monotonic ms */
  reportedMono: number
  /** true if an error of measuring was already logged */
  isErrorLogged: boolean
}

export class Sampler {
  readonly #deps: SamplerDeps
  readonly #entries = new Map<Uuid, MeasuredIncarnation>()
  /** the time of the next measurement of each process; a suspended one has none after its last measurement */
  readonly #alarm: Alarm

  constructor(deps: SamplerDeps) {
    this.#deps = deps
    this.#alarm = new Alarm(deps.clock, 'mono', (uuid) => this.#onMeasurementDue(uuid))
  }

  /** Measures an incarnation from the start of its first program. */
  watch({ uuid, pid, spec }: Pick<Process, 'uuid' | 'pid' | 'spec'>, containment: Measurable): void {
    const limitBytes = spec.limits.memoryBytes ?? null
    containment.limitMemory(limitBytes)
    containment.firstStart.then(
      () => {
        const { mono } = this.#deps.clock.now()
        const reported = { cpuTimeMs: 0, outputBytes: 0, rssBytes: 0, outOfMemory: false }
        this.#entries.set(uuid, { pid, containment, reported, limitBytes, peakRssBytes: 0, reportedMono: mono, isErrorLogged: false })
        this.#alarm.set(uuid, mono + LIMITED_SAMPLE_MS)
      },
      () => undefined,
    )
  }

  /** Continues the measurements of a process that is no longer suspended. */
  wake(uuid: Uuid): void {
    if (this.#entries.has(uuid)) this.#alarm.set(uuid, this.#deps.clock.now().mono)
  }

  /**
   * Returns the unreported usage of an incarnation that ends; null if there is none. Reads no OS process, because hundreds may end at once.
   */
  takeUnreported({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): MeasuredReport | null {
    const entry = this.#entries.get(uuid)
    return entry?.pid === pid ? this.#measure(entry, () => true, 'known') : null
  }

  /** Reports the unreported usage of all incarnations, and stops. For a daemon that stops. */
  flush(): void {
    for (const [uuid, entry] of this.#entries) this.#sample(uuid, entry, () => true)
    this.stop()
  }

  forget({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): void {
    if (this.#entries.get(uuid)?.pid !== pid) return
    this.#entries.delete(uuid)
    this.#alarm.set(uuid, null)
  }

  stop(): void {
    this.#alarm.stop()
  }

  #onMeasurementDue(uuid: Uuid): void {
    const entry = this.#entries.get(uuid)
    const process = this.#deps.get(uuid)
    if (!entry) return
    if (process?.pid !== entry.pid) {
      this.#entries.delete(uuid)
      return
    }
    const { mono } = this.#deps.clock.now()
    const limits = this.#applicableLimits(process)
    const isPaused = isFullyPaused(process)
    if (!isPaused) this.#alarm.set(uuid, mono + (limits.length > 0 ? LIMITED_SAMPLE_MS : SAMPLE_MS))
    this.#runSafely(entry, () => applyMemoryLimit(entry, process.spec.limits.memoryBytes ?? null))
    this.#sample(
      uuid,
      entry,
      (measured) => isPaused || isWorthReport(measured, { entry, process, limits, sinceMs: mono - entry.reportedMono }),
    )
  }

  #sample(uuid: Uuid, entry: MeasuredIncarnation, isWorthReporting: (measured: Measured) => boolean): void {
    const report = this.#measure(entry, isWorthReporting)
    if (report) this.#deps.report(uuid, entry.pid, report)
  }

  /**
   * Returns the usage since the last report, and counts it as reported; null if it is not worth a report. With `known` it reads no OS
   * process.
   */
  #measure(
    entry: MeasuredIncarnation,
    isWorthReporting: (measured: Measured) => boolean,
    how: 'all' | 'known' = 'all',
  ): MeasuredReport | null {
    const now = this.#runSafely(entry, () => entry.containment.measure(how))
    if (!now) return null
    entry.peakRssBytes = Math.max(entry.peakRssBytes, now.rssBytes, now.peakRssBytes ?? 0)
    const measured = usageSinceReport(entry, now)
    const isNewlyOutOfMemory = now.outOfMemory && !entry.reported.outOfMemory
    if (!isNewlyOutOfMemory && (isUnchanged(measured, entry) || !isWorthReporting(measured))) return null
    Object.assign(entry.reported, {
      cpuTimeMs: entry.reported.cpuTimeMs + measured.cpuTimeMs,
      outputBytes: now.outputBytes,
      rssBytes: now.rssBytes,
      outOfMemory: now.outOfMemory,
    })
    entry.reportedMono = this.#deps.clock.now().mono
    return { type: 'measured', measured, ...(isNewlyOutOfMemory ? { outOfMemory: true } : {}) }
  }

  /** Runs `work`. Returns null after an error, so that one process cannot stop the timer of all; the first error is logged. */
  #runSafely<T>(entry: MeasuredIncarnation, work: () => T): T | null {
    try {
      return work()
    } catch (error) {
      if (!entry.isErrorLogged) this.#deps.log(`the usage of process ${entry.pid} cannot be measured, or limited`, error)
      entry.isErrorLogged = true
      return null
    }
  }

  /** The limits of CPU time, memory or output that apply to a process: its own, and those of its payers. */
  #applicableLimits(process: Process): readonly Limits[] {
    const found: Limits[] = []
    for (let limited: Process | undefined = process; limited !== undefined;) {
      const { cpuTimeMs, memoryBytes, outputBytes } = limited.spec.limits
      if (cpuTimeMs !== undefined || memoryBytes !== undefined || outputBytes !== undefined) found.push(limited.spec.limits)
      const payer: Uuid | null = payerOf(limited)
      limited = payer === null ? undefined : this.#deps.get(payer)
    }
    return found
  }
}

/** Sets the memory limit of the containment, if it has changed. */
function applyMemoryLimit(entry: MeasuredIncarnation, bytes: number | null): void {
  if (entry.limitBytes === bytes) return
  entry.limitBytes = bytes
  entry.containment.limitMemory(bytes)
}

function usageSinceReport({ reported, peakRssBytes }: MeasuredIncarnation, now: ContainmentUsage): Measured {
  return {
    cpuTimeMs: Math.max(0, Math.round(now.cpuTimeMs) - reported.cpuTimeMs),
    outputBytes: now.outputBytes - reported.outputBytes,
    rssBytes: now.rssBytes,
    peakRssBytes,
  }
}

function isUnchanged({ cpuTimeMs, outputBytes, rssBytes }: Measured, { reported }: MeasuredIncarnation): boolean {
  return cpuTimeMs === 0 && outputBytes === 0 && rssBytes === reported.rssBytes
}

/** True if the process has ended, or is suspended with no work in flight. */
function isFullyPaused({ life }: Process): boolean {
  return life.state !== 'running' || (life.holds.length > 0 && life.drained)
}

interface ReportContext {
  readonly entry: MeasuredIncarnation
  readonly process: Process
  readonly limits: readonly Limits[]
  readonly sinceMs: number
}

function isWorthReport(measured: Measured, { entry, process, limits, sinceMs }: ReportContext): boolean {
  if (limits.some((limit) => isLimitShareUsed(measured, limit, entry))) return true
  if (isLimitReached(measured, process)) return true
  if (sinceMs < REPORT_MS) return false
  const rssChange = Math.abs(measured.rssBytes - entry.reported.rssBytes)
  return (
    measured.cpuTimeMs >= MIN_CHANGE.cpuTimeMs ||
    measured.outputBytes >= MIN_CHANGE.outputBytes ||
    (rssChange >= MIN_CHANGE.rssBytes && rssChange >= RSS_SHARE * entry.reported.rssBytes)
  )
}

/** True if at least `LIMIT_SHARE` of a limit was used since the last report; for memory, only near the limit. */
function isLimitShareUsed(measured: Measured, { cpuTimeMs, outputBytes, memoryBytes }: Limits, { reported }: MeasuredIncarnation): boolean {
  if (cpuTimeMs !== undefined && measured.cpuTimeMs >= LIMIT_SHARE * cpuTimeMs) return true
  if (outputBytes !== undefined && measured.outputBytes >= LIMIT_SHARE * outputBytes) return true
  if (memoryBytes === undefined || measured.rssBytes < NEAR_LIMIT * memoryBytes) return false
  return Math.abs(measured.rssBytes - reported.rssBytes) >= LIMIT_SHARE * memoryBytes
}

/** True if the process has reached one of its own limits. */
function isLimitReached(measured: Measured, { usage, spec: { limits } }: Process): boolean {
  const { cpuTimeMs = Infinity, outputBytes = Infinity, memoryBytes = Infinity } = limits
  return (
    (usage.cpuTimeMs ?? 0) + measured.cpuTimeMs >= cpuTimeMs ||
    (usage.outputBytes ?? 0) + measured.outputBytes >= outputBytes ||
    measured.rssBytes >= memoryBytes
  )
}
