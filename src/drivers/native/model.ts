// What the loop needs of a model: one call, streamed, that either answers or fails with what is known about the failure.
// Whether to try again is the loop's business alone; a model never retries in silence.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-script.test.ts.
import type { AssistantPart, FinishReason } from '../../kernel/facts.ts'
import type { CallAsk, CallUsage } from '../../kernel/types.ts'
import type { ContextMessage } from './context.ts'

/** A tool as a model is told of it; `schema` is a JSON Schema of its input. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
}

/** What a model is asked about: a `Context`, or another list of messages. */
export interface Messages {
  /** complete: no tool call without its result */
  readonly messages: readonly ContextMessage[]
  /** of the last tool call; '' if there was none */
  readonly lastResult: string
  /** tokens of all messages; `overheadBytes` are those of the system prompt and the tools */
  estimateTokens(overheadBytes: number): number
}

export interface ModelRequest {
  readonly step: number
  readonly attempt: number
  readonly system: string | null
  readonly context: Messages
  /** a text of ours that follows the context, to be answered by text alone: tools stay declared, and none may be called */
  readonly question?: string
  /** tokens that the answer may have at most; null: as many as the model's own limit allows */
  readonly maxOutputTokens: number | null
  /** asked for only by models that send them */
  offered(): readonly OfferedTool[]
  /** shown while they come in */
  onText(text: string): void
  onReasoning(text: string): void
  readonly signal: AbortSignal
}

export interface Answer {
  readonly message: readonly AssistantPart[]
  readonly usage: CallUsage
  readonly finish: FinishReason
}

export interface Model {
  /** as it is recorded: `provider/name` or `script:FILE` */
  readonly ref: string
  /** tokens that its context holds, with the answer; null if nobody knows */
  readonly window: number | null
  /** tokens that an answer may have; absent if there is no such limit */
  readonly maxOutputTokens?: number
  /** USD for a token of a call with so many tokens of input, at the most; null if nobody knows. Absent: its calls are played, and nobody pays for them */
  usdFor?(inputTokens: number): CallAsk['usd'] | undefined | Promise<CallAsk['usd']>
  /** Rejects with `CallFailed`, also when `signal` aborts. */
  call(request: ModelRequest): Promise<Answer>
}

/**
 * Why a call failed. `too-long`: the context does not fit. `auth`: key, permission or money. `not-found`: no such model or
 * address. `rate-limit`, `overloaded`: later, or elsewhere. `refused`: the provider will not answer this. `cut`: the network,
 * or a stream that ended too early. `other`: also what we did wrong.
 */
export type FailureKind = 'too-long' | 'auth' | 'not-found' | 'rate-limit' | 'overloaded' | 'refused' | 'cut' | 'other'

/** What is known about a failed call. */
export interface FailureFacts {
  readonly kind?: FailureKind
  /** HTTP status; null when there was none (network, cut stream) */
  readonly status?: number | null
  readonly retryable?: boolean
  /** how long the provider asked to wait */
  readonly retryAfterMs?: number | null
  /** the text that had come in */
  readonly partial?: string
  /** what it is charged, if anything may have been */
  readonly usage?: CallUsage | undefined
}

/** A model call that failed or was cut off. The message names the provider's error. */
export class CallFailed extends Error {
  readonly kind: FailureKind
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly partial: string
  readonly usage: CallUsage | undefined
  constructor(message: string, facts: FailureFacts = {}) {
    super(message)
    this.name = 'CallFailed'
    this.kind = facts.kind ?? 'other'
    this.status = facts.status ?? null
    this.retryable = facts.retryable ?? false
    this.retryAfterMs = facts.retryAfterMs ?? null
    this.partial = facts.partial ?? ''
    this.usage = facts.usage
  }
}

/** A cost of nothing, for models that are played. */
export const NO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
