// Liveness: one word for what is seen of a process that runs, and what follows from it. Four things are told apart: the
// operating system stopped it, it writes nothing, it gets nowhere, it waits for a person. Pure: what was seen comes in.
// Owns the thresholds and their defaults. Never judges what an agent said; acts only by the process's own policy.
// Test: test/tables/liveness.test.ts.
import { CAPABILITIES, isPlainCommand } from './capabilities.ts'
import { interruptBySystem } from './signalling.ts'
import { isSuspended } from './status.ts'
import type { InputOf } from './inputs.ts'
import type { ExitStatus, Process, ProcessSpec } from './types.ts'
import type { Work } from './work.ts'

/** From the least to the most telling, but for `waiting`, which has a clock of its own. */
export type LivenessWord = 'alive' | 'silent' | 'stalled' | 'waiting' | 'stopped'

/** What is done about a process that is stalled: nothing but telling, its turn ends, or it ends and its restart policy decides. */
export type LivenessPolicy = 'warn' | 'interrupt' | 'restart'

/** Thresholds of one process; null switches one off, an absent one is the default. */
export interface LivenessSpec {
  /** stopped by somebody else's SIGSTOP */
  readonly stoppedMs?: number | null
  /** nothing written, not a byte */
  readonly silentMs?: number | null
  /** no step, no tool, no turn, and no word of a model */
  readonly stalledMs?: number | null
  /** a person was asked */
  readonly waitingMs?: number | null
  readonly policy?: LivenessPolicy
  /** the same again so many times in a row is a loop */
  readonly loop?: number | null
  /** so many failed tool calls among the last `errorsOf` open the breaker */
  readonly errors?: number | null
  readonly errorsOf?: number
}

export type Thresholds = Required<LivenessSpec>

/** What is not as it should be, since when (wall ms), and what it was doing. */
export interface Liveness {
  readonly word: Exclude<LivenessWord, 'alive'>
  readonly since: number
  readonly evidence: string
}

export const LIVENESS: Thresholds = {
  stoppedMs: 10_000, silentMs: 5 * 60_000, stalledMs: 15 * 60_000, waitingMs: 10 * 60_000, policy: 'warn', loop: 5, errors: 8, errorsOf: 10,
}

/** A plain command has no steps, and may well serve in silence for days. */
const PLAIN: Thresholds = { ...LIVENESS, silentMs: null, stalledMs: null }

/** A supervisor has no program, and nothing to say. */
const NOTHING: Thresholds = { ...PLAIN, stoppedMs: null, waitingMs: null, loop: null, errors: null }

export function thresholdsOf(spec: Pick<ProcessSpec, 'driver' | 'format' | 'liveness'>): Thresholds {
  if (CAPABILITIES[spec.driver].keeps) return NOTHING
  const isPlain = isPlainCommand(spec)
  const builtIn = isPlain ? PLAIN : LIVENESS
  return { ...builtIn, ...spec.liveness, ...(isPlain ? { stalledMs: null } : {}) }
}

/** What was seen of a process since it began, or since it woke; monotonic ms. */
export interface Seen {
  readonly outputAt: number
  readonly progressAt: number
  readonly waitingAt: number | null
  /** first seen stopped by the operating system, and not running since */
  readonly stoppedAt: number | null
  /** it said that it tries again then */
  readonly retryAt: number | null
}

export interface Judged {
  readonly word: LivenessWord
  /** since when it is so; of `alive` it says nothing */
  readonly since: number
  /** when the word may be another one, if nothing more is seen; null: never */
  readonly dueAt: number | null
}

export function judge(seen: Seen, limits: Thresholds, now: number): Judged {
  const { outputAt, progressAt, waitingAt, stoppedAt, retryAt } = seen
  const from = (at: number): number => Math.max(at, retryAt ?? 0)
  const marks: readonly (readonly [LivenessWord, since: number | null, ms: number | null])[] = [
    // What still writes is not stopped, whatever of it is.
    ['stopped', stoppedAt !== null && outputAt <= stoppedAt ? stoppedAt : null, limits.stoppedMs],
    ['waiting', waitingAt, limits.waitingMs],
    ['stalled', waitingAt === null ? from(progressAt) : null, limits.stalledMs],
    ['silent', waitingAt === null ? from(outputAt) : null, limits.silentMs],
  ]
  let dueAt: number | null = null
  for (const [word, since, ms] of marks) {
    if (since === null || ms === null) continue
    if (now - since >= ms) return { word, since, dueAt }
    dueAt = Math.min(dueAt ?? Infinity, since + ms)
  }
  return { word: 'alive', since: now, dueAt }
}

/** What it is about, for people. */
export function doing({ life, progress }: Process): string {
  if (life.state !== 'running') return ''
  if (life.activity === 'starting') return 'starting'
  const [call] = progress.openCalls
  if (progress.modelOpen) return `in the model call of step ${progress.step}`
  return call ? `in ${call.name} of step ${progress.step}` : ''
}

/** The monitor saw a change. What has been paused, or is ending, meanwhile is none of its business. */
export function liveness(work: Work, { uuid, pid, word, since, evidence }: InputOf<'liveness'>): void {
  const process = work.get(uuid)
  if (process?.life.state !== 'running' || process.pid !== pid || process.life.stopping || isSuspended(process)) return
  if ((process.liveness?.word ?? 'alive') === word) return
  work.emit(uuid, { type: 'liveness.changed', word, since, evidence })
  const { policy } = thresholdsOf(process.spec)
  if (word !== 'stalled' || policy === 'warn' || !process.life.attached) return
  if (policy === 'interrupt') return interruptBySystem(work, uuid, 'liveness')
  endStalled(work, process, evidence)
}

/** It has failed by itself as far as anybody can tell: a restart policy may begin it again. */
function endStalled(work: Work, { uuid, pid, spec }: Process, evidence: string): void {
  const graceMs = Math.max(STALLED_GRACE_MS, spec.graceMs ?? 0)
  const reason = `stalled${evidence === '' ? '' : ` ${evidence}`}`
  const exit: ExitStatus = { code: 1, reason, error: reason, cause: 'agent' }
  work.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: 'system', at: work.now.wall, graceMs, exit } })
  work.effect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
}

/** Grace of what is ended as it got nowhere. */
const STALLED_GRACE_MS = 10_000
