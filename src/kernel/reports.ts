// What drivers may say to the kernel: a closed union. A report names no state; the kernel decides what it means.
// A report of an old incarnation or an old turn is ignored. Test: test/tables/reporting.test.ts.
import type { AssistantPart, FinishReason, ToolOutcome } from './facts.ts'
import type { CallUsage, OsHandle, ToolEffect } from './types.ts'

/** A tool call that a finished model call asked for; `effect` was looked up by the driver. */
export interface AskedCall {
  readonly callId: string
  readonly name: string
  readonly effect: ToolEffect
}

export type Report =
  /** the driver runs; for programs of the operating system with their handle */
  | { readonly type: 'up'; readonly handle?: OsHandle; readonly sessionId?: string }
  /** asks to begin a model call; the acknowledgement says `go`, `held` (wait at the gate, ask again) or `stop` */
  | { readonly type: 'model.started'; readonly step: number; readonly attempt: number; readonly model: string }
  | { readonly type: 'model.finished'; readonly step: number; readonly message: readonly AssistantPart[]; readonly usage: CallUsage; readonly finish: FinishReason; readonly durationMs: number; readonly calls: readonly AskedCall[] }
  | { readonly type: 'model.failed'; readonly step: number; readonly attempt: number; readonly error: string; readonly status: number | null; readonly retryInMs: number | null; readonly partial?: string; readonly usage?: CallUsage }
  | { readonly type: 'tool.finished'; readonly callId: string; readonly outcome: ToolOutcome; readonly content: string; readonly durationMs: number }
  /** the agent is ready again; `turn` is the turn that ended */
  | { readonly type: 'turn.ended'; readonly turn: number; readonly outcome: 'ok' | 'error' | 'interrupted'; readonly result?: string; readonly error?: string }
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** paused, and blocked at a boundary: nothing is in flight */
  | { readonly type: 'drained' }
  /** paused by freezing; what was in flight, in words */
  | { readonly type: 'frozen'; readonly inFlight: string | null }
  | { readonly type: 'note'; readonly text: string }
  /** the agent ended by itself. `code` and `signal` as the operating system gave them; `error` for the driver's own failures */
  | { readonly type: 'exited'; readonly code: number | null; readonly osSignal: string | null; readonly reason?: string; readonly error?: string }

/** What an acknowledged report answers; `ok` for all but `model.started`. */
export type Ack = 'ok' | 'go' | 'held' | 'stop' | 'late'
