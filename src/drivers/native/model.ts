// What the loop needs of a model: one call, streamed, that either answers or fails with what is known about the failure.
// Whether to try again is the loop's business alone; a model never retries in silence.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-script.test.ts.
import type { AssistantPart, FinishReason } from '../../kernel/facts.ts'
import type { CallUsage } from '../../kernel/types.ts'
import type { Context } from './context.ts'

/** A tool as a model is told of it; `schema` is a JSON Schema of its input. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
}

export interface ModelRequest {
  readonly step: number
  readonly attempt: number
  readonly system: string | null
  readonly context: Context
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
  /** Rejects with `CallFailed`, also when `signal` aborts. */
  call(request: ModelRequest): Promise<Answer>
}

/** What is known about a failed call. */
export interface FailureFacts {
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
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly partial: string
  readonly usage: CallUsage | undefined
  constructor(message: string, facts: FailureFacts = {}) {
    super(message)
    this.name = 'CallFailed'
    this.status = facts.status ?? null
    this.retryable = facts.retryable ?? false
    this.retryAfterMs = facts.retryAfterMs ?? null
    this.partial = facts.partial ?? ''
    this.usage = facts.usage
  }
}

/** A cost of nothing, for models that are played. */
export const NO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
