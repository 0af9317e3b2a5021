// The message context of a native agent: the fold of its facts, and of nothing else. The running loop and a resumed one
// call the same methods, so that both see the same messages. `messages` never holds a tool call without its result:
// an answer with calls is kept aside until each call has one. A message that came from the journal knows its facts, so that
// a compaction can say which parts of the journal are kept. Must never do I/O: load-context.ts reads.
// Tests: test/properties/context.test.ts, test/properties/compaction.test.ts.
import type { AssistantPart, FactBody, FactMark, ImagePart, StoredFact, ToolOutcome } from '../../kernel/facts.ts'
import { textOf } from '../../kernel/message.ts'
import { rangesAfter } from '../../kernel/ranges.ts'
import { INTERRUPTED_CALL } from '../../kernel/closing.ts'
import type { CallUsage, Range } from '../../kernel/types.ts'
/** A rough measure, for estimates of what was not counted by the provider. */
export const BYTES_PER_TOKEN = 4
/** No text has fewer tokens than one for so many bytes. */
const MAX_BYTES_PER_TOKEN = 8
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

/** Where a message stands in the journal. */
export interface Origin {
  /** whoever reads from this fact on gets this message and all after it; null: not so, or not known */
  readonly start: number | null
  /** the facts that it is made of; none: a summary, or a message that was not read from a journal */
  readonly facts: readonly number[]
}

const NOWHERE: Origin = { start: null, facts: [] }

/** Stands above a summary, so that the model knows what it reads. */
export const SUMMARY_HEADING = '[The earlier part of this conversation was summed up, as the context was full. Summary:]'

/** What a compaction leaves: `after` are tokens, an estimate. */
export interface Compacted {
  readonly step: number
  readonly summary: string
  readonly ranges: readonly Range[]
  readonly after: number
}

/** An answer that asked for tools, and the results so far. */
interface OpenAnswer {
  readonly start: number | null
  /** the facts of the answer and of the results so far */
  readonly facts: number[]
  readonly parts: readonly AssistantPart[]
  readonly calls: readonly ToolCall[]
  readonly results: Map<string, ToolResult>
}

export class Context {
  #messages: ContextMessage[] = []
  /** as many as there are messages */
  #origins: Origin[] = []
  #queued = new Map<string, Queued>()
  #seen = new Set<string>()
  #waiting: Waiting[] = []
  #asking = false
  /** the fact that began the last model call */
  #asked: number | null = null
  /** the fact that began or went on with the turn */
  #working: number | null = null
  #open: OpenAnswer | null = null
  #lastResult = ''
  #step = 0
  #bytes = 0
  #counted = { bytes: 0, tokens: 0 }
  #ranges: readonly Range[] | null = null
  #compactedStep: number | null = null

  /** complete messages, in order; valid until the next call of a method */
  get messages(): readonly ContextMessage[] {
    return this.#messages
  }

  /** where each of the messages stands in the journal */
  get origins(): readonly Origin[] {
    return this.#origins
  }

  /** the parts of the journal that make this context since its last compaction; null: all of it */
  get ranges(): readonly Range[] | null {
    return this.#ranges
  }

  /** the step after which it was compacted last; null: never */
  get compactedStep(): number | null {
    return this.#compactedStep
  }

  /** the fact that began the turn, or went on with it */
  get workingSeq(): number | null {
    return this.#working
  }

  /** tokens for each byte of the messages, as the provider counted them last; a rough measure before it has */
  tokensPerByte(overheadBytes: number): number {
    const { bytes, tokens } = this.#counted
    if (bytes === 0 || tokens === 0) return 1 / BYTES_PER_TOKEN
    return Math.min(1, Math.max(1 / MAX_BYTES_PER_TOKEN, (tokens - overheadBytes / BYTES_PER_TOKEN) / bytes))
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

  /** the provider has counted it */
  get isCounted(): boolean {
    return this.#counted.tokens > 0
  }

  /** the last exact count of the provider, plus the bytes since; `overheadBytes` are those of system prompt and tools */
  estimateTokens(overheadBytes: number): number {
    const exact = this.#counted
    const bytes = this.#bytes - exact.bytes + (exact.tokens === 0 ? overheadBytes : 0)
    return exact.tokens + Math.ceil(bytes / BYTES_PER_TOKEN)
  }

  /** a message for the agent is queued; it enters the context when it comes in */
  queue(id: string, text: string, seq: number): void {
    this.#queued.set(id, { text, seq })
  }

  /** A message comes in. It waits while a model call or a tool call is open: results must follow their calls. */
  incoming(id: string, text = this.#queued.get(id)?.text, seq: number | null = null): void {
    const queued = this.#queued.get(id)
    this.#queued.delete(id)
    if (text === undefined || this.#seen.has(id)) return
    this.#seen.add(id)
    this.#bytes += Buffer.byteLength(text)
    const isFree = !this.#asking && this.#open === null
    const facts = seq === null || queued === undefined ? [] : [queued.seq, seq]
    this.#waiting.push({ text, origin: { start: isFree && facts.length > 0 ? seq : null, facts } })
    if (isFree) this.#admit()
  }

  /** a turn begins or goes on */
  working(seq: number): void {
    this.#working = seq
  }

  /** a model call begins: it sees all that is here */
  asking(seq: number | null = null): void {
    this.settle()
    this.#admit()
    this.#asking = true
    this.#asked = seq
  }

  /** the model call failed or is not known to have ended */
  unanswered(): void {
    this.#asking = false
    if (this.#open === null) this.#admit()
  }

  finished(step: number, message: readonly AssistantPart[], usage: CallUsage, seq: number | null = null): void {
    this.settle()
    this.#asking = false
    this.#step = step
    const parts = message.filter(isKept)
    this.#bytes += parts.reduce((sum, part) => sum + partBytes(part), 0)
    if (usage.estimated !== true) this.#count(usage)
    const calls = parts.filter((part) => part.type === 'tool-call')
    const origin = { start: seq === null ? null : this.#asked, facts: seq === null ? [] : [seq] }
    if (calls.length > 0) this.#open = { ...origin, parts, calls, results: new Map() }
    else if (parts.length > 0) this.#push({ role: 'assistant', parts }, origin)
    if (this.#open === null) this.#admit()
  }

  /** a tool call ended; one for a call that is not open is ignored */
  result({ callId, outcome, content: given, images }: ToolResult, seq: number | null = null): void {
    const open = this.#open
    if (open === null || open.results.has(callId)) return
    const call = open.calls.find((each) => each.callId === callId)
    if (call === undefined) return
    const content = outcome === 'interrupted' ? sayInterrupted(given) : given
    const result = { callId, name: call.name, outcome, content, ...(images === undefined ? {} : { images }) }
    open.results.set(callId, result)
    if (seq !== null) open.facts.push(seq)
    this.#lastResult = content
    this.#bytes += resultBytes(result)
    if (open.results.size === open.calls.length) this.#close(open)
  }

  /** From here on: the messages whose facts are kept, with the summary after the first one. A summary before it is in the new one. */
  compacted({ step, summary, ranges, after }: Compacted, seq: number): void {
    this.unanswered()
    this.settle()
    const kept = this.#origins.map(({ facts }) => facts.length > 0 && facts.every((fact) => ranges.some(([first, last]) => first <= fact && fact <= last)))
    this.#messages = this.#messages.filter((_, index) => kept[index])
    this.#origins = this.#origins.filter((_, index) => kept[index])
    const place = this.#messages[0]?.role === 'user' ? 1 : 0
    this.#messages.splice(place, 0, { role: 'user', text: `${SUMMARY_HEADING}\n\n${summary}` })
    this.#origins.splice(place, 0, NOWHERE)
    this.#bytes = this.#messages.reduce((sum, message) => sum + messageBytes(message), 0)
    this.#counted = { bytes: this.#bytes, tokens: after }
    this.#lastResult = lastResultOf(this.#messages)
    this.#step = step
    this.#compactedStep = step
    this.#ranges = rangesAfter(ranges, [...this.#queued.values()].map((queued) => queued.seq), seq)
  }

  /** Becomes as another one is, which is not used any more. */
  adopt(other: Context): void {
    this.#messages = other.#messages
    this.#origins = other.#origins
    this.#queued = other.#queued
    this.#seen = other.#seen
    this.#waiting = other.#waiting
    this.#asking = other.#asking
    this.#asked = other.#asked
    this.#working = other.#working
    this.#open = other.#open
    this.#lastResult = other.#lastResult
    this.#step = other.#step
    this.#bytes = other.#bytes
    this.#counted = other.#counted
    this.#ranges = other.#ranges
    this.#compactedStep = other.#compactedStep
  }

  /** answers each open call with "interrupted" */
  settle(): void {
    for (const { callId, name } of this.openCalls) this.result({ callId, name, outcome: 'interrupted', content: INTERRUPTED_CALL })
  }

  #close({ start, facts, parts, calls, results }: OpenAnswer): void {
    this.#push({ role: 'assistant', parts }, { start, facts })
    this.#push({ role: 'tool', results: calls.flatMap((call) => results.get(call.callId) ?? []) }, { start: null, facts })
    this.#open = null
    if (!this.#asking) this.#admit()
  }

  #admit(): void {
    for (const { text, origin } of this.#waiting) this.#push({ role: 'user', text }, origin)
    this.#waiting = []
  }

  #push(message: ContextMessage, origin: Origin): void {
    this.#messages.push(message)
    this.#origins.push(origin)
  }

  #count(usage: CallUsage): void {
    const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens
    if (tokens > 0) this.#counted = { bytes: this.#bytes, tokens }
  }
}

interface Queued {
  readonly text: string
  readonly seq: number
}

/** A message that came in while it could not be admitted. */
interface Waiting {
  readonly text: string
  readonly origin: Origin
}

/** Folds one fact into the context; facts that say nothing about messages are passed over. */
export function foldFact(context: Context, fact: Pick<StoredFact, 'seq' | 'body'> | FactMark): void {
  const { seq } = fact
  switch ('body' in fact ? fact.body.type : fact.type) {
    case 'process.working': return context.working(seq)
    case 'model.started': return context.asking(seq)
    default: if ('body' in fact) foldBody(context, fact.body, seq)
  }
}

function foldBody(context: Context, body: FactBody, seq: number): void {
  switch (body.type) {
    case 'process.queue': return context.queue(body.id, body.text, seq)
    case 'process.incoming': return context.incoming(body.id, undefined, seq)
    case 'model.failed': return context.unanswered()
    case 'model.finished': return context.finished(body.step, body.message, body.usage, seq)
    case 'tool.finished': return context.result(body, seq)
    case 'context.compacted': return context.compacted(body, seq)
    default: return
  }
}

/** Providers refuse empty texts. Redacted thinking has no text, but its `meta` must go back. */
function isKept(part: AssistantPart): boolean {
  return part.type === 'tool-call' || part.text !== '' || (part.type === 'reasoning' && part.meta !== undefined)
}

function partBytes(part: AssistantPart): number {
  if (part.type !== 'tool-call') return Buffer.byteLength(part.text)
  return Buffer.byteLength(part.name) + Buffer.byteLength(JSON.stringify(part.input) ?? '')
}

function resultBytes({ content, images }: ToolResult): number {
  return Buffer.byteLength(content) + (images?.length ?? 0) * IMAGE_TOKENS * BYTES_PER_TOKEN
}

/** UTF-8 bytes of a message; a picture counts as the bytes of its tokens. */
export function messageBytes(message: ContextMessage): number {
  switch (message.role) {
    case 'user': return Buffer.byteLength(message.text)
    case 'assistant': return message.parts.reduce((sum, part) => sum + partBytes(part), 0)
    case 'tool': return message.results.reduce((sum, result) => sum + resultBytes(result), 0)
  }
}

function lastResultOf(messages: readonly ContextMessage[]): string {
  const last = messages.findLast((message) => message.role === 'tool')
  return last?.results.at(-1)?.content ?? ''
}

function sayInterrupted(content: string): string {
  if (content.includes(INTERRUPTED_CALL)) return content
  return content === '' ? INTERRUPTED_CALL : `${INTERRUPTED_CALL}\n\n${content}`
}
