// What the end of an answer means for the loop: whether it stands as it came, in which of our words it ended, or whether
// it is a failed call. Knows every documented stop reason of the four formats. Pure.
// Test: test/e2e/native-wire-answers.test.ts.
import type { AssistantPart, FinishReason } from '../../kernel/facts.ts'
import { INVALID_INPUT } from './collect.ts'
import { CallFailed } from './model.ts'
import type { FailureFacts } from './model.ts'

/** As the packages say it. `raw` is the provider's own word. */
export interface Ending {
  readonly unified: FinishReason | 'interrupted'
  readonly raw: string | null
}

export interface Finished {
  readonly message: readonly AssistantPart[]
  readonly finish: FinishReason
}

/** The same question may be answered well the next time. */
const AGAIN: Readonly<Record<string, FailureFacts>> = {
  pause_turn: { kind: 'other', retryable: true },
  MALFORMED_FUNCTION_CALL: { kind: 'other', retryable: true },
  MALFORMED_RESPONSE: { kind: 'other', retryable: true },
  UNEXPECTED_TOOL_CALL: { kind: 'other', retryable: true },
  TOO_MANY_TOOL_CALLS: { kind: 'other', retryable: true },
  MISSING_THOUGHT_SIGNATURE: { kind: 'other', retryable: true },
  FINISH_REASON_UNSPECIFIED: { kind: 'other', retryable: true },
  OTHER: { kind: 'other', retryable: true },
  // of hosts that speak chat completions
  error: { kind: 'overloaded', retryable: true },
  abort: { kind: 'overloaded', retryable: true },
  network_error: { kind: 'overloaded', retryable: true },
  insufficient_system_resource: { kind: 'overloaded', retryable: true },
}
const WITHHELD: ReadonlySet<string | null> = new Set(['LANGUAGE', 'MODEL_ARMOR', 'sensitive'])
const FULL: ReadonlySet<string | null> = new Set(['model_context_window_exceeded'])

/** Errors: `CallFailed`, without what was charged. */
export function judge(ending: Ending | null, parts: readonly AssistantPart[]): Finished {
  const calls = parts.some((part) => part.type === 'tool-call')
  const isEmpty = !parts.some((part) => part.type === 'tool-call' || (part.type === 'text' && part.text.trim() !== ''))
  if (ending === null || ending.unified === 'interrupted') throw new CallFailed('the stream ended before the answer did', { kind: 'cut', retryable: true })
  const { unified, raw } = ending
  if (FULL.has(raw)) {
    if (isEmpty) throw new CallFailed('the context window is full', { kind: 'too-long' })
    return cutByLength(parts)
  }
  if (unified === 'content-filter' || WITHHELD.has(raw)) return { message: parts.filter((part) => part.type !== 'tool-call'), finish: 'content-filter' }
  if (unified === 'length') return cutByLength(parts)
  const again = raw === null || calls || (raw === 'OTHER' && !isEmpty) ? undefined : AGAIN[raw]
  if (again !== undefined || unified === 'error') throw new CallFailed(`the provider ended the answer: ${raw ?? 'error'}`, again ?? { kind: 'other', retryable: true })
  if (unified === 'tool-calls' && isEmpty) throw new CallFailed('the answer asks for tools and names none', { kind: 'other', retryable: true })
  return { message: parts, finish: calls ? 'tool-calls' : unified === 'tool-calls' ? 'stop' : unified }
}

/** The last call may have lost its input; one without any looks whole. */
function cutByLength(parts: readonly AssistantPart[]): Finished {
  const last = parts.at(-1)
  const isBare = last?.type === 'tool-call' && typeof last.input === 'object' && last.input !== null && Object.keys(last.input).length === 0
  return { message: isBare ? [...parts.slice(0, -1), { ...last, input: { [INVALID_INPUT]: '' } }] : parts, finish: 'length' }
}
