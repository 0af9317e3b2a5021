// The state of a process as the kernel knows it. Every field is readonly, and only `fold` (fold.ts) makes new rows of the table. Must never
// use I/O, time or chance: times and ids come with the inputs. Test: test/properties/kernel.test.ts.
import type { Checkpoint, ContextState } from './context.ts'
import type { WorktreeFiles } from './spec-parts.ts'
import type { ComposeRun } from './compose.ts'
import type { SignalState } from './signals.ts'
import type { Crew } from './crew/crew.ts'
import type { PendingRestart, Restarts, Supervision } from './supervision.ts'
import type { Uuid, Pid, Sender } from './ids.ts'
import type { ContainmentKind, LimitName, HoldReason, Signal, Cause, Activity, ToolEffect } from './words.ts'
import type { Liveness } from './liveness.ts'
import type { PendingAsk } from './asks.ts'
import type { Usage, UsageTotals } from './usage.ts'
import type { ProcessSpec } from './process-spec.ts'

/** A reason why a process is paused. */
export interface Hold {
  readonly reason: HoldReason
  /** for the reason `subtree` only: the process whose subtree was paused */
  readonly root?: Uuid
  readonly by: Sender
  /** wall time in ms */
  readonly at: number
  /** wall ms at which the cause ends; absent: unknown */
  readonly until?: number
  /** the hold is released automatically at `until` */
  readonly wake?: true
}

/** How a process ended. */
export interface ExitStatus {
  readonly code: number
  readonly reason: string
  readonly signal?: Signal
  readonly error?: string
  readonly cause: Cause
  /** HTTP status with which the provider refused the last model call */
  readonly status?: number
  /** a rate limit ended the process; wall ms at which that limit is over */
  readonly resumeAt?: number
  /** the provider refused the login or the key */
  readonly account?: true
}

/** A durable request to end the process. */
export interface Stopping {
  readonly signal: Signal
  readonly by: Sender
  /** wall time in ms */
  readonly at: number
  readonly graceMs: number
  /** the exit that will be recorded, whatever the program reports later */
  readonly exit: ExitStatus
  /** the agent was notified by `message`, and may work until `dueMono` (monotonic ms); absent: the process is being ended */
  readonly wrapUp?: { readonly message: string; readonly dueMono: number }
  /** ms after which SIGKILL followed; absent: it did not */
  readonly escalatedMs?: number
}

/** The state of an incarnation, with the data that belongs to that state only. */
export type Life =
  | { readonly state: 'created' }
  | {
      readonly state: 'running'
      readonly activity: Activity
      readonly holds: readonly Hold[]
      readonly stopping: Stopping | null
      /** the process is paused, and nothing is in flight */
      readonly drained: boolean
      /** the process was frozen during its work, so an open call may have begun */
      readonly midway: boolean
      /** a driver was asked to run the process; false while it has been held since its start, or since the start of the daemon */
      readonly attached: boolean
    }
  | { readonly state: 'zombie'; readonly exit: ExitStatus }
  | { readonly state: 'dead'; readonly exit: ExitStatus }

/** A tool call between its `tool.started` and its `tool.finished`. */
export interface OpenCall {
  readonly callId: string
  readonly name: string
  readonly effect: ToolEffect
  /** how often a daemon died while the call may have been running; absent: never */
  readonly cuts?: number
  /** the call has not begun: it waits for the user's answer, or its process ended before it could begin */
  readonly asked?: true
  /** wall ms of the first ask about the call, if a restart of the daemon has ended that ask; absent: no restart has */
  readonly askedAt?: number
}

/** The progress of the work: the current step and turn, and the open calls. */
export interface Progress {
  /** the last step whose model call was started; 0 before the first */
  readonly step: number
  /** a model call has started and not finished */
  readonly modelOpen: boolean
  /** number of the last attempt at this step's model call; 0 before the first */
  readonly attempt: number
  readonly openCalls: readonly OpenCall[]
  /** the last complete step: all its calls have results */
  readonly wholeStep: number
  readonly turn: number
  /** a turn has begun and not ended; a pause or a crash does not end it */
  readonly turnOpen: boolean
  /** usage when the turn began; outside of a crew only the cost. Absent: none */
  readonly before?: UsageTotals
  /** the last assistant text, cut to 500 characters */
  readonly lastText: string | null
  /** the granted estimate of the open model call; absent: no call is open, or no limit needs it */
  readonly reserve?: CallEstimate
}

/** The estimated cost of a model call, given before the call begins. */
export interface CallEstimate {
  readonly inputTokens: number
  /** maximum length of the answer; null: unlimited */
  readonly maxOutputTokens: number | null
  /** USD per token; null: the price is unknown */
  readonly usd: { readonly perInputToken: number; readonly perOutputToken: number } | null
}

/** A gateway call of an external agent that has not ended. */
export interface OpenModelCall {
  readonly call: string
  readonly model: string
  readonly reserve: CallEstimate
}

/** A queued message. */
export interface QueuedMessage {
  readonly id: string
  readonly from: Sender
  /** the fact in the journal that has the text */
  readonly seq: number
  /** the agent must read this message, and all before it, before its next model call */
  readonly urgent?: true
}

/** The times of a process. Fields that end with `At` are wall times in ms. */
export interface ProcessClock {
  readonly createdAt: number
  readonly startedAt: number | null
  readonly pausedAt: number | null
  readonly exitedAt: number | null
  readonly updatedAt: number
  readonly lastActivityAt: number
  /** time of the last change of the usage; absent: nothing was used */
  readonly usedAt?: number
  /** active time of this incarnation up to `since` */
  readonly elapsedMs: number
  /** active time of all incarnations before this one; absent: none */
  readonly earlierMs?: number
  /** monotonic ms from which active time is counted; null while the clock is stopped */
  readonly since: number | null
  /** wall time of `since`: after a crash the monotonic clock has another origin */
  readonly sinceAt: number | null
  /** monotonic ms of the hold that stopped the clock */
  readonly pausedMono: number | null
}

/** The identity of an operating system process. Its PID alone is not enough, because PIDs are reused. */
export interface OsHandle {
  readonly pid: number
  /** field 22 of /proc/PID/stat (clock ticks since boot), or the platform's equivalent, as text */
  readonly startTime: string
  readonly pgid: number
}

/** The containment of this incarnation's programs. It is recorded before the first program is spawned. */
export interface ContainmentIntent {
  readonly kind: ContainmentKind
  /** the cgroup's directory; null for the other kinds */
  readonly path: string | null
  /** value of REEVE_PROC in the environment of each program of this incarnation */
  readonly marker: string
  /** the operating system enforces the memory limit; absent: memory is only measured */
  readonly holdsMemory?: true
}

/** A row of the process table. */
export interface Process {
  readonly uuid: Uuid
  readonly pid: Pid
  /** the current parent in the process tree; null: PID 0 */
  readonly parent: Uuid | null
  /** the process that spawned this one; it never changes */
  readonly parentUuid: Uuid | null
  readonly depth: number
  readonly spec: ProcessSpec
  /** the seq of the fact that contains `spec` */
  readonly specSeq: number
  readonly life: Life
  readonly signals: SignalState
  readonly progress: Progress
  readonly usage: Usage
  readonly queue: readonly QueuedMessage[]
  readonly clock: ProcessClock
  readonly containment: ContainmentIntent | null
  readonly handle: OsHandle | null
  readonly checkpoint: Checkpoint | null
  /** absent: the model is shown the whole journal */
  readonly context?: ContextState
  readonly sessionId: string | null
  /** of a fork that has no session yet: the session that its agent will fork */
  readonly forkOf?: string
  /** asks whose answers the agent does not have yet; absent: none */
  readonly asks?: readonly PendingAsk[]
  /** the last warning or note, for the process table */
  readonly note: string | null
  /** of a fork: the process that it continues */
  readonly originUuid: Uuid | null
  /** of a fork: the last step of the shared history */
  readonly originStep: number | null
  /** of a fork: the last fact of the shared history; the facts of the fork follow */
  readonly originSeq: number | null
  readonly resumedFromStep: number | null
  readonly retiredAt: number | null
  readonly pinned: boolean
  /** wall ms at which the user last saw the needs of the process; absent: never */
  readonly seenAt?: number
  /** the needs that existed at `at` are hidden until `until` (wall ms); absent: none, or the user has answered since */
  readonly snooze?: { readonly at: number; readonly until: number }
  /** absent: no worktree, or none created yet */
  readonly files?: WorktreeFiles
  /** of a restarted incarnation that has not begun */
  readonly restart?: PendingRestart
  /** restarts by the process's own policy; absent: none */
  readonly restarts?: Restarts
  /** of a supervisor; absent: no children yet */
  readonly supervision?: Supervision
  /** of a crew: its tasks, members and jobs; absent: not begun */
  readonly crew?: Crew
  /** of a run of a compose file: its nodes; absent: all nodes wait */
  readonly compose?: ComposeRun
  /** the holds that the next incarnation begins with; absent: none */
  readonly keeps?: readonly Hold[]
  /** HTTP status of the last model call, if that call failed for good */
  readonly refused?: number
  /** absent: no problem is known */
  readonly liveness?: Liveness
  /** the present payer, if the payer has changed: an earlier one ended or was resumed; absent: the spawner pays */
  readonly payer?: Uuid
  /** usage of ended descendants; absent: none */
  readonly below?: UsageTotals
  /** the part of `usage` and `below` that the payer has already counted; absent: none */
  readonly settled?: UsageTotals
  /** open gateway calls; absent: no gateway call has begun in this incarnation */
  readonly calls?: readonly OpenModelCall[]
  /** the gateway meters the model calls, so the agent's own reports of tokens and money do not count */
  readonly metered?: true
  /** why the model calls do not use the gateway although they could or should, as text */
  readonly direct?: string
  /** limits whose warnings have been recorded */
  readonly warned?: readonly LimitName[]
  /** of a held process: the model call that some budget has no room for */
  readonly wants?: CallEstimate
  /** the seq of the last fact */
  readonly seq: number
}
