// Collects the parts of one streamed answer: texts, reasoning, tool calls with parsed input, the usage, and the finish reason. The parts so
// far can be read at any time, so that an interrupted stream loses nothing.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/wire-answers.test.ts,
// test/processes/native/wire-cut-streams.test.ts.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { AssistantPart } from '../../../kernel/model/facts.ts'
import type { RawFinish } from './finish-reason.ts'
import { CallFailed } from './model.ts'
import type { ModelRequest } from './model.ts'
import { inputCountsIn } from './usage.ts'
import type { TokenCounts } from './usage.ts'
import { INVALID_INPUT } from './finish-reason.ts'

/** The largest answer in bytes. An endless stream is cut there. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** The maximum number of parts of one answer: texts, reasoning and tool calls. */
const MAX_PARTS = 10_000
/** The maximum number of tool calls of one answer. */
const MAX_CALLS = 1_000

interface TextBlock {
  readonly type: 'text' | 'reasoning'
  text: string
  meta: SharedV4ProviderMetadata | undefined
}

type Listener = Pick<ModelRequest, 'step' | 'onText' | 'onReasoning'>

export class StreamCollector {
  readonly #listener: Listener
  readonly #blocks: (TextBlock | AssistantPart)[] = []
  readonly #openBlocks = new Map<string, TextBlock>()
  readonly #callIds = new Set<string>()
  #bytes = 0
  /** the end of the stream; null if it has not ended */
  rawFinish: RawFinish | null = null
  usage: LanguageModelV4Usage | null = null
  /** the provider's counts of the input at the start of the stream; null if it sent none */
  earlyCounts: TokenCounts | null = null
  /** true when the provider has begun to answer, so that the call may be charged */
  hasBegun = false
  /** true when the first text, reasoning or tool input has arrived */
  hasContent = false

  constructor(listener: Listener) {
    this.#listener = listener
  }

  /** Adds a part of the stream. Errors: the error in the part, if the stream reports a failure. */
  add(part: LanguageModelV4StreamPart): void {
    if (part.type !== 'stream-start') this.hasBegun = true
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#addText('text', part)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addText('reasoning', part)
      case 'tool-input-start':
        this.hasContent = true
        return
      case 'tool-input-delta':
        return this.#countBytes(part.delta)
      case 'tool-call':
        return this.#addCall(part)
      case 'raw':
        this.earlyCounts = inputCountsIn(part.rawValue) ?? this.earlyCounts
        return
      case 'finish':
        this.rawFinish = { unified: part.finishReason.unified, raw: part.finishReason.raw ?? null }
        this.usage = part.usage
        return
      case 'error':
        throw part.error
      default:
        return
    }
  }

  get partialText(): string {
    return this.#blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }

  /** the bytes of all texts and inputs that have arrived */
  get bytes(): number {
    return this.#bytes
  }

  parts(): readonly AssistantPart[] {
    return this.#blocks.map((block) => {
      if (block.type === 'tool-call') return block
      return { type: block.type, text: block.text, ...(block.meta === undefined ? {} : { meta: block.meta }) }
    })
  }

  #addText(
    type: 'text' | 'reasoning',
    part: { readonly type: string; readonly id: string; readonly delta?: string; readonly providerMetadata?: SharedV4ProviderMetadata },
  ): void {
    const key = `${type}:${part.id}`
    let block = this.#openBlocks.get(key)
    if (block === undefined || part.type.endsWith('-start')) {
      block = { type, text: '', meta: undefined }
      this.#openBlocks.set(key, block)
      this.#addBlock(block)
    }
    if (part.providerMetadata !== undefined) block.meta = mergeMeta(block.meta, part.providerMetadata)
    if (part.delta === undefined || part.delta === '') return
    this.hasContent = true
    this.#countBytes(part.delta)
    block.text += part.delta
    if (type === 'text') this.#listener.onText(part.delta)
    else this.#listener.onReasoning(part.delta)
  }

  /** Adds a tool call, with an id that is unique within the answer. Small local servers repeat ids, or send none. */
  #addCall(part: LanguageModelV4ToolCall): void {
    if (part.providerExecuted === true) return
    this.hasContent = true
    const index = this.#callIds.size
    const callId = part.toolCallId === '' || this.#callIds.has(part.toolCallId) ? `call_${this.#listener.step}_${index}` : part.toolCallId
    this.#callIds.add(callId)
    const meta = part.providerMetadata === undefined ? {} : { meta: part.providerMetadata }
    if (this.#callIds.size > MAX_CALLS) throw new CallFailed(`the answer asks for more than ${MAX_CALLS} tools`)
    this.#addBlock({ type: 'tool-call', callId, name: part.toolName, input: parseInput(part.input), ...meta })
  }

  #addBlock(block: TextBlock | AssistantPart): void {
    if (this.#blocks.length === MAX_PARTS) throw new CallFailed(`the answer has more than ${MAX_PARTS} parts`)
    this.#blocks.push(block)
  }

  #countBytes(delta: string): void {
    this.#bytes += Buffer.byteLength(delta)
    if (this.#bytes > MAX_ANSWER_BYTES) throw new CallFailed(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`)
  }
}

/**
 * Parses the input of a tool call to an object. An input that is not an object is wrapped in one, because providers would refuse all later
 * calls with it.
 */
function parseInput(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The tool's validation reports the error to the model.
  }
  return { [INVALID_INPUT]: text }
}

function mergeMeta(old: SharedV4ProviderMetadata | undefined, more: SharedV4ProviderMetadata): SharedV4ProviderMetadata {
  const merged = { ...old }
  for (const [provider, values] of Object.entries(more)) merged[provider] = { ...merged[provider], ...values }
  return merged
}
