// What is made of an end: restart type × cause of the end, then the rules against loops, then intensity and backoff.
// Owns the decision for one process. Knows no process and no tree; time and chance come in. Status and restarts follow the
// recorded cause, never the code. Test: test/tables/supervise.test.ts.
import type { ExitStatus } from '../kernel/types.ts'
import type { Backoff, Intensity, OnComplete, Restarts, RestartType } from '../kernel/supervision.ts'
import { finalCause, ownWords } from './final.ts'

/** The intensity where nobody says another. */
export const INTENSITY: Intensity = { maxRestarts: 5, windowMs: 600_000, backoff: { initialMs: 1_000, maxMs: 60_000, factor: 2 } }

/** The same cause so often in a row is no accident. */
const SAME_CAUSE = 3

export type Verdict =
  | { readonly do: 'stay' }
  /** it would fail again in the same way: a person is to look at it */
  | { readonly do: 'hold'; readonly cause: string }
  /** it fails too often; `times` within the window */
  | { readonly do: 'giveUp'; readonly times: number }
  | { readonly do: 'restart'; readonly fresh: boolean; readonly restarts: Restarts; readonly delayMs: number; readonly attempt: number }

export interface Rule {
  readonly type: RestartType
  readonly onComplete?: OnComplete
}

/** `interrupted`: the daemon or the machine died under it, which is no fault of its own. */
type Kind = 'completed' | 'failed' | 'limit' | 'interrupted' | 'stopped'

/** Whether it comes back at all. */
const COMES_BACK: Readonly<Record<RestartType, Readonly<Record<Kind, boolean>>>> = {
  permanent: { completed: true, failed: true, limit: true, interrupted: true, stopped: false },
  transient: { completed: false, failed: true, limit: true, interrupted: true, stopped: false },
  temporary: { completed: false, failed: false, limit: false, interrupted: false, stopped: false },
}

function kindOf({ cause, code, signal }: ExitStatus): Kind {
  switch (cause) {
    case 'person':
    case 'parent': return 'stopped'
    case 'limit': return 'limit'
    case 'daemon': return signal === undefined ? 'interrupted' : 'failed'
    case 'agent': return code === 0 ? 'completed' : 'failed'
  }
}

export function comesBack({ type, onComplete }: Rule, exit: ExitStatus): boolean {
  const kind = kindOf(exit)
  if (kind !== 'completed' || onComplete === undefined || type === 'temporary') return COMES_BACK[type][kind]
  return onComplete === 'fresh'
}

/** `chance` is from 0 to below 1, `wall` the time now in ms. */
export function verdict(rule: Rule & Intensity, exit: ExitStatus, before: Restarts | undefined, { wall, chance }: { readonly wall: number; readonly chance: number }): Verdict {
  if (!comesBack(rule, exit)) return { do: 'stay' }
  const kind = kindOf(exit)
  if (kind === 'interrupted') return { do: 'restart', fresh: false, restarts: before ?? NONE, delayMs: 0, attempt: 0 }
  const final = finalCause(exit)
  if (final !== null) return { do: 'hold', cause: final }
  const restarts = noted(before, kind === 'completed' ? null : ownWords(exit), wall, rule.windowMs)
  if (restarts.inARow >= SAME_CAUSE) return { do: 'hold', cause: `${exit.error ?? exit.reason} (${restarts.inARow} times in a row)` }
  const attempt = restarts.times.length
  if (attempt > rule.maxRestarts) return { do: 'giveUp', times: attempt }
  return { do: 'restart', fresh: kind === 'completed', restarts, delayMs: delayMs(rule.backoff, attempt, chance), attempt }
}

const NONE: Restarts = { times: [], cause: null, inARow: 0 }

function noted(before: Restarts = NONE, cause: string | null, wall: number, windowMs: number): Restarts {
  const times = [...before.times.filter((at) => at > wall - windowMs), wall]
  return { times, cause, inARow: cause === null ? 0 : cause === before.cause ? before.inARow + 1 : 1 }
}

/** How many of them are within the window now. */
export function within({ times }: Restarts, windowMs: number, wall: number): number {
  return times.filter((at) => at > wall - windowMs).length
}

function delayMs({ initialMs, maxMs, factor }: Backoff, attempt: number, chance: number): number {
  const whole = Math.min(maxMs, initialMs * factor ** (attempt - 1))
  return Math.round(whole * (1 - chance / 2))
}
