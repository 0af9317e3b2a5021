// Decides from the stop reason of a stream whether the call has an answer or has failed. Lists the providers' own stop reasons that the
// unified reason of the provider packages does not distinguish. Pure.
// Test: test/processes/native/wire-answers.test.ts.
import type { AssistantPart, FinishReason } from '../../../kernel/model/facts.ts'
import { CallFailed } from './model.ts'
import type { FailureDetails } from './model.ts'
import { lookUp } from '../../../kernel/util/lookup.ts'

/** The end of a stream, as the provider packages report it. */
export interface RawFinish {
  readonly unified: FinishReason | 'interrupted'
  /** the provider's own stop reason */
  readonly raw: string | null
}

export interface FinishedAnswer {
  readonly message: readonly AssistantPart[]
  readonly finish: FinishReason
}

/** The providers' own stop reasons after which a repeated call may succeed. */
const RETRYABLE_REASONS: Readonly<Record<string, FailureDetails>> = {
  pause_turn: { kind: 'other', retryable: true },
  MALFORMED_FUNCTION_CALL: { kind: 'other', retryable: true },
  MALFORMED_RESPONSE: { kind: 'other', retryable: true },
  UNEXPECTED_TOOL_CALL: { kind: 'other', retryable: true },
  TOO_MANY_TOOL_CALLS: { kind: 'other', retryable: true },
  MISSING_THOUGHT_SIGNATURE: { kind: 'other', retryable: true },
  FINISH_REASON_UNSPECIFIED: { kind: 'other', retryable: true },
  OTHER: { kind: 'other', retryable: true },
  // from hosts with chat completions
  error: { kind: 'overloaded', retryable: true },
  abort: { kind: 'overloaded', retryable: true },
  network_error: { kind: 'overloaded', retryable: true },
  insufficient_system_resource: { kind: 'overloaded', retryable: true },
}
/** The providers' own stop reasons of an answer that a filter has withheld. */
const WITHHELD_REASONS: ReadonlySet<string | null> = new Set(['LANGUAGE', 'MODEL_ARMOR', 'sensitive'])
/** The providers' own stop reasons of an answer that the context window has cut. */
const WINDOW_FULL_REASONS: ReadonlySet<string | null> = new Set(['model_context_window_exceeded'])

/**
 * Returns the answer of a stream with these parts. `rawFinish` is null if the stream reported no end. Errors: `CallFailed`, without the
 * usage.
 */
export function interpretFinish(rawFinish: RawFinish | null, parts: readonly AssistantPart[]): FinishedAnswer {
  const hasCalls = parts.some((part) => part.type === 'tool-call')
  const isEmpty = !parts.some((part) => part.type === 'tool-call' || (part.type === 'text' && part.text.trim() !== ''))
  if (rawFinish === null || rawFinish.unified === 'interrupted')
    throw new CallFailed('the stream ended before the answer did', { kind: 'cut', retryable: true })
  const { unified, raw } = rawFinish
  if (WINDOW_FULL_REASONS.has(raw)) {
    if (isEmpty) throw new CallFailed('the context window is full', { kind: 'too-long' })
    return cutByLength(parts)
  }
  if (unified === 'content-filter' || WITHHELD_REASONS.has(raw))
    // The calls go: the filter may have cut their inputs.
    return { message: parts.filter((part) => part.type !== 'tool-call'), finish: 'content-filter' }
  if (unified === 'length') return cutByLength(parts)
  // Whole calls are an answer, whatever the reason; some hosts report OTHER for a normal end.
  const failure = raw === null || hasCalls || (raw === 'OTHER' && !isEmpty) ? undefined : lookUp(RETRYABLE_REASONS, raw)
  if (failure !== undefined || unified === 'error')
    throw new CallFailed(`the provider ended the answer: ${raw ?? 'error'}`, failure ?? { kind: 'other', retryable: true })
  if (unified === 'tool-calls' && isEmpty)
    throw new CallFailed('the answer requests tools but names none', { kind: 'other', retryable: true })
  return { message: parts, finish: hasCalls ? 'tool-calls' : unified === 'tool-calls' ? 'stop' : unified }
}

/**
 * The answer was cut at the length limit, so its last tool call may have lost its input. A call without any input would look complete, so
 * its input is marked as invalid.
 */
function cutByLength(parts: readonly AssistantPart[]): FinishedAnswer {
  const last = parts.at(-1)
  const isWithoutInput =
    last?.type === 'tool-call' && typeof last.input === 'object' && last.input !== null && Object.keys(last.input).length === 0
  return { message: isWithoutInput ? [...parts.slice(0, -1), { ...last, input: { [INVALID_INPUT]: '' } }] : parts, finish: 'length' }
}

/** The key that marks an input that was not a JSON object. No tool has an input of this name, so the validation of the call fails. */
export const INVALID_INPUT = 'invalid_input'
