// The interface of a model to the tool loop: a streamed call. The call returns an answer, or rejects with all known details of
// the failure. The loop alone decides about retries; a model must never retry on its own.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/script.test.ts.
import type { AssistantPart, FinishReason } from '../../../kernel/model/facts.ts'
import type { CallEstimate } from '../../../kernel/model/process.ts'
import type { ContextMessage } from '../context/context.ts'
import type { CallUsage } from '../../../kernel/model/usage.ts'

/** A tool as the model sees it. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  /** a JSON Schema of the input */
  readonly schema: Readonly<Record<string, unknown>>
}

/** The messages that a call sends: a `Context`, or a shortened copy of one. */
export interface ModelContext {
  /** in order; every tool call among them has its result */
  readonly messages: readonly ContextMessage[]
  /** the text of the last tool result; '' if there is none */
  readonly lastResult: string
  /** the estimated tokens of a call with all messages; `overheadBytes` is the size of the system prompt and the tools */
  estimateTokens(overheadBytes: number): number
}

export interface ModelRequest {
  readonly step: number
  readonly attempt: number
  readonly system: string | null
  readonly context: ModelContext
  /**
   * a question that reeve appends to the context. The model must answer with text only: it may not call the tools, although they are sent
   */
  readonly question?: string
  /** the maximum number of tokens of the answer; null for the model's own limit */
  readonly maxOutputTokens: number | null
  /** the tools that the call sends; a scripted model sends none, and does not call this */
  offeredTools(): readonly OfferedTool[]
  /** receives each part of the answer's text as it arrives */
  onText(text: string): void
  /** receives each part of the reasoning as it arrives */
  onReasoning(text: string): void
  readonly signal: AbortSignal
}

export interface ModelAnswer {
  readonly message: readonly AssistantPart[]
  readonly usage: CallUsage
  readonly finish: FinishReason
  /** from sending the request to the first text, reasoning or tool input. Absent for scripted models and empty answers */
  readonly firstTokenMs?: number
}

export interface Model {
  /** the reference that the journal records: `provider/name`, `script:FILE` or `replay:UUID` */
  readonly ref: string
  /** the context window in tokens, which the answer shares; null if unknown */
  readonly window: number | null
  /** the maximum number of tokens of an answer; absent if there is no limit */
  readonly maxOutputTokens?: number
  /**
   * The highest prices in USD per token of a call with this input; null if unknown. Absent, or undefined, for scripted models, which cost
   * nothing.
   */
  maxPrices?(inputTokens: number): CallEstimate['usd'] | undefined | Promise<CallEstimate['usd']>
  /** Errors: `CallFailed`, including when `signal` aborts. */
  call(request: ModelRequest): Promise<ModelAnswer>
}

/**
 * The kind of a failed call.
 *
 * `too-long`: the context does not fit into the model's window.
 * `auth`: the provider refused the key, the permission or the payment.
 * `not-found`: the model or the address does not exist.
 * `rate-limit`, `overloaded`: a later call, or another model, may succeed.
 * `refused`: the provider refuses to answer this request.
 * `cut`: the network failed, or the stream ended too early.
 * `other`: any other reason, such as an invalid request.
 */
export type FailureKind = 'too-long' | 'auth' | 'not-found' | 'rate-limit' | 'overloaded' | 'refused' | 'cut' | 'other'

/** The known details of a failed call. */
export interface FailureDetails {
  readonly kind?: FailureKind
  /** the HTTP status; null without a response, or when the stream was cut */
  readonly status?: number | null
  /** true if the same call may succeed later */
  readonly retryable?: boolean
  /** the wait that the provider requests, in ms */
  readonly retryAfterMs?: number | null
  /** the part of the answer's text that arrived before the failure */
  readonly partial?: string
  /** the usage of the failed call, if it may be charged */
  readonly usage?: CallUsage | undefined
}

/** A model call that failed or was cut off. The message contains the provider's error. */
export class CallFailed extends Error {
  readonly kind: FailureKind
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly partial: string
  readonly usage: CallUsage | undefined
  constructor(message: string, details: FailureDetails = {}) {
    super(message)
    this.name = 'CallFailed'
    this.kind = details.kind ?? 'other'
    this.status = details.status ?? null
    this.retryable = details.retryable ?? false
    this.retryAfterMs = details.retryAfterMs ?? null
    this.partial = details.partial ?? ''
    this.usage = details.usage
  }
}

/** The usage of scripted models, which cost nothing. */
export const NO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
