// Reports: the closed union of what drivers send to the kernel. A report names no state; the kernel decides its meaning. An external agent
// reports model and tool calls that have already happened, so no hold or budget refuses them. A report of an old incarnation or an old turn
// is ignored. Test: test/tables/kernel/decide/reports.test.ts.
import type { AssistantPart, CapabilityName, FinishReason, ImagePart, OmittedPath, McpState, ToolOutcome } from './facts.ts'
import type { Measured, CallUsage } from './usage.ts'
import type { CallEstimate, OsHandle } from './process.ts'
import type { ToolEffect } from './words.ts'
import type { Ask } from './asks.ts'
import type { Range } from './context.ts'

/** A tool call that a finished model call requested. */
export interface RequestedCall {
  readonly callId: string
  readonly name: string
  readonly effect: ToolEffect
}

/**
 * What a driver states about its agent. In a report of a failure, two fields suspend the process instead of failing its work. `account`:
 * the provider refused the key or the account, and no fallback model is left. `resumeAt`: the wall ms at which a rate
 * limit ends.
 */
export type Report =
  /**
   * the driver runs. `handle`: its operating system process; `window`: size of the model's context in tokens;
   * `answer`: the number of these tokens that are kept free for an answer
   */
  | {
      readonly type: 'up'
      readonly handle?: OsHandle
      readonly sessionId?: string
      readonly window?: number | null
      readonly answer?: number
    }
  /** requests a model call; see `Ack` for the answers */
  | { readonly type: 'model.started'; readonly step: number; readonly attempt: number; readonly model: string; readonly ask?: CallEstimate }
  | {
      readonly type: 'model.finished'
      readonly step: number
      readonly message: readonly AssistantPart[]
      readonly usage: CallUsage
      readonly finish: FinishReason
      readonly durationMs: number
      /** as in the fact */
      readonly firstTokenMs?: number
      readonly calls: readonly RequestedCall[]
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
      readonly resumeAt?: number
      readonly account?: true
    }
  | {
      readonly type: 'tool.finished'
      readonly callId: string
      readonly outcome: ToolOutcome
      readonly content: string
      readonly durationMs: number
      readonly images?: readonly ImagePart[]
      readonly exitCode?: number
    }
  /** requests a call that summarizes the context between two steps; answered like `model.started` */
  | {
      readonly type: 'compaction.started'
      readonly step: number
      readonly attempt: number
      readonly model: string
      readonly ask?: CallEstimate
    }
  /** `retryInMs` null: the call is not repeated, the process is suspended, and the answer is `held` */
  | {
      readonly type: 'compaction.failed'
      readonly step: number
      readonly attempt: number
      readonly error: string
      readonly status: number | null
      readonly retryInMs: number | null
      readonly usage?: CallUsage
      readonly resumeAt?: number
      readonly account?: true
    }
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
  /** requests a call of an external agent through the gateway; answered like `model.started`. Several may be open */
  | { readonly type: 'call.started'; readonly call: string; readonly model: string; readonly provider: string; readonly ask: CallEstimate }
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
  /** the process tried something that it may not do; `what`: the missing capability */
  | { readonly type: 'refused'; readonly what: CapabilityName; readonly detail: string; readonly callId?: string }
  | { readonly type: 'mcp.servers'; readonly servers: readonly McpState[] }
  /** the agent is ready again; `turn`: the turn that ended */
  | {
      readonly type: 'turn.ended'
      readonly turn: number
      readonly outcome: 'ok' | 'error' | 'interrupted'
      readonly result?: string
      readonly error?: string
      readonly resumeAt?: number
      readonly account?: true
    }
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** an original output line of an external agent; `left`: number of characters cut from its end */
  | { readonly type: 'raw'; readonly raw: string; readonly left?: number }
  /** the agent waits for the user */
  | { readonly type: 'waiting'; readonly ask: Ask }
  /** the agent withdraws its ask */
  | { readonly type: 'unasked'; readonly id: string }
  /**
   * usage since the last report, for a driver whose `model.finished` reports no usage. `window`: size of the model's
   * context in tokens; `contextTokens`: tokens in use
   */
  | { readonly type: 'usage'; readonly usage: CallUsage; readonly contextTokens?: number; readonly window?: number }
  /** resource usage of the process's programs since the last measurement; `outOfMemory`: the system killed a program at the memory limit */
  | { readonly type: 'measured'; readonly measured: Measured; readonly outOfMemory?: true }
  /** the agent can resume this session */
  | { readonly type: 'session'; readonly sessionId: string }
  /** the paused agent has reached a boundary: nothing is in flight */
  | { readonly type: 'drained' }
  /** the paused agent was frozen; `inFlight`: a description of the interrupted activity */
  | { readonly type: 'frozen'; readonly inFlight: string | null }
  /** the first signal did not end the process; sent just before SIGKILL */
  | { readonly type: 'escalated'; readonly from: 'SIGTERM' | 'SIGINT'; readonly afterMs: number }
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'worktree.made'; readonly dir: string; readonly branch: string; readonly base: string }
  | {
      readonly type: 'files.recorded'
      readonly step: number
      readonly commit: string
      readonly head: string
      readonly left: readonly OmittedPath[]
      readonly more?: number
    }
  | { readonly type: 'files.failed'; readonly step: number; readonly error: string }
  /** the agent ended without a request of the kernel. `code`, `osSignal`: from the operating system; `error`: a failure of the driver */
  | {
      readonly type: 'exited'
      readonly code: number | null
      readonly osSignal: string | null
      readonly reason?: string
      readonly error?: string
      readonly resumeAt?: number
      readonly account?: true
    }

/**
 * The answer to a report. `ok`: recorded; `late`: ignored, because its incarnation, turn or call is over. To a call
 * request: `go`; `held`: wait until the process continues, then ask again; `stop`: the process ends.
 */
export type Ack = 'ok' | 'go' | 'held' | 'stop' | 'late'

/** A report that requests a model call. */
export type CallRequest = Extract<Report, { readonly type: 'model.started' | 'compaction.started' | 'call.started' }>

/** The answer to a call request. */
export type CallGrant =
  /** the call may begin; `maxOutputTokens`: maximum length of the model's answer, null: unlimited */
  | { readonly ack: 'go'; readonly maxOutputTokens: number | null }
  /** the call may not begin; `reason`: why, as text */
  | { readonly ack: 'held' | 'stop' | 'late'; readonly reason: string | null }

export type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>
