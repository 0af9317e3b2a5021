// Liveness: judges a running process by what was observed, and acts by the policy of that process. There are four problems: stopped by the
// operating system, no output, no progress, waiting for the user. Pure: the monitor provides the observations. Has the default thresholds.
// Must never judge the content of output. Test: test/tables/kernel/decide/liveness/liveness.test.ts.
import { CAPABILITIES, isPlainCommand } from '../../model/capabilities.ts'
import { interruptBySystem } from '../signals.ts'
import { isSuspended } from '../../model/status.ts'
import type { InputOf } from '../../model/inputs.ts'
import type { ExitStatus, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { LivenessWord } from '../../model/words.ts'
import type { LivenessSpec } from '../../model/liveness.ts'
import type { ProcessSpec } from '../../model/process-spec.ts'

export type Thresholds = Required<LivenessSpec>

export const DEFAULT_THRESHOLDS: Thresholds = {
  stoppedMs: 10_000,
  silentMs: 5 * 60_000,
  stalledMs: 15 * 60_000,
  waitingMs: 10 * 60_000,
  policy: 'warn',
  loop: 12,
  errors: 8,
  errorsOf: 10,
}

/** The defaults of a plain command, which has no steps, and may run silently for days. */
const COMMAND_THRESHOLDS: Thresholds = { ...DEFAULT_THRESHOLDS, silentMs: null, stalledMs: null }

/** The thresholds of a supervisor, which has no program and no output. */
const NO_THRESHOLDS: Thresholds = { ...COMMAND_THRESHOLDS, stoppedMs: null, waitingMs: null, loop: null, errors: null }

/** The thresholds of a process: the defaults of its driver, with the settings of its specification. */
export function thresholdsOf(spec: ProcessSpec): Thresholds {
  if (CAPABILITIES[spec.driver].supervisesChildren) return NO_THRESHOLDS
  const isPlain = isPlainCommand(spec)
  const defaults = isPlain ? COMMAND_THRESHOLDS : DEFAULT_THRESHOLDS
  return { ...defaults, ...spec.liveness, ...(isPlain ? { stalledMs: null } : {}) }
}

/** The observations of a process since it began or resumed. All times are monotonic ms. */
export interface Observations {
  readonly outputAt: number
  readonly progressAt: number
  readonly waitingAt: number | null
  /** when it was first seen stopped by the operating system; null: it is not stopped */
  readonly stoppedAt: number | null
  /** when it will retry a model call, by its own report; null: no retry is planned */
  readonly retryAt: number | null
}

export interface LivenessJudgement {
  readonly word: LivenessWord
  /** when the problem began, in monotonic ms; without meaning for `alive` */
  readonly since: number
  /** when the judgement may change without a new observation, in monotonic ms; null: never */
  readonly dueAt: number | null
}

/** The liveness at the time `now`. The first problem that has lasted longer than its threshold counts. */
export function judgeLiveness(observed: Observations, thresholds: Thresholds, now: number): LivenessJudgement {
  const { outputAt, progressAt, waitingAt, stoppedAt, retryAt } = observed
  const notBeforeRetry = (at: number): number => Math.max(at, retryAt ?? 0)
  const problems: readonly (readonly [LivenessWord, since: number | null, ms: number | null])[] = [
    // A process that still writes is not stopped, even if one of its programs is.
    ['stopped', stoppedAt !== null && outputAt <= stoppedAt ? stoppedAt : null, thresholds.stoppedMs],
    ['waiting', waitingAt, thresholds.waitingMs],
    ['stalled', waitingAt === null ? notBeforeRetry(progressAt) : null, thresholds.stalledMs],
    ['silent', waitingAt === null ? notBeforeRetry(outputAt) : null, thresholds.silentMs],
  ]
  let dueAt: number | null = null
  for (const [word, since, ms] of problems) {
    if (since === null || ms === null) continue
    if (now - since >= ms) return { word, since, dueAt }
    dueAt = Math.min(dueAt ?? Infinity, since + ms)
  }
  return { word: 'alive', since: now, dueAt }
}

/** The current activity of a process, for display; '' if nothing is in progress. */
export function activityText({ life, progress }: Process): string {
  if (life.state !== 'running') return ''
  if (life.activity === 'starting') return 'starting'
  const [call] = progress.openCalls
  if (progress.modelOpen) return `in the model call of step ${progress.step}`
  return call ? `in ${call.name} of step ${progress.step}` : ''
}

/** Records a change that the monitor reports, and acts on it. A process that is suspended or stopping is skipped. */
export function recordLiveness(draft: DecisionDraft, { uuid, pid, word, since, evidence }: InputOf<'liveness'>): void {
  const process = draft.get(uuid)
  if (process?.life.state !== 'running' || process.pid !== pid || process.life.stopping || isSuspended(process)) return
  if ((process.liveness?.word ?? 'alive') === word) return
  draft.emit(uuid, { type: 'liveness.changed', word, since, evidence })
  const { policy } = thresholdsOf(process.spec)
  if (word !== 'stalled' || policy === 'warn' || !process.life.attached) return
  if (policy === 'interrupt') return interruptBySystem(draft, uuid, 'liveness')
  endStalled(draft, process, evidence)
}

/** Stops a stalled process. It counts as failed, so its restart policy may restart it. */
function endStalled(draft: DecisionDraft, { uuid, pid, spec }: Process, evidence: string): void {
  const graceMs = Math.max(STALLED_GRACE_MS, spec.graceMs ?? 0)
  const reason = `stalled${evidence === '' ? '' : ` ${evidence}`}`
  const exit: ExitStatus = { code: 1, reason, error: reason, cause: 'agent' }
  draft.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: 'system', at: draft.now.wall, graceMs, exit } })
  draft.addEffect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
}

/** Grace of a process that is ended because it stalled. */
const STALLED_GRACE_MS = 10_000
