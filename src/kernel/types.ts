// The words of the kernel as types: what a process is, and nothing about how it is run.
// Owns the shape of a process in memory; every field is readonly, and only `fold` (fold.ts) makes a new value.
// Must never name I/O, time or chance: times and ids come in with the inputs.
// Tested through test/properties/kernel.test.ts.
import type { Liveness, LivenessSpec } from './liveness.ts'
import type { Capabilities } from './permits.ts'
import type { Checkpoint, ContextState } from './ranges.ts'
import type { Files, McpServer, Permissions, WorktreeSpec } from './spec.ts'
import type { PendingAsk } from './asking.ts'
import type { ComposeRun, ComposeSpec } from '../crew/compose-types.ts'
import type { Spent } from './spent.ts'
import type { SignalState } from './signals.ts'
import type { Crew, CrewSpec, MemberSpec } from '../crew/types.ts'
import type { PendingRestart, RestartPolicy, Restarts, Supervision, SupervisorSpec } from './supervision.ts'

/** A UUID v7, as 36 characters. Names one process for ever. */
export type Uuid = string

/** The number of one incarnation; 0 is the kernel itself. Below 2^53. */
export type Pid = number

/** The two clocks of an input: `wall` in ms since the epoch, `mono` in ms on a clock that never jumps. */
export interface Now {
  readonly wall: number
  readonly mono: number
}

/** Who asked: a person, the kernel, a crew's coordinator, or an agent by its UUID. */
export type Sender = 'user' | 'system' | 'coordinator' | `agent:${Uuid}`

/** The last three have no program: the kernel does their work (supervising.ts, crewing.ts, composing.ts). */
export type DriverName = 'native' | 'acp' | 'command' | 'supervisor' | 'crew' | 'compose'
export type ContainmentKind = 'cgroup' | 'pidns' | 'group'

/** What is counted against a limit; the table of limits.ts says how. */
export type LimitName =
  | 'maxSteps' | 'maxTurns' | 'maxMessages' | 'maxToolCalls' | 'maxChildren' | 'maxDepth'
  | 'maxInputTokens' | 'maxOutputTokens' | 'maxCacheReadTokens' | 'maxCacheWriteTokens' | 'budgetTokens' | 'budgetUsd'
  | 'cpuTimeMs' | 'timeoutMs' | 'memoryBytes' | 'outputBytes'

/** What becomes of a process that has reached a limit. */
export type LimitAction = 'suspend' | 'terminate'

/** Limits of one process; an absent one does not exist. */
export type Limits = { readonly [L in LimitName]?: number } & {
  /** of a model whose price nobody knows, where there is a `budgetUsd`; absent: `warn` */
  readonly unknownPrice?: 'warn' | 'refuse'
  /** where it is not the default of the limit */
  readonly actions?: { readonly [L in LimitName]?: LimitAction }
  /** the share of a limit from which on it is warned of; absent: 0.8 */
  readonly warnAt?: number
}

/** How hard a reasoning model thinks, in the field's words. */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** The JSON lines that the command driver understands. */
export type OutputFormat = 'claude' | 'codex' | 'gemini' | 'opencode'

/** What was asked for at spawn. Recorded once; a resume with overrides records a new one. */
export interface ProcessSpec {
  readonly name: string | null
  /** the agent file's name, or `command` for `run -- CMD` */
  readonly agent: string
  readonly driver: DriverName
  readonly intent: string
  readonly cwd: string
  readonly interactive: boolean
  /** `provider/name`, `script:FILE` or `replay:UUID` */
  readonly model: string | null
  /** models that are asked when `model` cannot answer, in order */
  readonly fallback?: readonly string[]
  /** absent: the provider's own default */
  readonly effort?: Effort
  readonly mcp?: readonly McpServer[]
  /** the role prompt; constant for a process */
  readonly system: string | null
  /** names of the tools that it may use; null is the driver's default set */
  readonly tools: readonly string[] | null
  readonly deny: readonly string[]
  /** absent: not limited beside its tools. Recorded as it is after its parent's were applied */
  readonly capabilities?: Capabilities
  /** the command line of the drivers `command` and `acp` */
  readonly argv: readonly string[] | null
  /** of a command that is an agent: how it says what it does */
  readonly format?: OutputFormat
  /** for drivers that are asked; absent: `ask` for everything */
  readonly permissions?: Permissions
  /** the session mode of an agent that speaks ACP */
  readonly mode?: string
  /** what of the client's environment comes back at a resume; never a secret */
  readonly env: Readonly<Record<string, string>>
  /** the names of the credentials it uses; values are never recorded */
  readonly credentials: readonly string[]
  readonly containment: ContainmentKind | 'auto'
  readonly limits: Limits
  /** whether its calls go through the gateway; absent: `auto` */
  readonly gateway?: 'auto' | 'on' | 'off'
  /** how long it was seen to clean up after SIGTERM; a sender that gives no grace leaves it at least so long */
  readonly graceMs?: number
  /** it works in a git worktree of its own; `cwd` is in there */
  readonly worktree?: WorktreeSpec
  /** whether it comes back by itself; absent: never */
  readonly restart?: RestartPolicy
  /** its name among the children of its supervisor */
  readonly childId?: string
  /** of a supervisor: how it keeps its children */
  readonly supervisor?: SupervisorSpec
  /** of a run of a compose file: its nodes */
  readonly compose?: ComposeSpec
  /** of a crew: how it works */
  readonly crew?: CrewSpec
  /** of one of a crew: whose, and as what */
  readonly member?: MemberSpec
  /** what of the defaults is otherwise (liveness.ts) */
  readonly liveness?: LivenessSpec
  /** it goes on by itself when a rate limit is over */
  readonly wake?: true
  /** it has reeve's own tools */
  readonly reeve?: true
}

export type HoldReason =
  | 'user' | 'subtree' | 'budget' | 'rate-limit' | 'loop' | 'context-full' | 'breaker'
  | 'disk-full' | 'credentials' | 'supervisor' | 'daemon-shutdown' | 'daemon-crash'

/** Why a process is paused. `root` belongs to `subtree` alone: the process whose subtree was paused. */
export interface Hold {
  readonly reason: HoldReason
  readonly root?: Uuid
  readonly by: Sender
  /** wall time in ms */
  readonly at: number
  /** wall ms: when its cause will be gone, as far as that is known */
  readonly until?: number
  /** then it goes by itself */
  readonly wake?: true
}

export type Signal = 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGPAUSE' | 'SIGRESUME'
export type Handler = 'default' | 'ignore' | 'message'

/** Whose doing an end was. Status and restarts follow this, never the exit code. */
export type Cause = 'agent' | 'person' | 'parent' | 'limit' | 'daemon'

export interface ExitStatus {
  readonly code: number
  readonly reason: string
  readonly signal?: Signal
  readonly error?: string
  readonly cause: Cause
  /** the HTTP status with which the provider refused the model call that it ended with */
  readonly status?: number
  /** wall ms: a rate limit ended it, which is over then */
  readonly resumeAt?: number
}

/** A wish to end that is durable: `exit` is what the end will be called, whatever the program then says. */
export interface Stopping {
  readonly signal: Signal
  readonly by: Sender
  readonly at: number
  readonly graceMs: number
  readonly exit: ExitStatus
  /** the agent was told, and may work on until then (monotonic); absent: it is being ended */
  readonly wrapUp?: { readonly message: string; readonly dueMono: number }
  /** the ladder had to go on to SIGKILL after so long */
  readonly escalatedMs?: number
}

export type Activity = 'starting' | 'ready' | 'working' | 'waiting'

/** The state of an incarnation. What belongs to one state alone stands in that variant. */
export type Life =
  | { readonly state: 'created' }
  | {
      readonly state: 'running'
      readonly activity: Activity
      readonly holds: readonly Hold[]
      readonly stopping: Stopping | null
      /** paused, and nothing of it is in flight any more */
      readonly drained: boolean
      /** frozen in the middle of something: a call that is open may have begun */
      readonly midway: boolean
      /** a driver was asked to run it; false for a placeholder and for one born held */
      readonly attached: boolean
    }
  | { readonly state: 'zombie'; readonly exit: ExitStatus }
  | { readonly state: 'dead'; readonly exit: ExitStatus }

/** Effect class of a tool: what may be done about a call whose outcome is unknown. */
export type ToolEffect = 'read' | 'idempotent' | 'once'

/** A tool call between its `tool.started` and its `tool.finished`. */
export interface OpenCall {
  readonly callId: string
  readonly name: string
  readonly effect: ToolEffect
}

/** Where the work stands: which step and turn, and what of it is open. */
export interface Progress {
  /** the last step whose model call was started; 0 before the first */
  readonly step: number
  /** a model call is started and not finished */
  readonly modelOpen: boolean
  /** which try of the step's model call was the last; 0 before the first */
  readonly attempt: number
  readonly openCalls: readonly OpenCall[]
  /** the last step that is whole: each of its calls has a result */
  readonly wholeStep: number
  readonly turn: number
  /** a turn is begun and not ended (also across a pause or a crash) */
  readonly turnOpen: boolean
  /** what it had used when the turn began; of one that is in no crew only what it had cost. Absent: nothing */
  readonly before?: Spent
  /** the last assistant text, cut to 500 characters */
  readonly lastText: string | null
  /** what the call to the model that is open may cost, as it was granted; absent: none is open, or no limit asks for it */
  readonly reserve?: CallAsk
}

/** What a call to a model may cost, said before it begins. */
export interface CallAsk {
  /** an estimate */
  readonly inputTokens: number
  /** null: nobody sets a limit to the answer */
  readonly maxOutputTokens: number | null
  /** USD for a token; null: nobody knows the price */
  readonly usd: { readonly perInputToken: number; readonly perOutputToken: number } | null
}

/** A call of an agent of others that goes through the gateway, and has no end yet. */
export interface OpenModelCall {
  readonly call: string
  readonly model: string
  readonly reserve: CallAsk
}

export interface Usage {
  readonly steps: number
  readonly turns: number
  readonly messagesSent: number
  readonly toolCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly contextTokens: number
  readonly costUsd: number
  /** some call had no known price, so `costUsd` is a lower bound */
  readonly unpriced: boolean
  /** some call was cut off and charged by its estimate */
  readonly estimated: boolean
  /** of all its programs, as measured; absent: nobody has measured */
  readonly cpuTimeMs?: number
  /** what is resident now */
  readonly rssBytes?: number
  readonly peakRssBytes?: number
  readonly outputBytes?: number
}

/** Tokens and money of one model call. `costUsd` null is an unknown price. */
export interface CallUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly costUsd: number | null
  readonly estimated?: boolean
}

/** A message that waits for its turn; its text is in the journal at `seq`. */
export interface QueuedMessage {
  readonly id: string
  readonly from: Sender
  readonly seq: number
  /** it came with a resume: it, and all before it, is to be read before the next model call */
  readonly urgent?: true
}

/** Wall times in ms; `elapsedMs` is active time up to `since` (monotonic), which is null while the clock stands. */
export interface Clock {
  readonly createdAt: number
  readonly startedAt: number | null
  readonly pausedAt: number | null
  readonly exitedAt: number | null
  readonly updatedAt: number
  readonly lastActivityAt: number
  readonly elapsedMs: number
  /** active time of all incarnations before this one; absent: none */
  readonly earlierMs?: number
  readonly since: number | null
  /** wall time of `since`: what is left of it after a crash, when the monotonic clock has begun anew */
  readonly sinceAt: number | null
  /** monotonic time of the hold that stopped the clock */
  readonly pausedMono: number | null
}

/** What identifies a program of the operating system for good: a PID alone does not. */
export interface OsHandle {
  readonly pid: number
  /** field 22 of /proc/PID/stat (clock ticks since boot), or the platform's equivalent, as text */
  readonly startTime: string
  readonly pgid: number
}

/** What owns this incarnation's programs; written before the first of them is spawned. */
export interface ContainmentIntent {
  readonly kind: ContainmentKind
  /** the cgroup's directory; null for the other kinds */
  readonly path: string | null
  /** value of REEVE_PROC in the environment of each program of this incarnation */
  readonly marker: string
  /** the system itself keeps its programs below the memory limit; absent: it is measured */
  readonly holdsMemory?: true
}

/** The first and the last fact of a part of the journal, both included. */
export type Range = readonly [first: number, last: number]

export interface Process {
  readonly uuid: Uuid
  readonly pid: Pid
  /** parent in the tree now; null is PID 0 */
  readonly parent: Uuid | null
  /** parent at the spawn; never changes */
  readonly parentUuid: Uuid | null
  readonly depth: number
  readonly spec: ProcessSpec
  /** the fact that holds `spec` */
  readonly specSeq: number
  readonly life: Life
  readonly signals: SignalState
  readonly progress: Progress
  readonly usage: Usage
  readonly queue: readonly QueuedMessage[]
  readonly clock: Clock
  readonly containment: ContainmentIntent | null
  readonly handle: OsHandle | null
  readonly checkpoint: Checkpoint | null
  /** absent: nothing is known, all of the journal is shown */
  readonly context?: ContextState
  readonly sessionId: string | null
  /** of a fork that has no session yet: the one that its agent is to fork */
  readonly forkOf?: string
  /** what it asks; absent: nothing */
  readonly asks?: readonly PendingAsk[]
  /** short word for the table: the last warning or note */
  readonly note: string | null
  /** of a fork: whose history it goes on from, up to which step and fact; its own facts begin after that one */
  readonly originUuid: Uuid | null
  readonly originStep: number | null
  readonly originSeq: number | null
  readonly resumedFromStep: number | null
  readonly retiredAt: number | null
  readonly pinned: boolean
  /** absent: it has no worktree, or that is not made yet */
  readonly files?: Files
  /** of an incarnation that has not begun: when it may */
  readonly restart?: PendingRestart
  /** of a policy of its own; absent: it was not restarted yet */
  readonly restarts?: Restarts
  /** of a supervisor: absent: it has no children yet */
  readonly supervision?: Supervision
  /** of a crew: its tasks, members and jobs; absent: it has not begun */
  readonly crew?: Crew
  /** of a run of a compose file; absent: all nodes wait */
  readonly compose?: ComposeRun
  /** of one that ended with its daemon: the pauses that it had, which another incarnation begins with */
  readonly keeps?: readonly Hold[]
  /** the HTTP status of its last model call, which failed for good; absent: that did not */
  readonly refused?: number
  /** absent: it is alive, as far as anybody can tell */
  readonly liveness?: Liveness
  /** who pays for it, if that is not who spawned it: the nearest above it that lived when its last payer ended */
  readonly payer?: Uuid
  /** what descendants that have ended had used; absent: nothing */
  readonly below?: Spent
  /** what of its usage and of `below` has been passed to its payer; absent: nothing */
  readonly settled?: Spent
  /** calls through the gateway that are open; absent: none has begun in this incarnation */
  readonly calls?: readonly OpenModelCall[]
  /** its calls go through the gateway, which counts them: what it says itself of tokens and money does not count */
  readonly metered?: true
  /** why they do not, of an agent that could or was to; in words */
  readonly direct?: string
  /** limits whose soft mark it has passed, each told once */
  readonly warned?: readonly LimitName[]
  /** of one that is held: the call that no budget has room for */
  readonly wants?: CallAsk
  /** the number of its last fact */
  readonly seq: number
}
