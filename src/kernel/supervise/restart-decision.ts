// Decides whether a process restarts: by restart type and cause of the end, by the rules against repeated failures, and by intensity. Knows
// no process table; the caller provides time and chance. A restart depends on the recorded cause, never on the exit code alone.
// Test: test/tables/kernel/supervise/restart-decision.test.ts.
import type { ExitStatus } from '../model/process.ts'
import type { Backoff, Intensity, OnComplete, Restarts, RestartType } from '../model/supervision.ts'
import { nonRetryableCause, normalizedError } from './non-retryable.ts'

/** The intensity if none is configured. */
export const DEFAULT_INTENSITY: Intensity = { maxRestarts: 5, windowMs: 600_000, backoff: { initialMs: 1_000, maxMs: 60_000, factor: 2 } }

/** After this many ends in a row with the same error, the process is held. */
const MAX_SAME_CAUSE = 3

export type RestartDecision =
  /** no restart */
  | { readonly do: 'stay' }
  /** the process would fail again in the same way, so it is held until the user resumes it */
  | { readonly do: 'hold'; readonly cause: string }
  /** the process ends too often; `times`: number of its counted ends within the window */
  | { readonly do: 'giveUp'; readonly times: number }
  /** `fresh`: the process starts over; `attempt`: number of this restart within the window, 0: it does not count */
  | { readonly do: 'restart'; readonly fresh: boolean; readonly restarts: Restarts; readonly delayMs: number; readonly attempt: number }

/** The part of a restart policy that decides which ends are followed by a restart. */
export interface RestartRule {
  readonly type: RestartType
  readonly onComplete?: OnComplete
}

/** The kind of an end. `interrupted`: the daemon or the machine died, so the process was not at fault. */
type EndKind = 'completed' | 'failed' | 'limit' | 'interrupted' | 'stopped'

/** Whether each restart type restarts after each kind of end. */
const RESTARTS_AFTER: Readonly<Record<RestartType, Readonly<Record<EndKind, boolean>>>> = {
  permanent: { completed: true, failed: true, limit: true, interrupted: true, stopped: false },
  transient: { completed: false, failed: true, limit: true, interrupted: true, stopped: false },
  temporary: { completed: false, failed: false, limit: false, interrupted: false, stopped: false },
}

function endKindOf({ cause, code, signal }: ExitStatus): EndKind {
  switch (cause) {
    case 'person':
    case 'parent':
      return 'stopped'
    case 'limit':
      return 'limit'
    // With a signal, a rule of the kernel has ended the process, such as its liveness policy.
    case 'daemon':
      return signal === undefined ? 'interrupted' : 'failed'
    case 'agent':
      return code === 0 ? 'completed' : 'failed'
  }
}

export function shouldRestart({ type, onComplete }: RestartRule, exit: ExitStatus): boolean {
  const kind = endKindOf(exit)
  if (kind !== 'completed' || onComplete === undefined || type === 'temporary') return RESTARTS_AFTER[type][kind]
  return onComplete === 'fresh'
}

/**
 * Decides what follows the end `exit`. `before`: the remembered restarts; `wall`: the current wall time in ms;
 * `chance`: a number from 0 to below 1.
 */
export function decideRestart(
  rule: RestartRule & Intensity,
  exit: ExitStatus,
  before: Restarts | undefined,
  { wall, chance }: { readonly wall: number; readonly chance: number },
): RestartDecision {
  if (!shouldRestart(rule, exit)) return { do: 'stay' }
  const kind = endKindOf(exit)
  if (kind === 'interrupted') return { do: 'restart', fresh: false, restarts: before ?? NO_RESTARTS, delayMs: 0, attempt: 0 }
  const cause = nonRetryableCause(exit)
  if (cause !== null) return { do: 'hold', cause }
  const restarts = recordRestart(before, kind === 'completed' ? null : normalizedError(exit), wall, rule.windowMs)
  if (restarts.inARow >= MAX_SAME_CAUSE) return { do: 'hold', cause: `${exit.error ?? exit.reason} (${restarts.inARow} times in a row)` }
  const attempt = restarts.times.length
  if (attempt > rule.maxRestarts) return { do: 'giveUp', times: attempt }
  return { do: 'restart', fresh: kind === 'completed', restarts, delayMs: backoffMs(rule.backoff, attempt, chance), attempt }
}

const NO_RESTARTS: Restarts = { times: [], cause: null, inARow: 0 }

function recordRestart(before: Restarts = NO_RESTARTS, cause: string | null, wall: number, windowMs: number): Restarts {
  const times = [...restartsWithin(before, windowMs, wall), wall]
  return { times, cause, inARow: cause === null ? 0 : cause === before.cause ? before.inARow + 1 : 1 }
}

/** The times of the restarts within the window, the oldest first. */
export function restartsWithin({ times }: Restarts, windowMs: number, wall: number): number[] {
  return times.filter((at) => at > wall - windowMs)
}

function backoffMs({ initialMs, maxMs, factor }: Backoff, attempt: number, chance: number): number {
  const fullMs = Math.min(maxMs, initialMs * factor ** (attempt - 1))
  return Math.round(fullMs * (1 - chance / 2))
}
