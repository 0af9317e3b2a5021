// The message context of a native agent, computed only from its facts. The running loop and a resumed loop call the same methods, so that
// both get the same messages. `messages` never contains a tool call without its result. An answer with calls is kept aside until each call
// has a result. A message from the journal records its facts, so that a compaction can name the parts of the journal to keep. Must never do
// I/O; load-context.ts reads the journal.
// Tests: test/properties/context.test.ts, test/properties/compaction.test.ts.
import type { AssistantPart, FactBody, FactMark, ImagePart, StoredFact, ToolOutcome } from '../../../kernel/model/facts.ts'
import { assistantText } from '../../../kernel/state/assistant-text.ts'
import { rangesAfterCompaction, type Range } from '../../../kernel/model/context.ts'
import { INTERRUPTED_CALL } from '../../../kernel/decide/close-open-calls.ts'
import type { CallUsage } from '../../../kernel/model/usage.ts'

/** The assumed bytes per token of texts that the provider has not counted. */
export const BYTES_PER_TOKEN = 4
/** The highest bytes per token that are assumed for any text. */
const MAX_BYTES_PER_TOKEN = 8
/** The estimated tokens of any image. The length of an image's base64 text does not indicate its tokens. */
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

/** The position of a message in the journal, as sequence numbers of facts. */
export interface MessageOrigin {
  /** the fact from which a reader gets this message and all later ones; null if there is no such fact */
  readonly start: number | null
  /** the facts of the message; empty for a summary, or for a message that was not read from a journal */
  readonly facts: readonly number[]
}

const NO_ORIGIN: MessageOrigin = { start: null, facts: [] }

/** The first line of a summary, by which the model recognizes the summary. */
export const SUMMARY_HEADING = '[The earlier part of this conversation was summarized because the context was full. Summary:]'

/** The result of a compaction. */
export interface Compaction {
  /** the last step before it */
  readonly step: number
  readonly summary: string
  /** the facts of the messages that are kept */
  readonly ranges: readonly Range[]
  /** the estimated tokens of the compacted context */
  readonly after: number
}

/** An answer whose tool calls do not all have a result yet. */
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
  /** the origin of the message at the same index */
  #origins: MessageOrigin[] = []
  /** queued messages that the agent has not taken yet, by id */
  #queued = new Map<string, QueuedMessage>()
  /** the ids of all messages that the agent has taken */
  #takenIds = new Set<string>()
  /** taken messages that cannot enter the context yet */
  #waitingMessages: WaitingMessage[] = []
  #isCallOpen = false
  /** the fact that began the last model call */
  #callStartSeq: number | null = null
  /** the fact that began or continued the turn */
  #turnSeq: number | null = null
  #openAnswer: OpenAnswer | null = null
  #lastResult = ''
  #step = 0
  #bytes = 0
  /** the provider's last count, and the bytes of the messages at that time */
  #counted = { bytes: 0, tokens: 0 }
  #ranges: readonly Range[] | null = null
  #compactedStep: number | null = null

  /** the complete messages, in order; the array is valid until the next call of a method */
  get messages(): readonly ContextMessage[] {
    return this.#messages
  }

  /** the position of each message in the journal, at the index of the message */
  get origins(): readonly MessageOrigin[] {
    return this.#origins
  }

  /** the facts of the journal from which this context can be built again; null for the whole journal */
  get ranges(): readonly Range[] | null {
    return this.#ranges
  }

  /** the step after which the context was last compacted; null if it was never compacted */
  get compactedStep(): number | null {
    return this.#compactedStep
  }

  /** the fact that began or continued the turn */
  get turnSeq(): number | null {
    return this.#turnSeq
  }

  /** The tokens per byte of the messages: computed from the provider's last count, or assumed if there is none. */
  tokensPerByte(overheadBytes: number): number {
    const { bytes, tokens } = this.#counted
    if (bytes === 0 || tokens === 0) return 1 / BYTES_PER_TOKEN
    return Math.min(1, Math.max(1 / MAX_BYTES_PER_TOKEN, (tokens - overheadBytes / BYTES_PER_TOKEN) / bytes))
  }

  /** the tool calls of the last answer that have no result yet */
  get openCalls(): readonly ToolCall[] {
    const open = this.#openAnswer
    return open === null ? [] : open.calls.filter((call) => !open.results.has(call.callId))
  }

  /** true if there are user messages that the last model call did not include */
  get hasUnreadMessages(): boolean {
    return this.#waitingMessages.length > 0
  }

  /** true if the last message is an answer without tool calls, so that no other model call is needed */
  get isAnswered(): boolean {
    return this.#openAnswer === null && this.#messages.at(-1)?.role === 'assistant'
  }

  /** the last step with an answer; 0 before the first answer */
  get step(): number {
    return this.#step
  }

  /** the text of the last tool result; '' if there is none */
  get lastResult(): string {
    return this.#lastResult
  }

  /** the last text of the model since the last user message; '' if there is none */
  get lastText(): string {
    const openText = assistantText(this.#openAnswer?.parts ?? [])
    const index = this.#messages.findLastIndex(
      (message) => message.role === 'user' || (message.role === 'assistant' && assistantText(message.parts) !== ''),
    )
    const message = this.#messages[index]
    return openText || (message?.role === 'assistant' ? assistantText(message.parts) : '')
  }

  /** the UTF-8 bytes of all texts, tool inputs and results; an image counts as the bytes of its estimated tokens */
  get bytes(): number {
    return this.#bytes
  }

  /** true if the provider has counted the tokens of a call */
  get isCounted(): boolean {
    return this.#counted.tokens > 0
  }

  /**
   * Estimates the tokens of a call: the provider's last count plus an estimate of the bytes since then. `overheadBytes` is the size of the
   * system prompt and the tools.
   */
  estimateTokens(overheadBytes: number): number {
    const counted = this.#counted
    const bytes = this.#bytes - counted.bytes + (counted.tokens === 0 ? overheadBytes : 0)
    return counted.tokens + Math.ceil(bytes / BYTES_PER_TOKEN)
  }

  /** Queues a message for the agent. The message enters the context with the fact `process.incoming`. */
  queueMessage(id: string, text: string, seq: number): void {
    this.#queued.set(id, { text, seq })
  }

  /**
   * Takes a message into the context. While a model call or a tool call is open, the message waits, because results must directly follow
   * their calls.
   */
  takeMessage(id: string, text = this.#queued.get(id)?.text, seq: number | null = null): void {
    const queued = this.#queued.get(id)
    this.#queued.delete(id)
    if (text === undefined || this.#takenIds.has(id)) return
    this.#takenIds.add(id)
    this.#bytes += Buffer.byteLength(text)
    const canEnterNow = !this.#isCallOpen && this.#openAnswer === null
    const facts = seq === null || queued === undefined ? [] : [queued.seq, seq]
    this.#waitingMessages.push({ text, origin: { start: canEnterNow && facts.length > 0 ? seq : null, facts } })
    if (canEnterNow) this.#admitWaiting()
  }

  /** Remembers the fact that began or continued the turn. */
  continueTurn(seq: number): void {
    this.#turnSeq = seq
  }

  /** Begins a model call, which includes all messages so far. `seq` is its fact; null if the running loop calls this. */
  beginCall(seq: number | null = null): void {
    this.interruptOpenCalls()
    this.#admitWaiting()
    this.#isCallOpen = true
    this.#callStartSeq = seq
  }

  /** Ends a model call that has failed, or whose end is unknown. */
  failCall(): void {
    this.#isCallOpen = false
    if (this.#openAnswer === null) this.#admitWaiting()
  }

  /** Ends a model call with its answer. */
  finishCall(step: number, message: readonly AssistantPart[], usage: CallUsage, seq: number | null = null): void {
    this.interruptOpenCalls()
    this.#isCallOpen = false
    this.#step = step
    const parts = message.filter(isSendable)
    this.#bytes += parts.reduce((sum, part) => sum + partBytes(part), 0)
    if (usage.estimated !== true) this.#setCount(usage)
    const calls = parts.filter((part) => part.type === 'tool-call')
    const origin = { start: seq === null ? null : this.#callStartSeq, facts: seq === null ? [] : [seq] }
    if (calls.length > 0) this.#openAnswer = { ...origin, parts, calls, results: new Map() }
    else if (parts.length > 0) this.#pushMessage({ role: 'assistant', parts }, origin)
    if (this.#openAnswer === null) this.#admitWaiting()
  }

  /** Adds the result of a tool call; ignored if the call is not open. */
  addResult({ callId, outcome, content: rawContent, images }: ToolResult, seq: number | null = null): void {
    const open = this.#openAnswer
    if (open === null || open.results.has(callId)) return
    const call = open.calls.find((each) => each.callId === callId)
    if (call === undefined) return
    const content = outcome === 'interrupted' ? markInterrupted(rawContent) : rawContent
    const result = { callId, name: call.name, outcome, content, ...(images === undefined ? {} : { images }) }
    open.results.set(callId, result)
    if (seq !== null) open.facts.push(seq)
    this.#lastResult = content
    this.#bytes += resultBytes(result)
    if (open.results.size === open.calls.length) this.#closeAnswer(open)
  }

  /**
   * Keeps the messages whose facts are all within the ranges, and inserts the summary after the first message. An earlier summary is
   * dropped, because the new one covers it.
   */
  applyCompaction({ step, summary, ranges, after }: Compaction, seq: number): void {
    this.failCall()
    this.interruptOpenCalls()
    const isKept = this.#origins.map(
      ({ facts }) => facts.length > 0 && facts.every((fact) => ranges.some(([first, last]) => first <= fact && fact <= last)),
    )
    this.#messages = this.#messages.filter((_, index) => isKept[index])
    this.#origins = this.#origins.filter((_, index) => isKept[index])
    const index = this.#messages[0]?.role === 'user' ? 1 : 0
    this.#messages.splice(index, 0, { role: 'user', text: `${SUMMARY_HEADING}\n\n${summary}` })
    this.#origins.splice(index, 0, NO_ORIGIN)
    this.#bytes = this.#messages.reduce((sum, message) => sum + messageBytes(message), 0)
    this.#counted = { bytes: this.#bytes, tokens: after }
    this.#lastResult = lastResultOf(this.#messages)
    this.#step = step
    this.#compactedStep = step
    this.#ranges = rangesAfterCompaction(
      ranges,
      [...this.#queued.values()].map((queued) => queued.seq),
      seq,
    )
  }

  /** Takes over the state of another context, which must not be used afterwards. */
  adopt(other: Context): void {
    this.#messages = other.#messages
    this.#origins = other.#origins
    this.#queued = other.#queued
    this.#takenIds = other.#takenIds
    this.#waitingMessages = other.#waitingMessages
    this.#isCallOpen = other.#isCallOpen
    this.#callStartSeq = other.#callStartSeq
    this.#turnSeq = other.#turnSeq
    this.#openAnswer = other.#openAnswer
    this.#lastResult = other.#lastResult
    this.#step = other.#step
    this.#bytes = other.#bytes
    this.#counted = other.#counted
    this.#ranges = other.#ranges
    this.#compactedStep = other.#compactedStep
  }

  /** Gives each open tool call the outcome `interrupted`. */
  interruptOpenCalls(): void {
    for (const { callId, name } of this.openCalls) this.addResult({ callId, name, outcome: 'interrupted', content: INTERRUPTED_CALL })
  }

  #closeAnswer({ start, facts, parts, calls, results }: OpenAnswer): void {
    this.#pushMessage({ role: 'assistant', parts }, { start, facts })
    this.#pushMessage({ role: 'tool', results: calls.flatMap((call) => results.get(call.callId) ?? []) }, { start: null, facts })
    this.#openAnswer = null
    if (!this.#isCallOpen) this.#admitWaiting()
  }

  #admitWaiting(): void {
    for (const { text, origin } of this.#waitingMessages) this.#pushMessage({ role: 'user', text }, origin)
    this.#waitingMessages = []
  }

  #pushMessage(message: ContextMessage, origin: MessageOrigin): void {
    this.#messages.push(message)
    this.#origins.push(origin)
  }

  #setCount(usage: CallUsage): void {
    const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens
    if (tokens > 0) this.#counted = { bytes: this.#bytes, tokens }
  }
}

interface QueuedMessage {
  readonly text: string
  readonly seq: number
}

/** A taken message that cannot enter the context yet. */
interface WaitingMessage {
  readonly text: string
  readonly origin: MessageOrigin
}

/** Folds one fact into the context; facts that do not concern messages are ignored. */
export function foldFact(context: Context, fact: Pick<StoredFact, 'seq' | 'body'> | FactMark): void {
  const { seq } = fact
  switch ('body' in fact ? fact.body.type : fact.type) {
    case 'process.working':
      return context.continueTurn(seq)
    case 'model.started':
      return context.beginCall(seq)
    default:
      if ('body' in fact) foldBody(context, fact.body, seq)
  }
}

function foldBody(context: Context, body: FactBody, seq: number): void {
  switch (body.type) {
    case 'process.queue':
      return context.queueMessage(body.id, body.text, seq)
    case 'process.incoming':
      return context.takeMessage(body.id, undefined, seq)
    case 'model.failed':
      return context.failCall()
    case 'model.finished':
      return context.finishCall(body.step, body.message, body.usage, seq)
    case 'tool.finished':
      return context.addResult(body, seq)
    case 'context.compacted':
      return context.applyCompaction(body, seq)
    default:
      return
  }
}

/** False for an empty text, which providers refuse. Redacted reasoning has no text either, but its `meta` must be sent back. */
function isSendable(part: AssistantPart): boolean {
  return part.type === 'tool-call' || part.text !== '' || (part.type === 'reasoning' && part.meta !== undefined)
}

function partBytes(part: AssistantPart): number {
  if (part.type !== 'tool-call') return Buffer.byteLength(part.text)
  return Buffer.byteLength(part.name) + Buffer.byteLength(JSON.stringify(part.input) ?? '')
}

function resultBytes({ content, images }: ToolResult): number {
  return Buffer.byteLength(content) + (images?.length ?? 0) * IMAGE_TOKENS * BYTES_PER_TOKEN
}

/** The UTF-8 bytes of a message. An image counts as the bytes of its estimated tokens. */
export function messageBytes(message: ContextMessage): number {
  switch (message.role) {
    case 'user':
      return Buffer.byteLength(message.text)
    case 'assistant':
      return message.parts.reduce((sum, part) => sum + partBytes(part), 0)
    case 'tool':
      return message.results.reduce((sum, result) => sum + resultBytes(result), 0)
  }
}

function lastResultOf(messages: readonly ContextMessage[]): string {
  const last = messages.findLast((message) => message.role === 'tool')
  return last?.results.at(-1)?.content ?? ''
}

function markInterrupted(content: string): string {
  if (content.includes(INTERRUPTED_CALL)) return content
  return content === '' ? INTERRUPTED_CALL : `${INTERRUPTED_CALL}\n\n${content}`
}
