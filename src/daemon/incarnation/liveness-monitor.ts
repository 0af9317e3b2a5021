// The liveness monitor: observes running processes by their facts, their output and the operating system. Submits each change of their
// liveness, and each loop that the loop detector finds. Sets a timer only while processes run. Ignores suspended processes, whose time does
// not count. Observations are in memory only; the kernel decides what to do about them.
// Test: test/tables/daemon/incarnation/liveness-monitor.test.ts, test/e2e/lifecycle/liveness.test.ts.
import {
  activityText,
  judgeLiveness,
  thresholdsOf,
  type LivenessJudgement,
  type Thresholds,
} from '../../kernel/decide/liveness/liveness.ts'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { LoopDetector } from '../../kernel/decide/liveness/loops.ts'
import { isSuspended } from '../../kernel/model/status.ts'
import type { FactType, StoredFact } from '../../kernel/model/facts.ts'
import type { InputBody } from '../../kernel/model/inputs.ts'
import type { Process } from '../../kernel/model/process.ts'
import { Alarm } from '../loop/alarm.ts'
import type { Clock } from '../loop/clock.ts'
import type { Now, Pid, Uuid } from '../../kernel/model/ids.ts'
import type { LivenessWord } from '../../kernel/model/words.ts'

export interface LivenessMonitorDeps {
  readonly clock: Clock
  readonly get: (uuid: Uuid) => Process | undefined
  readonly submit: (input: InputBody) => void
  /** finds a program of the process that a signal has stopped; returns its OS pid, or null */
  readonly findStopped: (process: Process) => Promise<number | null>
  readonly log: (message: string, error: unknown) => void
}

/** Observations of one incarnation; times in monotonic ms, null: none. */
interface Observation {
  readonly pid: Pid
  readonly thresholds: Thresholds
  readonly loops: LoopDetector | null
  outputAt: number
  progressAt: number
  waitingAt: number | null
  stoppedAt: number | null
  stoppedPid: number | null
  /** true if an error of `findStopped` was already logged */
  isErrorLogged: boolean
  retryAt: number | null
  /** the liveness that was last reported to the kernel */
  reported: LivenessWord
}

/** Facts that show progress of the agent. A first `model.started` of a step counts as progress, too. */
const PROGRESS_FACTS: ReadonlySet<FactType> = new Set<FactType>([
  'process.started',
  'process.attached',
  'process.resumed',
  'process.released',
  'process.ready',
  'process.working',
  'process.waiting',
  'process.answered',
  'process.delivered',
  'process.unanswered',
  'process.unasked',
  'model.finished',
  'tool.started',
  'tool.finished',
  'call.finished',
  'context.compacted',
  'mcp.servers',
])
/** Facts that show output, but no progress. */
const OUTPUT_FACTS: ReadonlySet<FactType> = new Set<FactType>([
  'process.output',
  'process.error',
  'process.note',
  'process.handle',
  'model.started',
  'model.failed',
  'usage.reported',
  'call.started',
  'compaction.started',
  'compaction.failed',
])
/** Bounds in ms of the period between checks of quiet programs. The period is half of the time after which a program counts as stopped. */
const CHECK_PERIOD_MS = { least: 250, most: 5_000 } as const

export class LivenessMonitor {
  readonly #deps: LivenessMonitorDeps
  readonly #observations = new Map<Uuid, Observation>()
  /** the time of the next check of each process, if no fact comes before */
  readonly #alarm: Alarm

  constructor(deps: LivenessMonitorDeps) {
    this.#deps = deps
    this.#alarm = new Alarm(deps.clock, 'mono', (uuid) => this.#recheck(uuid))
  }

  /** Must be called with the facts of each commit, after they were applied. */
  onFacts(facts: readonly StoredFact[]): void {
    const now = this.#deps.clock.now()
    for (const { uuid, body, at } of facts) {
      const process = this.#deps.get(uuid)
      const observation = this.#observationOf(uuid, process, now)
      if (!observation || !process) continue
      if (PROGRESS_FACTS.has(body.type) || (body.type === 'model.started' && body.attempt === 1))
        observation.outputAt = observation.progressAt = now.mono
      else if (OUTPUT_FACTS.has(body.type)) observation.outputAt = now.mono
      if (body.type === 'model.failed' || body.type === 'compaction.failed') observation.retryAt = now.mono + (body.retryInMs ?? 0)
      const evidence = observation.loops?.observe(body, at) ?? null
      if (evidence !== null) this.#deps.submit({ type: 'loop', uuid, pid: process.pid, evidence })
      this.#check(process, observation, now)
    }
  }

  /** Records output of a process that is not a fact: live text of a model or a tool. Counts as progress. */
  recordOutput(uuid: Uuid): void {
    const observation = this.#observations.get(uuid)
    if (!observation) return
    const now = this.#deps.clock.now()
    observation.outputAt = observation.progressAt = now.mono
    const process = this.#deps.get(uuid)
    if (process && observation.reported !== 'alive') this.#check(process, observation, now)
  }

  /** The times of the last output and the last progress of a process; null if it is not observed. */
  lastActivity(uuid: Uuid): Pick<Observation, 'outputAt' | 'progressAt'> | null {
    return this.#observations.get(uuid) ?? null
  }

  stop(): void {
    this.#alarm.stop()
    this.#observations.clear()
  }

  /**
   * Returns the observation of a running process, and begins it if needed. For any other process, ends the observation and returns null.
   */
  #observationOf(uuid: Uuid, process: Process | undefined, now: Now): Observation | null {
    if (!process || process.life.state !== 'running' || !process.life.attached || process.life.stopping || isSuspended(process)) {
      this.#observations.delete(uuid)
      this.#alarm.set(uuid, null)
      return null
    }
    const known = this.#observations.get(uuid)
    if (known?.pid === process.pid) return known
    const thresholds = thresholdsOf(process.spec)
    const observation: Observation = {
      pid: process.pid,
      thresholds,
      loops: isPlainCommand(process.spec) ? null : new LoopDetector(thresholds),
      outputAt: now.mono,
      progressAt: now.mono,
      waitingAt: null,
      stoppedAt: null,
      stoppedPid: null,
      isErrorLogged: false,
      retryAt: null,
      reported: process.liveness?.word ?? 'alive',
    }
    this.#observations.set(uuid, observation)
    return observation
  }

  /** Judges the current liveness, reports a change, and schedules the next check. */
  #check(process: Process, observation: Observation, now: Now): void {
    const { word, since, dueAt } = this.#judge(process, observation, now)
    if (word !== observation.reported) {
      observation.reported = word
      const evidence =
        word === 'stopped' ? `OS pid ${observation.stoppedPid ?? 0}` : word === 'waiting' ? 'for the user' : activityText(process)
      this.#deps.submit({
        type: 'liveness',
        uuid: process.uuid,
        pid: process.pid,
        word,
        since: Math.round(now.wall - (now.mono - since)),
        evidence,
      })
    }
    const times = [
      dueAt,
      hasPrograms(process) && observation.thresholds.stoppedMs !== null ? nextCheckAt(now.mono, observation.thresholds.stoppedMs) : null,
    ].filter((at) => at !== null)
    this.#alarm.set(process.uuid, times.length > 0 ? Math.min(...times) : null)
  }

  #judge(process: Process, observation: Observation, now: Now): LivenessJudgement {
    const activity = process.life.state === 'running' ? process.life.activity : 'ready'
    if (activity === 'waiting') observation.waitingAt ??= now.mono
    else if (observation.waitingAt !== null) {
      observation.waitingAt = null
      observation.outputAt = observation.progressAt = now.mono
    }
    if (activity === 'ready') return { word: 'alive', since: now.mono, dueAt: null }
    return judgeLiveness(observation, observation.thresholds, now.mono)
  }

  /** Checks a process without a new fact; looks at its programs first if they are quiet. */
  #recheck(uuid: Uuid): void {
    const now = this.#deps.clock.now()
    const process = this.#deps.get(uuid)
    const observation = this.#observationOf(uuid, process, now)
    if (!observation || !process) return
    if (isQuiet(process, observation, now.mono)) return this.#checkPrograms(process, observation)
    observation.stoppedAt = null
    this.#check(process, observation, now)
  }

  #checkPrograms(process: Process, observation: Observation): void {
    this.#deps.findStopped(process).then(
      (pid) => this.#recordStopped(process, observation, pid),
      (error: unknown) => {
        if (!observation.isErrorLogged) this.#deps.log(`the programs of process ${process.pid} cannot be examined`, error)
        observation.isErrorLogged = true
        // The last result stays, and the programs are checked again later.
        this.#recordStopped(process, observation, observation.stoppedPid)
      },
    )
  }

  /** Records the result of a check: the OS pid of a stopped program, or null. */
  #recordStopped(process: Process, observation: Observation, pid: number | null): void {
    const now = this.#deps.clock.now()
    if (this.#observations.get(process.uuid) !== observation) return
    observation.stoppedAt = pid === null ? null : (observation.stoppedAt ?? now.mono)
    observation.stoppedPid = pid
    this.#check(this.#deps.get(process.uuid) ?? process, observation, now)
  }
}

/** True if the process runs programs that a signal could stop: an external agent, or the tools of a native agent. */
function hasPrograms({ handle, progress, life }: Process): boolean {
  return life.state === 'running' && life.activity !== 'ready' && (handle !== null || progress.openCalls.length > 0)
}

/** True if the programs of a process may be stopped, because they have written nothing during the last check period. */
function isQuiet(process: Process, { thresholds, outputAt }: Observation, now: number): boolean {
  return thresholds.stoppedMs !== null && hasPrograms(process) && now - outputAt >= checkPeriodMs(thresholds.stoppedMs)
}

function checkPeriodMs(stoppedMs: number): number {
  return Math.min(CHECK_PERIOD_MS.most, Math.max(CHECK_PERIOD_MS.least, stoppedMs / 2))
}

/** The time of the next check, rounded up so that the checks of many processes share a timer. */
function nextCheckAt(now: number, stoppedMs: number): number {
  return Math.ceil((now + checkPeriodMs(stoppedMs)) / CHECK_PERIOD_MS.least) * CHECK_PERIOD_MS.least
}
