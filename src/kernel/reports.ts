// What drivers may say to the kernel: a closed union. A report names no state; the kernel decides what it means.
// Of agents that others wrote, `model.started` and what follows are observations: they have happened, and are never refused.
// A report of an old incarnation or an old turn is ignored. Test: test/tables/reporting.test.ts.
import type { AssistantPart, CapabilityName, FinishReason, ImagePart, LeftOut, McpState, ToolOutcome } from './facts.ts'
import type { Ask } from './asking.ts'
import type { Measured } from './usage.ts'
import type { CallAsk, CallUsage, OsHandle, Range, ToolEffect } from './types.ts'

/** A tool call that a finished model call asked for; `effect` was looked up by the driver. */
export interface AskedCall {
  readonly callId: string
  readonly name: string
  readonly effect: ToolEffect
}

/** `resumeAt` (of `model.failed`, `compaction.failed`, `turn.ended` and `exited`): a rate limit was met that is over then, in wall ms; the process is suspended until it is resumed. */
export type Report =
  /** the driver runs; for programs of the operating system with their handle; `window` is what the model's context holds, in tokens */
  | { readonly type: 'up'; readonly handle?: OsHandle; readonly sessionId?: string; readonly window?: number | null }
  /** asks to begin a model call; the acknowledgement says `go`, `held` (wait at the gate, ask again) or `stop` */
  | { readonly type: 'model.started'; readonly step: number; readonly attempt: number; readonly model: string; readonly ask?: CallAsk }
  | { readonly type: 'model.finished'; readonly step: number; readonly message: readonly AssistantPart[]; readonly usage: CallUsage; readonly finish: FinishReason; readonly durationMs: number; readonly calls: readonly AskedCall[] }
  | { readonly type: 'model.failed'; readonly step: number; readonly attempt: number; readonly error: string; readonly status: number | null; readonly retryInMs: number | null; readonly partial?: string; readonly usage?: CallUsage; readonly resumeAt?: number }
  | { readonly type: 'tool.finished'; readonly callId: string; readonly outcome: ToolOutcome; readonly content: string; readonly durationMs: number; readonly images?: readonly ImagePart[] }
  /** asks to begin a call that sums the context up, between two steps; answered as `model.started` is */
  | { readonly type: 'compaction.started'; readonly step: number; readonly attempt: number; readonly model: string; readonly ask?: CallAsk }
  /** without a `retryInMs` the process is suspended: answered `held` */
  | { readonly type: 'compaction.failed'; readonly step: number; readonly attempt: number; readonly error: string; readonly status: number | null; readonly retryInMs: number | null; readonly usage?: CallUsage; readonly resumeAt?: number }
  | { readonly type: 'context.compacted'; readonly step: number; readonly summary: string; readonly ranges: readonly Range[]; readonly before: number; readonly after: number; readonly usage: CallUsage; readonly durationMs: number }
  /** of an agent of others: asks to begin a call through the gateway, answered as `model.started` is; several may be open */
  | { readonly type: 'call.started'; readonly call: string; readonly model: string; readonly provider: string; readonly ask: CallAsk }
  | { readonly type: 'call.finished'; readonly call: string; readonly usage: CallUsage; readonly status: number | null; readonly error?: string; readonly contextTokens?: number }
  /** it was kept from what it may not do */
  | { readonly type: 'refused'; readonly what: CapabilityName; readonly detail: string; readonly callId?: string }
  | { readonly type: 'mcp.servers'; readonly servers: readonly McpState[] }
  /** the agent is ready again; `turn` is the turn that ended */
  | { readonly type: 'turn.ended'; readonly turn: number; readonly outcome: 'ok' | 'error' | 'interrupted'; readonly result?: string; readonly error?: string; readonly resumeAt?: number }
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** waits for a person */
  | { readonly type: 'waiting'; readonly ask: Ask }
  /** the agent no longer wants to know */
  | { readonly type: 'unasked'; readonly id: string }
  /** what was used since the last one, where `model.finished` did not say it (then its usage is all zero, its cost too); `window` and `contextTokens` are of the context as it is now */
  | { readonly type: 'usage'; readonly usage: CallUsage; readonly contextTokens?: number; readonly window?: number }
  /** what its programs used since the last one; `outOfMemory`: the system ended one of them, as they had reached the memory limit */
  | { readonly type: 'measured'; readonly measured: Measured; readonly outOfMemory?: true }
  /** the agent's name for what it can go on with */
  | { readonly type: 'session'; readonly sessionId: string }
  /** paused, and blocked at a boundary: nothing is in flight */
  | { readonly type: 'drained' }
  /** paused by freezing; what was in flight, in words */
  | { readonly type: 'frozen'; readonly inFlight: string | null }
  /** the ladder's first signal was not enough: said just before SIGKILL */
  | { readonly type: 'escalated'; readonly from: 'SIGTERM' | 'SIGINT'; readonly afterMs: number }
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'worktree.made'; readonly dir: string; readonly branch: string; readonly base: string }
  | { readonly type: 'files.recorded'; readonly step: number; readonly commit: string; readonly head: string; readonly left: readonly LeftOut[]; readonly more?: number }
  | { readonly type: 'files.failed'; readonly step: number; readonly error: string }
  /** the agent ended by itself. `code` and `signal` as the operating system gave them; `error` for the driver's own failures */
  | { readonly type: 'exited'; readonly code: number | null; readonly osSignal: string | null; readonly reason?: string; readonly error?: string; readonly resumeAt?: number }

/** What an acknowledged report answers; `ok` for all that ask for nothing. */
export type Ack = 'ok' | 'go' | 'held' | 'stop' | 'late'

/** A report that asks whether a call to a model may begin. */
export type Asking = Extract<Report, { readonly type: 'model.started' | 'compaction.started' | 'call.started' }>

/** Its answer: with how long an answer the call may have (null: as long as it likes), or why it may not begin, in words for people. */
export type Permit =
  | { readonly ack: 'go'; readonly maxOutputTokens: number | null }
  | { readonly ack: 'held' | 'stop' | 'late'; readonly reason: string | null }
