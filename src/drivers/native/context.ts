// The message context of a native agent: the fold of its facts, and of nothing else. The running loop and a resumed one
// call the same methods, so that both see the same messages. `messages` never holds a tool call without its result:
// an answer with calls is kept aside until each call has one. Must never do I/O; the history comes in by pages.
// Test: test/properties/context.test.ts.
import type { AssistantPart, FactBody, ImagePart, StoredFact, ToolOutcome } from '../../kernel/facts.ts'
import { INTERRUPTED_CALL } from '../../kernel/spawning.ts'
import type { CallUsage } from '../../kernel/types.ts'

/** Facts per page when history is read. */
const HISTORY_PAGE_FACTS = 500
/** A rough measure, for estimates of what was not counted by the provider. */
export const BYTES_PER_TOKEN = 4
/** What a picture is counted as, whatever its size: its base64 says nothing about its tokens. */
const IMAGE_TOKENS = 1_600

export type ToolCall = Extract<AssistantPart, { type: 'tool-call' }>

export interface ToolResult {
  readonly callId: string
  readonly name: string
  readonly outcome: ToolOutcome
  readonly content: string
  readonly images?: readonly ImagePart[]
}

export type ContextMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly results: readonly ToolResult[] }

/** An answer that asked for tools, and the results so far. */
interface OpenAnswer {
  readonly parts: readonly AssistantPart[]
  readonly calls: readonly ToolCall[]
  readonly results: Map<string, ToolResult>
}

export class Context {
  readonly #messages: ContextMessage[] = []
  readonly #queued = new Map<string, string>()
  readonly #seen = new Set<string>()
  #waiting: string[] = []
  #asking = false
  #open: OpenAnswer | null = null
  #lastResult = ''
  #step = 0
  #bytes = 0
  #counted = { bytes: 0, tokens: 0 }

  /** complete messages, in order; valid until the next call of a method */
  get messages(): readonly ContextMessage[] {
    return this.#messages
  }

  /** calls of the last answer that have no result yet */
  get openCalls(): readonly ToolCall[] {
    const open = this.#open
    return open === null ? [] : open.calls.filter((call) => !open.results.has(call.callId))
  }

  /** user messages came in that the last model call has not seen */
  get unread(): boolean {
    return this.#waiting.length > 0
  }

  /** the last message is an answer without calls: there is nothing left to ask */
  get answered(): boolean {
    return this.#open === null && this.#messages.at(-1)?.role === 'assistant'
  }

  /** the last step whose model call was answered; 0 before the first */
  get step(): number {
    return this.#step
  }

  get lastResult(): string {
    return this.#lastResult
  }

  /** the last text of the model since the last user message; '' if there is none */
  get lastText(): string {
    const open = textOf(this.#open?.parts ?? [])
    const index = this.#messages.findLastIndex((message) => message.role === 'user' || (message.role === 'assistant' && textOf(message.parts) !== ''))
    const message = this.#messages[index]
    return open || (message?.role === 'assistant' ? textOf(message.parts) : '')
  }

  /** UTF-8 bytes of all texts, inputs and results; a picture counts as the bytes of its tokens */
  get bytes(): number {
    return this.#bytes
  }

  /** the last exact count of the provider, plus the bytes since; `overheadBytes` are those of system prompt and tools */
  estimateTokens(overheadBytes: number): number {
    const exact = this.#counted
    const bytes = this.#bytes - exact.bytes + (exact.tokens === 0 ? overheadBytes : 0)
    return exact.tokens + Math.ceil(bytes / BYTES_PER_TOKEN)
  }

  /** a message for the agent is queued; it enters the context when it comes in */
  queue(id: string, text: string): void {
    this.#queued.set(id, text)
  }

  /** A message comes in. It waits while a model call or a tool call is open: results must follow their calls. */
  incoming(id: string, text = this.#queued.get(id)): void {
    this.#queued.delete(id)
    if (text === undefined || this.#seen.has(id)) return
    this.#seen.add(id)
    this.#bytes += Buffer.byteLength(text)
    this.#waiting.push(text)
    if (!this.#asking && this.#open === null) this.#admit()
  }

  /** a model call begins: it sees all that is here */
  asking(): void {
    this.settle()
    this.#admit()
    this.#asking = true
  }

  /** the model call failed or is not known to have ended */
  unanswered(): void {
    this.#asking = false
    if (this.#open === null) this.#admit()
  }

  finished(step: number, message: readonly AssistantPart[], usage: CallUsage): void {
    this.settle()
    this.#asking = false
    this.#step = step
    const parts = message.filter(isKept)
    this.#bytes += parts.reduce((sum, part) => sum + partBytes(part), 0)
    if (usage.estimated !== true) this.#count(usage)
    const calls = parts.filter((part) => part.type === 'tool-call')
    if (calls.length > 0) this.#open = { parts, calls, results: new Map() }
    else if (parts.length > 0) this.#messages.push({ role: 'assistant', parts })
    if (this.#open === null) this.#admit()
  }

  /** a tool call ended; one for a call that is not open is ignored */
  result(result: ToolResult): void {
    const open = this.#open
    if (open === null || open.results.has(result.callId)) return
    const call = open.calls.find((each) => each.callId === result.callId)
    if (call === undefined) return
    const content = result.outcome === 'interrupted' ? sayInterrupted(result.content) : result.content
    open.results.set(call.callId, { ...result, name: call.name, content })
    this.#lastResult = content
    this.#bytes += Buffer.byteLength(content) + (result.images?.length ?? 0) * IMAGE_TOKENS * BYTES_PER_TOKEN
    if (open.results.size === open.calls.length) this.#close(open)
  }

  /** answers each open call with "interrupted" */
  settle(): void {
    for (const { callId, name } of this.openCalls) this.result({ callId, name, outcome: 'interrupted', content: INTERRUPTED_CALL })
  }

  #close(open: OpenAnswer): void {
    const results = open.calls.flatMap((call) => open.results.get(call.callId) ?? [])
    this.#messages.push({ role: 'assistant', parts: open.parts }, { role: 'tool', results })
    this.#open = null
    if (!this.#asking) this.#admit()
  }

  #admit(): void {
    for (const text of this.#waiting) this.#messages.push({ role: 'user', text })
    this.#waiting = []
  }

  #count(usage: CallUsage): void {
    const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens
    if (tokens > 0) this.#counted = { bytes: this.#bytes, tokens }
  }
}

/** Folds one fact into the context; facts that say nothing about messages are passed over. */
export function foldFact(context: Context, body: FactBody): void {
  switch (body.type) {
    case 'process.queue': return context.queue(body.id, body.text)
    case 'process.incoming': return context.incoming(body.id)
    case 'model.started': return context.asking()
    case 'model.failed': return context.unanswered()
    case 'model.finished': return context.finished(body.step, body.message, body.usage)
    case 'tool.finished': return context.result(body)
    default: return
  }
}

/** Reads the whole history page by page. A model call that was open then is over: its answer is lost. */
export async function loadContext(history: (afterSeq: number, limit: number) => Promise<readonly StoredFact[]>): Promise<Context> {
  const context = new Context()
  let after = 0
  for (;;) {
    const page = await history(after, HISTORY_PAGE_FACTS)
    const last = page.at(-1)
    if (last === undefined) break
    for (const fact of page) foldFact(context, fact.body)
    after = last.seq
  }
  context.unanswered()
  return context
}

export function textOf(parts: readonly AssistantPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** Providers refuse empty texts. Redacted thinking has no text, but its `meta` must go back. */
function isKept(part: AssistantPart): boolean {
  return part.type === 'tool-call' || part.text !== '' || (part.type === 'reasoning' && part.meta !== undefined)
}

function partBytes(part: AssistantPart): number {
  if (part.type !== 'tool-call') return Buffer.byteLength(part.text)
  return Buffer.byteLength(part.name) + Buffer.byteLength(JSON.stringify(part.input) ?? '')
}

function sayInterrupted(content: string): string {
  if (content.includes(INTERRUPTED_CALL)) return content
  return content === '' ? INTERRUPTED_CALL : `${INTERRUPTED_CALL}\n\n${content}`
}
