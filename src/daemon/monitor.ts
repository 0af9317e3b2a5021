// The heartbeat monitor: sees what running processes do, by their facts, by what they write and by the operating system, and
// says so when the word for it changes. Also feeds the loop detector. Runs only while something runs; suspended processes
// are passed over, and their time does not count. Owns what was seen, in memory; the kernel decides what follows.
// Test: test/tables/monitor.test.ts, test/processes/liveness.test.ts.
import { doing, judge, thresholdsOf, type Judged, type LivenessWord, type Thresholds } from '../kernel/liveness.ts'
import { isPlainCommand } from '../kernel/capabilities.ts'
import { LoopWatch } from '../kernel/loops.ts'
import { isSuspended } from '../kernel/status.ts'
import type { FactType, StoredFact } from '../kernel/facts.ts'
import type { InputBody } from '../kernel/inputs.ts'
import type { Now, Pid, Process, Uuid } from '../kernel/types.ts'
import type { Clock } from './clock.ts'

export interface MonitorParts {
  readonly clock: Clock
  readonly get: (uuid: Uuid) => Process | undefined
  readonly submit: (input: InputBody) => void
  /** the PID of a program of it that somebody has stopped */
  readonly stopped: (process: Process) => Promise<number | null>
  readonly log: (message: string, error: unknown) => void
}

/** What was seen of one incarnation; monotonic ms. */
interface Watch {
  readonly pid: Pid
  readonly limits: Thresholds
  readonly loops: LoopWatch | null
  outputAt: number
  progressAt: number
  waitingAt: number | null
  stoppedAt: number | null
  stoppedPid: number | null
  retryAt: number | null
  /** what the kernel was told last */
  told: LivenessWord
}

/** What the agent itself did. A step that only begins again, and what it prints, is output and no progress. */
const PROGRESS: ReadonlySet<FactType> = new Set<FactType>([
  'process.started', 'process.attached', 'process.resumed', 'process.released', 'process.ready', 'process.working', 'process.waiting', 'process.answered',
  'process.unasked', 'model.finished', 'tool.started', 'tool.finished', 'call.finished', 'context.compacted', 'mcp.servers',
])
const OUTPUT: ReadonlySet<FactType> = new Set<FactType>([
  'process.output', 'process.error', 'process.note', 'process.handle', 'model.started', 'model.failed', 'usage.reported', 'call.started', 'compaction.started', 'compaction.failed',
])
/** How often quiet programs are looked at, in ms: half of the time after which one counts as stopped, within these. */
const LOOK_MS = { least: 250, most: 5_000 } as const

export class Monitor {
  readonly #parts: MonitorParts
  readonly #watches = new Map<Uuid, Watch>()
  #armed: { readonly at: number; readonly cancel: () => void } | null = null

  constructor(parts: MonitorParts) {
    this.#parts = parts
  }

  /** Facts in order, after they were applied. */
  see(facts: readonly StoredFact[]): void {
    const now = this.#parts.clock.now()
    for (const { uuid, body } of facts) {
      const process = this.#parts.get(uuid)
      const watch = this.#watchOf(uuid, process, now)
      if (!watch || !process) continue
      if (PROGRESS.has(body.type) || (body.type === 'model.started' && body.attempt === 1)) watch.outputAt = watch.progressAt = now.mono
      else if (OUTPUT.has(body.type)) watch.outputAt = now.mono
      if (body.type === 'model.failed' || body.type === 'compaction.failed') watch.retryAt = now.mono + (body.retryInMs ?? 0)
      const evidence = watch.loops?.see(body) ?? null
      if (evidence !== null) this.#parts.submit({ type: 'loop', uuid, pid: process.pid, evidence })
      this.#look(process, watch, now)
    }
  }

  /** It writes: text of a model, or what a tool prints. */
  heard(uuid: Uuid): void {
    const watch = this.#watches.get(uuid)
    if (!watch) return
    const now = this.#parts.clock.now()
    watch.outputAt = watch.progressAt = now.mono
    const process = this.#parts.get(uuid)
    if (process && watch.told !== 'alive') this.#look(process, watch, now)
  }

  /** When it last wrote and got on, and what it is held to; null: it is not watched. */
  seen(uuid: Uuid): Pick<Watch, 'outputAt' | 'progressAt'> | null {
    return this.#watches.get(uuid) ?? null
  }

  stop(): void {
    this.#armed?.cancel()
    this.#armed = null
    this.#watches.clear()
  }

  #watchOf(uuid: Uuid, process: Process | undefined, now: Now): Watch | null {
    if (!process || process.life.state !== 'running' || !process.life.attached || process.life.stopping || isSuspended(process)) {
      this.#watches.delete(uuid)
      return null
    }
    const known = this.#watches.get(uuid)
    if (known?.pid === process.pid) return known
    const limits = thresholdsOf(process.spec)
    const watch: Watch = {
      pid: process.pid, limits, loops: isPlainCommand(process.spec) ? null : new LoopWatch(limits),
      outputAt: now.mono, progressAt: now.mono, waitingAt: null, stoppedAt: null, stoppedPid: null, retryAt: null, told: process.liveness?.word ?? 'alive',
    }
    this.#watches.set(uuid, watch)
    return watch
  }

  /** Judges it as it is now, says what changed, and sees to it that it is looked at again. */
  #look(process: Process, watch: Watch, now: Now): void {
    const { word, since, dueAt } = this.#judge(process, watch, now)
    if (word !== watch.told) {
      watch.told = word
      const evidence = word === 'stopped' ? `PID ${watch.stoppedPid ?? 0}` : word === 'waiting' ? 'for a person' : doing(process)
      this.#parts.submit({ type: 'liveness', uuid: process.uuid, pid: process.pid, word, since: Math.round(now.wall - (now.mono - since)), evidence })
    }
    const times = [dueAt, hasPrograms(process) && watch.limits.stoppedMs !== null ? now.mono + lookMs(watch.limits.stoppedMs) : null].filter((at) => at !== null)
    if (times.length > 0) this.#armBy(Math.min(...times))
  }

  #judge(process: Process, watch: Watch, now: Now): Judged {
    const activity = process.life.state === 'running' ? process.life.activity : 'ready'
    if (activity === 'waiting') watch.waitingAt ??= now.mono
    else if (watch.waitingAt !== null) {
      watch.waitingAt = null
      watch.outputAt = watch.progressAt = now.mono
    }
    if (activity === 'ready') return { word: 'alive', since: now.mono, dueAt: null }
    return judge(watch, watch.limits, now.mono)
  }

  #armBy(at: number): void {
    if (this.#armed && this.#armed.at <= at) return
    this.#armed?.cancel()
    const { mono } = this.#parts.clock.now()
    this.#armed = { at, cancel: this.#parts.clock.after(Math.max(1, at - mono), () => this.#fire()) }
  }

  /** All are looked at: what is due of one is soon due of others, and it is a few numbers each. */
  #fire(): void {
    this.#armed = null
    const now = this.#parts.clock.now()
    for (const [uuid, watch] of this.#watches) {
      const process = this.#parts.get(uuid)
      if (!process || !this.#watchOf(uuid, process, now)) this.#watches.delete(uuid)
      else if (isQuiet(process, watch, now.mono)) this.#lookAtPrograms(process, watch)
      else {
        watch.stoppedAt = null
        this.#look(process, watch, now)
      }
    }
  }

  #lookAtPrograms(process: Process, watch: Watch): void {
    this.#parts.stopped(process).then(
      (pid) => {
        const now = this.#parts.clock.now()
        if (this.#watches.get(process.uuid) !== watch) return
        watch.stoppedAt = pid === null ? null : (watch.stoppedAt ?? now.mono)
        watch.stoppedPid = pid
        this.#look(this.#parts.get(process.uuid) ?? process, watch, now)
      },
      (error: unknown) => this.#parts.log(`the programs of process ${process.pid} cannot be looked at`, error),
    )
  }
}

/** It has programs of the operating system that could be stopped: an agent of others itself, or the tools of our own. */
function hasPrograms({ handle, progress, life }: Process): boolean {
  return life.state === 'running' && life.activity !== 'ready' && (handle !== null || progress.openCalls.length > 0)
}

/** Who has just written something is not stopped. */
function isQuiet(process: Process, { limits, outputAt }: Watch, now: number): boolean {
  return limits.stoppedMs !== null && hasPrograms(process) && now - outputAt >= lookMs(limits.stoppedMs)
}

function lookMs(stoppedMs: number): number {
  return Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, stoppedMs / 2))
}
