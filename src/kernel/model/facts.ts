// The closed union of facts: everything that a journal can record about a process. The state of a process is the fold of its facts. This is
// the stored format: a field may be added, but no field may change its meaning. The texts of messages and results are stored in facts only.
// Also has the forms in which the store returns facts. Test: test/properties/fold.test.ts, test/tables/daemon/loop/events.test.ts.
import type { Disposition, PendingSignal } from './signals.ts'
import type { OnComplete, RestartFact, Restarts, RestartType } from './supervision.ts'
import type { Moment } from './moment.ts'
import type { ContextState, Range } from './context.ts'
import type { ComposeFact } from './compose.ts'
import type { Measured, CallUsage, UsageTotals } from './usage.ts'
import type { CrewFact } from './crew/facts.ts'
import type { CallEstimate, ContainmentIntent, ExitStatus, Hold, OpenCall, OsHandle, QueuedMessage, Stopping } from './process.ts'
import type { Pid, Sender, Uuid } from './ids.ts'
import type { Handler, LimitAction, BoundName, Signal, ToolEffect, LivenessWord } from './words.ts'
import type { CallEvidence, ToolErrors } from './liveness.ts'
import type { Ask, DeliveryTime } from './asks.ts'
import type { ProcessSpec } from './process-spec.ts'

/**
 * A part of an assistant message. `input`: the tool's input. `meta`: data that the provider must get back unchanged,
 * such as a signature.
 */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string; readonly meta?: unknown }
  | { readonly type: 'reasoning'; readonly text: string; readonly meta?: unknown }
  | { readonly type: 'tool-call'; readonly callId: string; readonly name: string; readonly input: unknown; readonly meta?: unknown }

/** An image that a tool returned: base64 of the file's bytes. */
export interface ImagePart {
  readonly mediaType: string
  readonly data: string
}

/** A tool of an MCP server, as the model receives it. */
export interface McpTool {
  /** `mcp__SERVER__TOOL` */
  readonly name: string
  readonly description: string
  /** JSON Schema of the input */
  readonly schema: Readonly<Record<string, unknown>>
}

/** The state of an MCP server in an incarnation: its tools, or why it is not used. */
export interface McpState {
  readonly name: string
  readonly state: 'up' | 'failed' | 'untrusted'
  /** of a running server: its protocol revision and version; of any other: why it does not run */
  readonly detail: string
  readonly tools: readonly McpTool[]
}

/** The process that a fork continues, and the end of the history that both share. */
export interface ForkOrigin {
  readonly uuid: Uuid
  /** the last complete step of the shared history */
  readonly step: number
  /** the last fact of the shared history */
  readonly seq: number
}

/** The state at the end of a step that a fork continues from. */
export interface ForkState {
  readonly turn: number
  readonly turnOpen: boolean
  readonly lastText: string | null
  readonly queue: readonly QueuedMessage[]
  readonly context: ContextState | null
  readonly contextTokens: number
  /** the session of an external agent that the fork branches from */
  readonly sessionId: string | null
}

/** The state that a fork needs from a checkpoint besides its ranges. A checkpoint has none if too many messages were queued. */
export interface CheckpointState {
  readonly modelOpen: boolean
  readonly turnOpen: boolean
  readonly queue: readonly QueuedMessage[]
  readonly compactedStep: number | null
  readonly window: number | null
  readonly contextTokens: number
}

/** A path that a record of files omits. A path that ends with `/` stands for everything below it. `repository`: another repository. */
export interface OmittedPath {
  readonly path: string
  readonly why: 'large' | 'ignored' | 'repository' | 'unreadable'
}

/** Why a model call finished, in the usual terms of providers. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

/** The outcome of a tool call. `interrupted`: it is unknown whether the call took effect. */
export type ToolOutcome = 'ok' | 'error' | 'denied' | 'interrupted'

/** The capabilities that can be limited. */
export type CapabilityName = 'tools' | 'paths' | 'network' | 'signals' | 'spawns'

export type FactBody =
  // crews
  | CrewFact
  // lifecycle
  | {
      readonly type: 'process.spawned'
      readonly pid: Pid
      readonly spec: ProcessSpec
      readonly parentUuid: Uuid | null
      readonly depth: number
      readonly by: Sender
      /** the session of the page through which the user acted, `web:ID`; the same in all facts with `via`, except those of signals */
      readonly via?: string
    }
  /** the first fact of a fork; `state` is all that the fork continues with, so readers need no fact of the origin */
  | {
      readonly type: 'process.forked'
      readonly pid: Pid
      readonly spec: ProcessSpec
      readonly parentUuid: Uuid | null
      readonly depth: number
      readonly by: Sender
      readonly origin: ForkOrigin
      readonly state: ForkState
      readonly via?: string
    }
  /** the work of the process is done, and it gets no new work */
  | { readonly type: 'process.retired'; readonly by: Sender; readonly reason: string }
  | { readonly type: 'process.pinned'; readonly pinned: boolean; readonly by: Sender; readonly via?: string }
  /** the user has seen what the process asked or how it ended */
  | { readonly type: 'process.seen'; readonly by: Sender; readonly via?: string }
  /** the user does not want to see the present needs of the process before `until` (wall ms); null: now */
  | { readonly type: 'process.snoozed'; readonly until: number | null; readonly by: Sender; readonly via?: string }
  /** the process got a new name or other labels; `from`: the previous name, if a new name replaced it */
  | {
      readonly type: 'process.described'
      readonly what: 'name' | 'labels'
      readonly spec: ProcessSpec
      readonly by: Sender
      readonly from?: string
      readonly via?: string
    }
  /**
   * `mono`: monotonic ms; `attached`: a driver is asked to run the process; `metered`: the gateway meters its model calls;
   * `direct`: why these calls do not use the gateway, as text
   */
  | {
      readonly type: 'process.started'
      readonly mono: number
      readonly attached: boolean
      readonly containment: ContainmentIntent | null
      readonly metered?: true
      readonly direct?: string
    }
  /** a process that started without a driver gets one */
  | { readonly type: 'process.attached'; readonly containment: ContainmentIntent | null; readonly metered?: true; readonly direct?: string }
  /** the operating system process of the driver, and the session of the agent */
  | { readonly type: 'process.handle'; readonly handle: OsHandle | null; readonly sessionId?: string }
  /** the agent can take a message; `outcome`: how the turn ended, absent: the turn is still open, or there was none */
  | {
      readonly type: 'process.ready'
      readonly turn: number
      readonly outcome?: 'ok' | 'error' | 'interrupted'
      readonly result?: string
      readonly error?: string
    }
  /** a turn begins or continues; `message`: the id of its message */
  | { readonly type: 'process.working'; readonly turn: number; readonly message: string | null }
  | { readonly type: 'process.waiting'; readonly question: string; readonly ask?: Ask }
  | {
      readonly type: 'process.answered'
      readonly id: string
      readonly option: string | null
      readonly text: string | null
      readonly by: Sender
      readonly via?: string
      readonly delivery?: DeliveryTime
    }
  /** the agent gets the stored answer, because its time has come */
  | { readonly type: 'process.delivered'; readonly id: string }
  /** the user has taken back an answer that the agent does not have, so the ask is open again */
  | { readonly type: 'process.unanswered'; readonly id: string; readonly by: Sender; readonly via?: string }
  /** the agent has withdrawn its ask */
  | { readonly type: 'process.unasked'; readonly id: string }
  | { readonly type: 'process.stopping'; readonly stopping: Stopping }
  /**
   * `elapsedMs`: active time, if it is not known from the clock; `holds`: for the next incarnation; `settled`: the
   * payer has counted all usage
   */
  | {
      readonly type: 'process.exited'
      readonly exit: ExitStatus
      readonly mono: number
      readonly elapsedMs?: number
      readonly holds?: readonly Hold[]
      readonly settled?: true
    }
  | { readonly type: 'process.reaped'; readonly settled?: true }
  | { readonly type: 'process.reparented'; readonly parent: Uuid | null; readonly payer?: Uuid; readonly settled?: true }
  /** `endsTurn`: the resume ends the open turn as interrupted, because another member now has its task */
  | {
      readonly type: 'process.resumed'
      readonly pid: Pid
      readonly by: Sender
      readonly spec?: ProcessSpec
      readonly fromStep: number
      readonly rerun?: true
      readonly restart?: RestartFact
      readonly endsTurn?: true
      readonly via?: string
    }
  /**
   * a waiting incarnation may begin at `startAt` (wall ms) and `dueMono` (the same time, monotonic ms);
   * `startAt` null: its supervisor decides; only `dueMono` null: it begins now
   */
  | { readonly type: 'restart.due'; readonly startAt: number | null; readonly dueMono: number | null }
  /** a suspended process has survived the end of its daemon, without a driver */
  | { readonly type: 'process.rehydrated'; readonly pid: Pid }
  // holds
  | { readonly type: 'process.held'; readonly hold: Hold; readonly mono: number }
  | {
      readonly type: 'process.released'
      readonly holds: readonly Hold[]
      readonly by: Sender
      readonly mono: number
      readonly via?: string
    }
  /** the paused process has reached a boundary, or was frozen; `inFlight`: the interrupted activity, null: none */
  | { readonly type: 'process.drained'; readonly inFlight: string | null }
  | { readonly type: 'process.frozen'; readonly inFlight: string | null }
  // signals
  | {
      readonly type: 'signal.sent'
      readonly signal: Signal
      readonly by: Sender
      readonly root: Uuid | null
      readonly disposition: Disposition
      readonly graceMs: number | null
      readonly via?: string
    }
  /** the process did not end within its grace, so SIGKILL follows */
  | { readonly type: 'signal.escalated'; readonly from: Signal; readonly to: 'SIGKILL'; readonly afterMs: number }
  /** a signal is deferred */
  | { readonly type: 'signal.pended'; readonly pending: PendingSignal }
  /** a deferred signal is delivered or dropped */
  | { readonly type: 'signal.unpended'; readonly signal: Signal }
  | { readonly type: 'signal.masked'; readonly mask: readonly Signal[] }
  | { readonly type: 'signal.handled'; readonly signal: Signal; readonly handler: Handler }
  // messages
  /** a message is queued */
  | {
      readonly type: 'process.queue'
      readonly id: string
      readonly from: Sender
      readonly text: string
      readonly urgent?: true
      readonly via?: string
    }
  /** a queued message is delivered; `queuedAt`: the seq of the fact that has its text */
  | { readonly type: 'process.incoming'; readonly id: string; readonly from: Sender; readonly turn: number; readonly queuedAt: number }
  /** the process read a queued message in the middle of a turn */
  | { readonly type: 'message.taken'; readonly id: string; readonly turn: number }
  // output
  | { readonly type: 'process.output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** an original output line of an external agent; `left`: number of characters cut from its end */
  | { readonly type: 'process.raw'; readonly raw: string; readonly left?: number }
  | { readonly type: 'process.error'; readonly message: string }
  | { readonly type: 'process.note'; readonly text: string }
  // steps
  | {
      readonly type: 'model.started'
      readonly step: number
      readonly attempt: number
      readonly model: string
      readonly reserve?: CallEstimate
    }
  | {
      readonly type: 'model.finished'
      readonly step: number
      readonly message: readonly AssistantPart[]
      readonly usage: CallUsage
      readonly finish: FinishReason
      readonly durationMs: number
      /** from sending the request of the last attempt to the first piece of its answer; absent if unknown */
      readonly firstTokenMs?: number
    }
  | {
      readonly type: 'model.failed'
      readonly step: number
      readonly attempt: number
      readonly error: string
      readonly status: number | null
      readonly retryInMs: number | null
      readonly partial?: string
      readonly usage?: CallUsage
    }
  | { readonly type: 'tool.started'; readonly step: number; readonly callId: string; readonly name: string; readonly effect: ToolEffect }
  /** `exitCode`: exit code of the command that the call ran; `128 + n` if signal `n` ended the command */
  | {
      readonly type: 'tool.finished'
      readonly step: number
      readonly callId: string
      readonly name: string
      readonly outcome: ToolOutcome
      readonly content: string
      readonly durationMs: number
      readonly images?: readonly ImagePart[]
      readonly exitCode?: number
    }
  /** usage since the last report, without the usage of calls in `model.finished` */
  | { readonly type: 'usage.reported'; readonly usage: CallUsage; readonly contextTokens?: number; readonly window?: number }
  /** resource usage of the process's programs since the last measurement */
  | { readonly type: 'usage.measured'; readonly measured: Measured }
  // context
  | { readonly type: 'context.window'; readonly tokens: number | null; readonly answer?: number }
  | {
      readonly type: 'compaction.started'
      readonly step: number
      readonly attempt: number
      readonly model: string
      readonly reserve?: CallEstimate
    }
  | {
      readonly type: 'compaction.failed'
      readonly step: number
      readonly attempt: number
      readonly error: string
      readonly status: number | null
      readonly retryInMs: number | null
      readonly usage?: CallUsage
    }
  /**
   * the context is now the summary plus the facts in `ranges`; `before`: its tokens until now; `after`: its estimated
   * tokens from now on
   */
  | {
      readonly type: 'context.compacted'
      readonly step: number
      readonly summary: string
      readonly ranges: readonly Range[]
      readonly before: number
      readonly after: number
      readonly usage: CallUsage
      readonly durationMs: number
    }
  // limits
  | {
      readonly type: 'limit.warned'
      readonly limit: 'context' | BoundName
      readonly used: number
      readonly of: number
      readonly scope?: Uuid
    }
  /**
   * `scope`: the process that has the limit, or the held process for a budget of the home; `ask`: the estimate of the call
   * that has no room. Action `wait`: only open calls use up the room, so the process waits for their end
   */
  | {
      readonly type: 'limit.reached'
      readonly limit: BoundName
      readonly used: number
      readonly of: number
      readonly action: LimitAction | 'wait'
      readonly scope: Uuid
      readonly ask?: CallEstimate
    }
  /** the limits or the permissions have changed; `spec` contains all of them */
  | { readonly type: 'process.limited'; readonly spec: ProcessSpec; readonly by: Sender; readonly via?: string }
  /** a call of an external agent's model through the gateway; `call`: its id */
  | {
      readonly type: 'call.started'
      readonly call: string
      readonly model: string
      readonly provider: string
      readonly reserve: CallEstimate
    }
  | {
      readonly type: 'call.finished'
      readonly call: string
      readonly usage: CallUsage
      readonly status: number | null
      readonly error?: string
      /** the provider refused the account with another status than 401, 402 and 403, such as 429 for a used-up quota */
      readonly account?: true
      readonly contextTokens?: number
      /** from sending the request to the first byte of a successful answer */
      readonly firstTokenMs?: number
    }
  /** the process tried something that it may not do; `what`: the missing capability; `detail`: a description of the attempt */
  | { readonly type: 'capability.refused'; readonly what: CapabilityName; readonly detail: string; readonly callId?: string }
  | { readonly type: 'mcp.servers'; readonly servers: readonly McpState[] }
  | {
      readonly type: 'checkpoint.written'
      readonly step: number
      readonly ranges: readonly (readonly [number, number])[]
      readonly turn: number
      readonly openCalls: readonly OpenCall[]
      readonly state?: CheckpointState
    }
  | { readonly type: 'checkpoint.failed'; readonly step: number; readonly error: string }
  // files
  | { readonly type: 'worktree.made'; readonly dir: string; readonly branch: string; readonly base: string }
  /**
   * the worktree's files after a step. `commit`: in the repository of records; `head`: the commit that is checked
   * out; `left`: the first 100 omitted paths; `more`: number of further omitted paths
   */
  | {
      readonly type: 'files.recorded'
      readonly step: number
      readonly commit: string
      readonly head: string
      readonly left: readonly OmittedPath[]
      readonly more?: number
    }
  | { readonly type: 'files.failed'; readonly step: number; readonly error: string }
  // supervisors
  /** a new child, or a known child whose restart count is reset */
  | {
      readonly type: 'supervisor.added'
      readonly id: string
      readonly child: Uuid
      readonly restart: RestartType
      readonly onComplete?: OnComplete
    }
  | { readonly type: 'supervisor.removed'; readonly id: string; readonly child: Uuid; readonly via?: string }
  /** a child restarts; `group`: the siblings that stop and restart with it; `delayMs` counts from the end of the last of them */
  | {
      readonly type: 'supervisor.restarting'
      readonly id: string
      readonly child: Uuid
      readonly cause: string
      readonly restarts: Restarts
      readonly delayMs: number
      readonly group?: readonly string[]
    }
  /** all members of a group have ended, and begin again at `startAt` (wall ms) */
  | { readonly type: 'supervisor.restarted'; readonly startAt: number }
  /** the supervisor holds a child, because the child would fail again in the same way */
  | { readonly type: 'supervisor.held'; readonly id: string; readonly child: Uuid; readonly cause: string }
  /** a child failed too often: the supervisor stops all children, then itself */
  | { readonly type: 'supervisor.escalated'; readonly id: string; readonly child: Uuid; readonly times: number; readonly windowMs: number }
  // runs of compose files
  | ComposeFact
  // parents and children
  | { readonly type: 'child.spawned'; readonly child: Uuid; readonly childPid: Pid }
  | { readonly type: 'child.exited'; readonly child: Uuid; readonly childPid: Pid; readonly code: number; readonly reason: string }
  /** a descendant ended; `spent`: its usage that the payer had not counted yet */
  | { readonly type: 'child.spent'; readonly child: Uuid; readonly spent: UsageTotals }
  | { readonly type: 'message.sent'; readonly to: Uuid; readonly id: string }
  | { readonly type: 'child.suspended'; readonly child: Uuid; readonly reason: string; readonly by: Sender }
  | { readonly type: 'child.resumed'; readonly child: Uuid; readonly by: Sender }
  // liveness
  /** `since`: wall time in ms at which the new state began; `evidence`: the activity at that time */
  | { readonly type: 'liveness.changed'; readonly word: LivenessWord; readonly since: number; readonly evidence: string }
  /** the same calls had the same results `times` in a row; `told`: the model was only warned; at this number the process is held */
  | { readonly type: 'liveness.looping'; readonly times: number; readonly calls: readonly CallEvidence[]; readonly told?: number }
  /**
   * `errors` of the last `of` tool calls failed; `told`: only the model was warned; the process is held after this many further failures
   */
  | {
      readonly type: 'liveness.breaker'
      readonly errors: number
      readonly of: number
      readonly tools: readonly ToolErrors[]
      readonly last: string
      readonly told?: number
    }

export type FactType = FactBody['type']

/** A fact with its process, position and time. */
export interface Fact {
  readonly uuid: Uuid
  /** counts from 1 within the process, without gaps */
  readonly seq: number
  /** the incarnation that the fact belongs to */
  readonly pid: Pid
  /** wall time in ms */
  readonly at: number
  readonly body: FactBody
  /** the process right after the fact; absent in stores before 0.2 */
  readonly moment?: Moment
}

/** The position and type of a fact, for readers that do not need its body. */
export interface FactMark {
  readonly seq: number
  readonly type: FactType
}

/** A filter for reading a page of facts. */
export interface PageFilter {
  /** the only types that are read, besides `marks`; absent: all but `without` */
  readonly only?: readonly FactType[]
  /** long texts, which the store keeps apart from their facts, are read as empty texts */
  readonly withoutLongTexts?: true
  /** types whose facts are skipped */
  readonly without: readonly FactType[]
  /** types whose facts are read without their bodies: only position and type */
  readonly marks: readonly FactType[]
}

/** A fact as the store returns it. */
export interface StoredFact extends Fact {
  /** position in the order of all facts of the store */
  readonly cursor: number
}

export type BodyOf<T extends FactBody['type']> = Extract<FactBody, { type: T }>
