// Types of supervision: restart policies, restart intensity, and remembered restarts. The rules are in src/kernel/supervise.
// Tests: test/tables/kernel/supervise/restart-decision.test.ts, test/tables/kernel/decide/supervision.test.ts.
import type { Uuid } from './ids.ts'
import type { Cause, RESTART_TYPES, STRATEGIES, ON_COMPLETE, RESTART_WORDS } from './words.ts'

/** Restart types as in Erlang/OTP: `permanent` restarts after every end but a stop, `transient` after a failure, `temporary` never. */
export type RestartType = (typeof RESTART_TYPES)[number]

/** Restart types as users may write them: `no` is temporary, `on-failure` transient, `always` permanent. */
export type RestartWord = (typeof RESTART_WORDS)[number]

/** A restart policy as configured. An absent field means its default. */
export interface RestartConfig extends IntensityConfig {
  readonly type: RestartWord
  readonly onComplete?: OnComplete
}

/** A restart intensity as configured. An absent field means its default. */
export interface IntensityConfig {
  readonly maxRestarts?: number
  readonly windowMs?: number
  readonly backoff?: { readonly initialMs?: number; readonly maxMs?: number; readonly factor?: number }
}

/** A supervisor as configured. An absent field means its default. */
export interface SupervisorConfig extends IntensityConfig {
  readonly strategy?: Strategy
}

/** A strategy as in Erlang/OTP decides which siblings stop and restart with a failed child. */
export type Strategy = (typeof STRATEGIES)[number]

/** The action after a completion: `fresh` starts over, `stop` does not restart. */
export type OnComplete = (typeof ON_COMPLETE)[number]

/**
 * The delay before a restart: `initialMs`, multiplied by `factor` each time, at most `maxMs`; jitter then removes
 * up to half of it.
 */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  readonly factor: number
}

/** The maximum number of restarts within a time window. After one more failure the supervisor gives up. */
export interface Intensity {
  readonly maxRestarts: number
  readonly windowMs: number
  readonly backoff: Backoff
}

/** The restart policy of a process. Its intensity applies only to a process without a supervisor. */
export interface RestartPolicy extends Partial<Intensity> {
  readonly type: RestartType
  /** absent: `fresh` for `permanent`, else `stop` */
  readonly onComplete?: OnComplete
}

export interface SupervisorSpec extends Intensity {
  readonly strategy: Strategy
}

/** The remembered restarts of one process. */
export interface Restarts {
  /** wall times in ms of the restarts within the window, oldest first */
  readonly times: readonly number[]
  /** the text of the last failure; null: none */
  readonly cause: string | null
  /** number of consecutive failures with this cause */
  readonly inARow: number
}

/** The restart of an incarnation that has not begun. */
export interface PendingRestart {
  /** number of this restart within the window; 0: it does not count, because the process was not at fault */
  readonly attempt: number
  /** the reason of the last incarnation's end */
  readonly cause: string
  /** wall ms at which the incarnation may begin; null: its supervisor decides */
  readonly at: number | null
  /** the same time in monotonic ms; null: its supervisor decides, or it begins now */
  readonly dueMono: number | null
}

/** The fields that a restart adds to the fact of a resume. */
export interface RestartFact extends PendingRestart {
  /** the cause of the last incarnation's end */
  readonly after: Cause
  /** absent for a child: its supervisor remembers the restarts */
  readonly restarts?: Restarts
}

/** A child of a supervisor. */
export interface SupervisedChild {
  /** remains the same when another process replaces the child */
  readonly id: string
  readonly uuid: Uuid
  readonly type: RestartType
  readonly onComplete?: OnComplete
  readonly restarts?: Restarts
}

/** The state of a supervisor. */
export interface Supervision {
  /** in starting order */
  readonly children: readonly SupervisedChild[]
  /** children that are being stopped, last one first; they restart `delayMs` after all have ended */
  readonly group?: { readonly ids: readonly string[]; readonly delayMs: number }
}
