// Collects the parts of one streamed answer: texts and thinking in their order, tool calls with their input parsed, the
// usage and the end. What came in so far can be asked at any time, so that a cut stream loses nothing.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-wire-*.test.ts.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { Ending } from './finish.ts'
import { CallFailed } from './model.ts'
import type { ModelRequest } from './model.ts'
import { earlyBuckets } from './usage.ts'
import type { Buckets } from './usage.ts'

/** More than any answer: a server that streams without end is cut here, in bytes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** texts, thoughts and calls of one answer */
const MAX_PARTS = 10_000
/** tool calls of one answer */
const MAX_CALLS = 1_000

/** The key of an input that was no JSON object; no tool has it, so that the call fails its check. */
export const INVALID_INPUT = 'invalid_input'

interface TextBlock {
  readonly type: 'text' | 'reasoning'
  text: string
  meta: SharedV4ProviderMetadata | undefined
}

type Sink = Pick<ModelRequest, 'step' | 'onText' | 'onReasoning'>

export class Collector {
  readonly #sink: Sink
  readonly #blocks: (TextBlock | AssistantPart)[] = []
  readonly #texts = new Map<string, TextBlock>()
  readonly #callIds = new Set<string>()
  #bytes = 0
  ending: Ending | null = null
  usage: LanguageModelV4Usage | null = null
  /** what the provider counted as input before it began to answer, if it says so */
  early: Buckets | null = null
  /** the provider began to answer, so the call may be charged */
  begun = false

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Errors: the part's own error, for a stream that says it failed. */
  take(part: LanguageModelV4StreamPart): void {
    if (part.type !== 'stream-start') this.begun = true
    switch (part.type) {
      case 'text-start': case 'text-delta': case 'text-end': return this.#text('text', part)
      case 'reasoning-start': case 'reasoning-delta': case 'reasoning-end': return this.#text('reasoning', part)
      case 'tool-input-delta': return this.#grow(part.delta)
      case 'tool-call': return this.#call(part)
      case 'raw': this.early = earlyBuckets(part.rawValue) ?? this.early; return
      case 'finish': this.ending = { unified: part.finishReason.unified, raw: part.finishReason.raw ?? null }; this.usage = part.usage; return
      case 'error': throw part.error
      default: return
    }
  }

  get partialText(): string {
    return this.#blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }

  /** bytes of all that came in */
  get bytes(): number {
    return this.#bytes
  }

  parts(): readonly AssistantPart[] {
    return this.#blocks.map((block) => {
      if (block.type === 'tool-call') return block
      return { type: block.type, text: block.text, ...(block.meta === undefined ? {} : { meta: block.meta }) }
    })
  }

  #text(type: 'text' | 'reasoning', part: { readonly type: string; readonly id: string; readonly delta?: string; readonly providerMetadata?: SharedV4ProviderMetadata }): void {
    const key = `${type}:${part.id}`
    let block = this.#texts.get(key)
    if (block === undefined || part.type.endsWith('-start')) {
      block = { type, text: '', meta: undefined }
      this.#texts.set(key, block)
      this.#add(block)
    }
    if (part.providerMetadata !== undefined) block.meta = mergeMeta(block.meta, part.providerMetadata)
    if (part.delta === undefined || part.delta === '') return
    this.#grow(part.delta)
    block.text += part.delta
    if (type === 'text') this.#sink.onText(part.delta)
    else this.#sink.onReasoning(part.delta)
  }

  /** Small local servers give the same id twice, or none: ids are made unique within the answer. */
  #call(part: LanguageModelV4ToolCall): void {
    if (part.providerExecuted === true) return
    const index = this.#callIds.size
    const callId = part.toolCallId === '' || this.#callIds.has(part.toolCallId) ? `call_${this.#sink.step}_${index}` : part.toolCallId
    this.#callIds.add(callId)
    const meta = part.providerMetadata === undefined ? {} : { meta: part.providerMetadata }
    if (this.#callIds.size > MAX_CALLS) throw new CallFailed(`the answer asks for more than ${MAX_CALLS} tools`)
    this.#add({ type: 'tool-call', callId, name: part.toolName, input: parseInput(part.input), ...meta })
  }

  #add(block: TextBlock | AssistantPart): void {
    if (this.#blocks.length === MAX_PARTS) throw new CallFailed(`the answer has more than ${MAX_PARTS} parts`)
    this.#blocks.push(block)
  }

  #grow(delta: string): void {
    this.#bytes += Buffer.byteLength(delta)
    if (this.#bytes > MAX_ANSWER_BYTES) throw new CallFailed(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`)
  }
}

/** An input is always an object: a provider would refuse every later call with another. */
function parseInput(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // the model is told by the tool's check
  }
  return { [INVALID_INPUT]: text }
}

function mergeMeta(old: SharedV4ProviderMetadata | undefined, more: SharedV4ProviderMetadata): SharedV4ProviderMetadata {
  const merged = { ...old }
  for (const [provider, values] of Object.entries(more)) merged[provider] = { ...merged[provider], ...values }
  return merged
}
