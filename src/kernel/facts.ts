// The closed union of facts: all that the journal can say about a process. The state of a process is the fold of them.
// Owns the stored format: a field may be added, none may change its meaning. Bodies (messages, results) stand here once.
// Test: test/properties/fold.test.ts, test/tables/events.test.ts.
import type { LivenessWord } from './liveness.ts'
import type { CallEvidence, ToolErrors } from './loops.ts'
import type { Disposition, PendingSignal } from './signals.ts'
import type { OnComplete, RestartFact, Restarts, RestartType } from './supervision.ts'
import type { ContextState } from './ranges.ts'
import type { Ask } from './asking.ts'
import type { ComposeFact } from '../crew/compose-types.ts'
import type { Measured } from './usage.ts'
import type { CrewFact } from '../crew/facts.ts'
import type { Spent } from './spent.ts'
import type { CallAsk, CallUsage, ContainmentIntent, ExitStatus, Handler, Hold, LimitAction, LimitName, OpenCall, OsHandle, Pid, ProcessSpec, QueuedMessage, Range, Sender, Signal, Stopping, ToolEffect, Uuid } from './types.ts'

/** One part of an assistant's message. `input` is JSON; `meta` is what the provider wants back unchanged (signatures). */
export type AssistantPart =
  | { readonly type: 'text'; readonly text: string; readonly meta?: unknown }
  | { readonly type: 'reasoning'; readonly text: string; readonly meta?: unknown }
  | { readonly type: 'tool-call'; readonly callId: string; readonly name: string; readonly input: unknown; readonly meta?: unknown }

/** A picture that a tool gave: base64 of the file's bytes. */
export interface ImagePart {
  readonly mediaType: string
  readonly data: string
}

/** A tool of an MCP server as the model is told of it. */
export interface McpTool {
  /** `mcp__SERVER__TOOL` */
  readonly name: string
  readonly description: string
  /** JSON Schema of the input */
  readonly schema: Readonly<Record<string, unknown>>
}

/** An MCP server of an incarnation: what it offers, or why it is not used. */
export interface McpState {
  readonly name: string
  readonly state: 'up' | 'failed' | 'untrusted'
  /** protocol revision and version of a server that is up; else why not */
  readonly detail: string
  readonly tools: readonly McpTool[]
}

/** Where a fork begins: the last fact of the origin that belongs to its history, and the step that it ends. */
export interface Origin {
  readonly uuid: Uuid
  readonly step: number
  readonly seq: number
}

/** What a process is at the end of a step, as far as a fork goes on with it. */
export interface ForkState {
  readonly turn: number
  readonly turnOpen: boolean
  readonly lastText: string | null
  readonly queue: readonly QueuedMessage[]
  readonly context: ContextState | null
  readonly contextTokens: number
  /** the session of an agent of others, which is to be forked */
  readonly sessionId: string | null
}

/** What a fork needs of a checkpoint besides its ranges; absent where too many messages waited. */
export interface CheckpointState {
  readonly modelOpen: boolean
  readonly turnOpen: boolean
  readonly queue: readonly QueuedMessage[]
  readonly compactedStep: number | null
  readonly window: number | null
  readonly contextTokens: number
}

/** What a record of files does not have. A path ends with `/` where all below it is meant. */
export interface LeftOut {
  readonly path: string
  readonly why: 'large' | 'ignored' | 'repository' | 'unreadable'
}

/** How a model call ended, in the field's words. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

/** How a tool call ended. `interrupted`: nobody knows whether it happened. */
export type ToolOutcome = 'ok' | 'error' | 'denied' | 'interrupted'

/** What can be limited. */
export type CapabilityName = 'tools' | 'paths' | 'network' | 'signals' | 'spawns'

export type FactBody =
  // crews
  | CrewFact
  // life
  | { readonly type: 'process.spawned'; readonly pid: Pid; readonly spec: ProcessSpec; readonly parentUuid: Uuid | null; readonly depth: number; readonly by: Sender }
  /** the first fact of a fork: all that it goes on with stands here, so that its state needs no fact of the origin */
  | { readonly type: 'process.forked'; readonly pid: Pid; readonly spec: ProcessSpec; readonly parentUuid: Uuid | null; readonly depth: number; readonly by: Sender; readonly origin: Origin; readonly state: ForkState }
  /** it is let go after its work: no new work comes to it */
  | { readonly type: 'process.retired'; readonly by: Sender; readonly reason: string }
  | { readonly type: 'process.pinned'; readonly pinned: boolean; readonly by: Sender }
  | { readonly type: 'process.started'; readonly mono: number; readonly attached: boolean; readonly containment: ContainmentIntent | null; readonly metered?: true; readonly direct?: string }
  | { readonly type: 'process.attached'; readonly containment: ContainmentIntent | null; readonly metered?: true; readonly direct?: string }
  | { readonly type: 'process.handle'; readonly handle: OsHandle | null; readonly sessionId?: string }
  | { readonly type: 'process.ready'; readonly turn: number; readonly outcome?: 'ok' | 'error' | 'interrupted'; readonly result?: string; readonly error?: string }
  | { readonly type: 'process.working'; readonly turn: number; readonly message: string | null }
  | { readonly type: 'process.waiting'; readonly question: string; readonly ask?: Ask }
  | { readonly type: 'process.answered'; readonly id: string; readonly option: string | null; readonly text: string | null; readonly by: Sender }
  | { readonly type: 'process.unasked'; readonly id: string }
  | { readonly type: 'process.stopping'; readonly stopping: Stopping }
  | { readonly type: 'process.exited'; readonly exit: ExitStatus; readonly mono: number; readonly elapsedMs?: number; readonly holds?: readonly Hold[]; readonly settled?: true }
  | { readonly type: 'process.reaped'; readonly settled?: true }
  | { readonly type: 'process.reparented'; readonly parent: Uuid | null; readonly payer?: Uuid; readonly settled?: true }
  | { readonly type: 'process.resumed'; readonly pid: Pid; readonly by: Sender; readonly spec?: ProcessSpec; readonly fromStep: number; readonly rerun?: true; readonly restart?: RestartFact }
  /** of a new incarnation that waits: when it may begin; nothing: it begins now, or its supervisor will say so */
  | { readonly type: 'restart.due'; readonly startAt: number | null; readonly dueMono: number | null }
  | { readonly type: 'process.rehydrated'; readonly pid: Pid }
  // holds
  | { readonly type: 'process.held'; readonly hold: Hold; readonly mono: number }
  | { readonly type: 'process.released'; readonly holds: readonly Hold[]; readonly by: Sender; readonly mono: number }
  | { readonly type: 'process.drained'; readonly inFlight: string | null }
  | { readonly type: 'process.frozen'; readonly inFlight: string | null }
  // signals
  | { readonly type: 'signal.sent'; readonly signal: Signal; readonly by: Sender; readonly root: Uuid | null; readonly disposition: Disposition; readonly graceMs: number | null; readonly via?: string }
  /** what was asked to end did not within its grace */
  | { readonly type: 'signal.escalated'; readonly from: Signal; readonly to: 'SIGKILL'; readonly afterMs: number }
  | { readonly type: 'signal.pended'; readonly pending: PendingSignal }
  | { readonly type: 'signal.unpended'; readonly signal: Signal }
  | { readonly type: 'signal.masked'; readonly mask: readonly Signal[] }
  | { readonly type: 'signal.handled'; readonly signal: Signal; readonly handler: Handler }
  // messages
  | { readonly type: 'process.queue'; readonly id: string; readonly from: Sender; readonly text: string; readonly urgent?: true }
  | { readonly type: 'process.incoming'; readonly id: string; readonly from: Sender; readonly turn: number; readonly queuedAt: number }
  /** it has read a message that waited, in the middle of a turn */
  | { readonly type: 'message.taken'; readonly id: string; readonly turn: number }
  | { readonly type: 'process.output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'process.error'; readonly message: string }
  | { readonly type: 'process.note'; readonly text: string }
  // steps
  | { readonly type: 'model.started'; readonly step: number; readonly attempt: number; readonly model: string; readonly reserve?: CallAsk }
  | { readonly type: 'model.finished'; readonly step: number; readonly message: readonly AssistantPart[]; readonly usage: CallUsage; readonly finish: FinishReason; readonly durationMs: number }
  | { readonly type: 'model.failed'; readonly step: number; readonly attempt: number; readonly error: string; readonly status: number | null; readonly retryInMs: number | null; readonly partial?: string; readonly usage?: CallUsage }
  | { readonly type: 'tool.started'; readonly step: number; readonly callId: string; readonly name: string; readonly effect: ToolEffect }
  | { readonly type: 'tool.finished'; readonly step: number; readonly callId: string; readonly name: string; readonly outcome: ToolOutcome; readonly content: string; readonly durationMs: number; readonly images?: readonly ImagePart[] }
  /** what an agent used, as a delta, where its `model.finished` could not say it */
  | { readonly type: 'usage.reported'; readonly usage: CallUsage; readonly contextTokens?: number; readonly window?: number }
  /** what its programs used, as a delta; memory as it is and at its most */
  | { readonly type: 'usage.measured'; readonly measured: Measured }
  // context
  | { readonly type: 'context.window'; readonly tokens: number | null }
  | { readonly type: 'compaction.started'; readonly step: number; readonly attempt: number; readonly model: string; readonly reserve?: CallAsk }
  | { readonly type: 'compaction.failed'; readonly step: number; readonly attempt: number; readonly error: string; readonly status: number | null; readonly retryInMs: number | null; readonly usage?: CallUsage }
  /** from here on the context is the summary, and the messages whose facts lie in the ranges; `before` and `after` are tokens, `after` an estimate */
  | { readonly type: 'context.compacted'; readonly step: number; readonly summary: string; readonly ranges: readonly Range[]; readonly before: number; readonly after: number; readonly usage: CallUsage; readonly durationMs: number }
  // limits
  | { readonly type: 'limit.warned'; readonly limit: 'context' | LimitName; readonly used: number; readonly of: number; readonly scope?: Uuid }
  /** `scope` is whose limit it is; `ask`: the call that it has no room for; `wait`: there will be room, or none, when the calls that are open have ended */
  | { readonly type: 'limit.reached'; readonly limit: LimitName; readonly used: number; readonly of: number; readonly action: LimitAction | 'wait'; readonly scope: Uuid; readonly ask?: CallAsk }
  /** its limits are others from here on: the spec has them all */
  | { readonly type: 'process.limited'; readonly spec: ProcessSpec; readonly by: Sender }
  /** a call of an agent of others, through the gateway */
  | { readonly type: 'call.started'; readonly call: string; readonly model: string; readonly provider: string; readonly reserve: CallAsk }
  | { readonly type: 'call.finished'; readonly call: string; readonly usage: CallUsage; readonly status: number | null; readonly error?: string; readonly contextTokens?: number }
  /** it asked for what it may not do; `what` is the kind of it, `detail` says it in words */
  | { readonly type: 'capability.refused'; readonly what: CapabilityName; readonly detail: string; readonly callId?: string }
  | { readonly type: 'mcp.servers'; readonly servers: readonly McpState[] }
  | { readonly type: 'checkpoint.written'; readonly step: number; readonly ranges: readonly (readonly [number, number])[]; readonly turn: number; readonly openCalls: readonly OpenCall[]; readonly state?: CheckpointState }
  | { readonly type: 'checkpoint.failed'; readonly step: number; readonly error: string }
  // files
  | { readonly type: 'worktree.made'; readonly dir: string; readonly branch: string; readonly base: string }
  /** the files of the worktree after a step: a commit of the process's own repository of records, and what is not in it; `head` is what was checked out */
  | { readonly type: 'files.recorded'; readonly step: number; readonly commit: string; readonly head: string; readonly left: readonly LeftOut[]; readonly more?: number }
  | { readonly type: 'files.failed'; readonly step: number; readonly error: string }
  // supervisors
  /** a new child, or one that is forgiven what it was restarted for */
  | { readonly type: 'supervisor.added'; readonly id: string; readonly child: Uuid; readonly restart: RestartType; readonly onComplete?: OnComplete }
  | { readonly type: 'supervisor.removed'; readonly id: string; readonly child: Uuid }
  /** a child comes back `delayMs` after the last of the `group` has ended, who are stopped and come back with it */
  | { readonly type: 'supervisor.restarting'; readonly id: string; readonly child: Uuid; readonly cause: string; readonly restarts: Restarts; readonly delayMs: number; readonly group?: readonly string[] }
  /** all of a group have ended, and begin again */
  | { readonly type: 'supervisor.restarted'; readonly startAt: number }
  /** a child would fail again in the same way */
  | { readonly type: 'supervisor.held'; readonly id: string; readonly child: Uuid; readonly cause: string }
  /** a child failed too often: the supervisor stops all, and itself */
  | { readonly type: 'supervisor.escalated'; readonly id: string; readonly child: Uuid; readonly times: number; readonly windowMs: number }
  // runs of compose files
  | ComposeFact
  // family
  | { readonly type: 'child.spawned'; readonly child: Uuid; readonly childPid: Pid }
  | { readonly type: 'child.exited'; readonly child: Uuid; readonly childPid: Pid; readonly code: number; readonly reason: string }
  /** what a descendant had used, and its payers did not know yet; said when it ends */
  | { readonly type: 'child.spent'; readonly child: Uuid; readonly spent: Spent }
  | { readonly type: 'message.sent'; readonly to: Uuid; readonly id: string }
  | { readonly type: 'child.suspended'; readonly child: Uuid; readonly reason: string; readonly by: Sender }
  | { readonly type: 'child.resumed'; readonly child: Uuid; readonly by: Sender }
  // liveness
  /** `since` is wall time in ms; `evidence` says what it was doing */
  | { readonly type: 'liveness.changed'; readonly word: LivenessWord; readonly since: number; readonly evidence: string }
  /** the same calls with the same results, `times` in a row */
  | { readonly type: 'liveness.looping'; readonly times: number; readonly calls: readonly CallEvidence[] }
  /** `errors` of the last `of` tool calls failed */
  | { readonly type: 'liveness.breaker'; readonly errors: number; readonly of: number; readonly tools: readonly ToolErrors[]; readonly last: string }

export type FactType = FactBody['type']

/** A fact in its place: `seq` counts from 1 within the process, without a gap; `at` is wall time in ms. */
export interface Fact {
  readonly uuid: Uuid
  readonly seq: number
  readonly pid: Pid
  readonly at: number
  readonly body: FactBody
}

/** Where a fact stands and what it is, for who does not need the rest of it. */
export interface FactMark {
  readonly seq: number
  readonly type: FactType
}

/** What of a page is not read: of the types `marks` more than their place, of the types `without` anything. */
export interface Skim {
  readonly without: readonly FactType[]
  readonly marks: readonly FactType[]
}

/** A fact as the store gives it back: with its place in the order of the whole store. */
export interface StoredFact extends Fact {
  readonly cursor: number
}
