// The messages of a context with their long texts cut: for a question about all of it when it does not fit as it is.
// What a provider wants back unchanged (signatures) stays as it is. Pure. Test: test/tables/native-clip-context.test.ts.
import { BYTES_PER_TOKEN, messageBytes } from './context.ts'
import type { ContextMessage, ToolResult } from './context.ts'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { Messages } from './model.ts'

/** The most of a tool's result or of one of its inputs, in characters; what is said may be longer by `SAID_TIMES`. */
export const CLIP_LEVELS: readonly number[] = [Infinity, 4_000, 1_000, 200]
const SAID_TIMES = 4

export function clipContext(context: Messages, level: number): Messages {
  const chars = CLIP_LEVELS[level] ?? Infinity
  if (chars === Infinity) return context
  const messages = context.messages.map((message) => clipMessage(message, chars))
  const bytes = (of: readonly ContextMessage[]): number => of.reduce((sum, message) => sum + messageBytes(message), 0)
  return {
    messages,
    lastResult: context.lastResult,
    estimateTokens: (overheadBytes) => {
      const before = bytes(context.messages)
      const share = before === 0 ? 1 : bytes(messages) / before
      const overhead = overheadBytes / BYTES_PER_TOKEN
      return Math.ceil(overhead + Math.max(0, context.estimateTokens(overheadBytes) - overhead) * share)
    },
  }
}

function clipMessage(message: ContextMessage, chars: number): ContextMessage {
  switch (message.role) {
    case 'user': return { ...message, text: clip(message.text, chars * SAID_TIMES) }
    case 'assistant': return { ...message, parts: message.parts.map((part) => clipPart(part, chars)) }
    case 'tool': return { ...message, results: message.results.map((result) => clipResult(result, chars)) }
  }
}

function clipPart(part: AssistantPart, chars: number): AssistantPart {
  switch (part.type) {
    case 'text': return { ...part, text: clip(part.text, chars * SAID_TIMES) }
    case 'reasoning': return part
    case 'tool-call': return { ...part, input: clipAll(part.input, chars) }
  }
}

function clipResult({ images, ...result }: ToolResult, chars: number): ToolResult {
  const content = clip(result.content, chars)
  return { ...result, content: images === undefined ? content : `${content}\n[${images.length} image(s) left out]` }
}

function clipAll(value: unknown, chars: number): unknown {
  if (typeof value === 'string') return clip(value, chars)
  if (Array.isArray(value)) return value.map((each) => clipAll(each, chars))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clipAll(each, chars)]))
}

/** The beginning and the end. */
function clip(text: string, chars: number): string {
  if (text.length <= chars) return text
  const half = Math.floor(chars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(text.length - half)}`
}
