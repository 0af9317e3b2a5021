// Shortens the long texts of a context and leaves out its images, so that a request about the whole context fits into the window. Must
// never shorten the reasoning, which providers accept only unchanged. Pure.
// Test: test/tables/drivers/native/context/clip-context.test.ts.
import { BYTES_PER_TOKEN, messageBytes } from './context.ts'
import type { ContextMessage, ToolResult } from './context.ts'
import type { AssistantPart } from '../../../kernel/model/facts.ts'
import type { ModelContext } from '../models/model.ts'

/** The longest tool result or tool input at each level, in characters. */
export const CLIP_LEVELS: readonly number[] = [Infinity, 4_000, 1_000, 200]
/** Texts of the user and the model may be this many times as long. */
const MESSAGE_FACTOR = 4

/** Returns a shortened copy of the context; at level 0 the context itself. `level` is an index of `CLIP_LEVELS`. */
export function clipContext(context: ModelContext, level: number): ModelContext {
  const maxChars = CLIP_LEVELS[level] ?? Infinity
  if (maxChars === Infinity) return context
  const messages = context.messages.map((message) => clipMessage(message, maxChars))
  const bytesOf = (list: readonly ContextMessage[]): number => list.reduce((sum, message) => sum + messageBytes(message), 0)
  return {
    messages,
    lastResult: context.lastResult,
    // The estimate of the messages comes from the provider's counts, so only the share that is left is taken from bytes.
    estimateTokens: (overheadBytes) => {
      const bytesBefore = bytesOf(context.messages)
      const keptShare = bytesBefore === 0 ? 1 : bytesOf(messages) / bytesBefore
      const overhead = overheadBytes / BYTES_PER_TOKEN
      return Math.ceil(overhead + Math.max(0, context.estimateTokens(overheadBytes) - overhead) * keptShare)
    },
  }
}

function clipMessage(message: ContextMessage, maxChars: number): ContextMessage {
  switch (message.role) {
    case 'user':
      return { ...message, text: clip(message.text, maxChars * MESSAGE_FACTOR) }
    case 'assistant':
      return { ...message, parts: message.parts.map((part) => clipPart(part, maxChars)) }
    case 'tool':
      return { ...message, results: message.results.map((result) => clipResult(result, maxChars)) }
  }
}

function clipPart(part: AssistantPart, maxChars: number): AssistantPart {
  switch (part.type) {
    case 'text':
      return { ...part, text: clip(part.text, maxChars * MESSAGE_FACTOR) }
    case 'reasoning':
      return part
    case 'tool-call':
      return { ...part, input: clipTexts(part.input, maxChars) }
  }
}

function clipResult({ images, ...result }: ToolResult, maxChars: number): ToolResult {
  const content = clip(result.content, maxChars)
  return { ...result, content: images === undefined ? content : `${content}\n[${images.length} image(s) omitted]` }
}

/** Shortens all texts of a tool input, at any depth. */
function clipTexts(value: unknown, maxChars: number): unknown {
  if (typeof value === 'string') return clip(value, maxChars)
  if (Array.isArray(value)) return value.map((each) => clipTexts(each, maxChars))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clipTexts(each, maxChars)]))
}

/** Shortens a text to its beginning and its end. */
function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters omitted …]\n${text.slice(text.length - half)}`
}
