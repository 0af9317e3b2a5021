// The words of supervision as types: who comes back after an end, how often, after how long, and what is remembered of it.
// Owns no rule: those are in src/supervise. Must never name I/O, time or chance.
// Tested through test/tables/supervise.test.ts and test/tables/supervising.test.ts.
import type { Cause, Uuid } from './types.ts'

/** As in Erlang/OTP: comes back after every end · after a failure · never. */
export type RestartType = 'permanent' | 'transient' | 'temporary'

/** How people say it: `no` is temporary, `on-failure` transient, `always` permanent. */
export type RestartWord = RestartType | 'no' | 'on-failure' | 'always'

/** What people ask for; what is absent has its default. */
export interface RestartAsked extends IntensityAsked {
  readonly type: RestartWord
  readonly onComplete?: OnComplete
}

export interface IntensityAsked {
  readonly maxRestarts?: number
  readonly windowMs?: number
  readonly backoff?: { readonly initialMs?: number; readonly maxMs?: number; readonly factor?: number }
}

export interface SupervisorAsked extends IntensityAsked {
  readonly strategy?: Strategy
}

/** As in Erlang/OTP: who else is stopped and started with the one that failed. */
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one'

/** What becomes of one that has completed: it is begun afresh, or stays as it is. */
export type OnComplete = 'fresh' | 'stop'

/** The wait before a restart: `initialMs`, then `factor` times as long each time, up to `maxMs`; then jitter takes up to half of it away. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  readonly factor: number
}

/** At most `maxRestarts` within `windowMs`; one more is given up. */
export interface Intensity {
  readonly maxRestarts: number
  readonly windowMs: number
  readonly backoff: Backoff
}

/** Whether a process comes back by itself. Under a supervisor the intensity is the supervisor's. */
export interface RestartPolicy extends Partial<Intensity> {
  readonly type: RestartType
  /** absent: `fresh` for `permanent`, else `stop` */
  readonly onComplete?: OnComplete
}

export interface SupervisorSpec extends Intensity {
  readonly strategy: Strategy
}

/** What is remembered of the restarts of one process. */
export interface Restarts {
  /** wall times in ms of those within the window, oldest first */
  readonly times: readonly number[]
  /** why it failed last, by its own words; null: it said none */
  readonly cause: string | null
  /** how often that came in a row */
  readonly inARow: number
}

/** A new incarnation that has not begun. */
export interface PendingRestart {
  /** which restart within the window this is; 0: it was no fault of its own */
  readonly attempt: number
  /** how the last incarnation ended */
  readonly cause: string
  /** wall ms at which it may begin; null: when its supervisor says so */
  readonly at: number | null
  /** the same on the monotonic clock; null: it waits for its supervisor, or is about to begin */
  readonly dueMono: number | null
}

/** What a restart adds to the fact of a resume. */
export interface RestartFact extends PendingRestart {
  /** whose doing the last end was */
  readonly after: Cause
  /** of a policy of its own; a supervisor remembers those of its children */
  readonly restarts?: Restarts
}

/** A child of a supervisor. The id stays when the process is another. */
export interface SupervisedChild {
  readonly id: string
  readonly uuid: Uuid
  readonly type: RestartType
  readonly onComplete?: OnComplete
  readonly restarts?: Restarts
}

/** What a supervisor knows: its children in the order of their start. */
export interface Supervision {
  readonly children: readonly SupervisedChild[]
  /** these are being stopped, last first, to be started again `delayMs` after the last of them has ended */
  readonly group?: { readonly ids: readonly string[]; readonly delayMs: number }
}
