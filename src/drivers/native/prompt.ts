// From the context to the prompt of the provider packages. Keeps the order and the texts as they are. What a provider
// wants back unchanged (signatures, ids of items) goes back to the model that gave it, and to no other. Owns the marks in
// `meta` that say which model that was. Test: test/e2e/native-wire-requests.test.ts.
import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { ContextMessage, ToolResult } from './context.ts'
import type { OfferedTool } from './model.ts'
import type { Optional, WireStyle } from './wire.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type ToolOutput = Extract<ToolContent, { type: 'tool-result' }>['output']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]

/** Which model gave a part, and what it had before it. */
export interface Origin {
  readonly ref: string
  readonly prefix?: string
}

export interface PromptOptions {
  readonly ref: string
  readonly style: WireStyle
  readonly system: string | null
  readonly tools: readonly OfferedTool[]
  readonly question?: string | undefined
  readonly without: ReadonlySet<Optional>
}

export interface Prompt {
  readonly messages: LanguageModelV4Prompt
  readonly tools: LanguageModelV4FunctionTool[]
  /** of the answer to it */
  readonly origin: Origin
  readonly hasImages: boolean
  readonly hasReasoning: boolean
}

/** Beside what the provider gave, in `meta`. */
const ORIGIN = 'reeve'
/** Marks where a cached prefix ends; a provider that does not know it ignores it. */
const CACHE_POINT: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }
const MAX_ID_CHARS = 64
const PREFIX_CHARS = 16

export function toPrompt(messages: readonly ContextMessage[], options: PromptOptions): Prompt {
  // Which draft a schema is of says nothing to a model, and some providers refuse the key.
  const tools = options.tools.map(({ name, description, schema: { $schema: _, ...inputSchema } }): LanguageModelV4FunctionTool => ({ type: 'function', name, description, inputSchema }))
  const shaping = new Shaping(options)
  const shaped = messages.flatMap((message) => shaping.message(message))
  const { hasImages, hasReasoning } = shaping
  const origin = shaping.origin
  if (options.question !== undefined) shaped.push(userText(options.question))
  if (options.system !== null) shaped.unshift({ role: 'system', content: options.system })
  const marked = options.style.cachePoints ? { messages: markMessages(shaped), tools: markLast(tools) } : { messages: shaped, tools }
  return { ...marked, origin, hasImages, hasReasoning }
}

/** The mark of who gave a part. A part without anything to give back needs none. */
export function withOrigin(part: AssistantPart, origin: Origin): AssistantPart {
  const isPlain = part.meta === undefined && (part.type !== 'reasoning' || part.text === '')
  return isPlain ? part : { ...part, meta: { ...(part.meta as object | undefined), [ORIGIN]: origin } }
}

/** One pass over the messages: ids, origins and the digest of what is sent so far. */
class Shaping {
  readonly #options: PromptOptions
  readonly #digest: Hash | null
  readonly #used = new Set<string>()
  #ids = new Map<string, string>()
  hasImages = false
  hasReasoning = false

  constructor(options: PromptOptions) {
    this.#options = options
    this.#digest = options.style.boundThinking ? createHash('sha256').update(JSON.stringify([options.system, options.tools])) : null
  }

  get origin(): Origin {
    const { ref } = this.#options
    return this.#digest === null ? { ref } : { ref, prefix: this.#digest.copy().digest('hex').slice(0, PREFIX_CHARS) }
  }

  message(message: ContextMessage): LanguageModelV4Message[] {
    const shaped = this.#shape(message)
    this.#digest?.update(JSON.stringify(shaped))
    return shaped
  }

  #shape(message: ContextMessage): LanguageModelV4Message[] {
    switch (message.role) {
      case 'user': return [userText(message.text)]
      case 'assistant': return this.#assistant(message.parts)
      case 'tool': return this.#results(message.results)
    }
  }

  /** One that held nothing but thinking that is left out is left out too. */
  #assistant(parts: readonly AssistantPart[]): LanguageModelV4Message[] {
    this.#ids = new Map()
    const { origin } = this
    const content = parts.flatMap((part) => this.#part(part, { parts, origin }))
    return content.length === 0 ? [] : [{ role: 'assistant', content }]
  }

  #part(part: AssistantPart, beside: { readonly parts: readonly AssistantPart[]; readonly origin: Origin }): AssistantContent[] {
    const { by, given } = readMeta(part)
    const isOwn = by === null || by.ref === this.#options.ref
    const options = given !== null && isOwn ? { providerOptions: given } : {}
    if (part.type === 'text') return [{ type: 'text', text: part.text, ...options }]
    if (part.type === 'tool-call') return [{ type: 'tool-call', toolCallId: this.#callId(part.callId), toolName: part.name, input: part.input, ...options }]
    const isBound = by?.prefix === undefined || this.#digest === null || by.prefix === beside.origin.prefix
    if (!isOwn || !isBound || this.#options.without.has('reasoning') || isLost(part, beside.parts)) return []
    this.hasReasoning = true
    return [{ type: 'reasoning', text: part.text, ...options }]
  }

  /** Small servers give the same ids again and again, some give ids that others refuse. */
  #callId(id: string): string {
    const clean = this.#options.style.strictIds ? id.replaceAll(/[^\w-]/g, '_').slice(-MAX_ID_CHARS) : id
    let unique = clean
    for (let n = 2; this.#used.has(unique); n += 1) unique = `${clean.slice(-(MAX_ID_CHARS - 8))}_${n}`
    this.#used.add(unique)
    this.#ids.set(id, unique)
    return unique
  }

  #results(results: readonly ToolResult[]): LanguageModelV4Message[] {
    const isBeside = this.#options.style.images === 'after-results'
    const content = results.map((result): ToolContent => ({
      type: 'tool-result', toolCallId: this.#ids.get(result.callId) ?? result.callId, toolName: result.name, output: this.#output(result),
    }))
    const images = isBeside ? results.flatMap((result) => this.#imagesAfter(result)) : []
    return [{ role: 'tool', content }, ...(images.length === 0 ? [] : [{ role: 'user', content: images } as const])]
  }

  #output(result: ToolResult): ToolOutput {
    const { images = [], content } = result
    if (result.outcome !== 'ok') return { type: 'error-text', value: content }
    if (images.length === 0) return { type: 'text', value: content }
    if (this.#options.without.has('images')) return { type: 'text', value: `${content}\n[${images.length} image(s) left out: the model takes none]` }
    this.hasImages = true
    const text = content === '' ? 'the image:' : content
    if (this.#options.style.images === 'after-results') return { type: 'text', value: text }
    return { type: 'content', value: [{ type: 'text', text }, ...files(images)] }
  }

  #imagesAfter({ images = [], outcome, name }: ToolResult): UserContent[] {
    if (images.length === 0 || outcome !== 'ok' || this.#options.without.has('images')) return []
    return [{ type: 'text', text: `What ${name} gave:` }, ...files(images)]
  }
}

function files(images: NonNullable<ToolResult['images']>): Extract<UserContent, { type: 'file' }>[] {
  return images.map(({ mediaType, data }) => ({ type: 'file', mediaType, data: { type: 'data', data } }))
}

function userText(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

interface Meta {
  readonly by: Origin | null
  readonly given: SharedV4ProviderOptions | null
}

function readMeta({ meta }: AssistantPart): Meta {
  if (typeof meta !== 'object' || meta === null) return { by: null, given: null }
  const { [ORIGIN]: by, ...given } = meta as SharedV4ProviderOptions & { readonly [ORIGIN]?: Origin }
  return { by: by ?? null, given: Object.keys(given).length === 0 ? null : given }
}

/** Reasoning of OpenAI that came without its encrypted content stands for nothing: the item is stored nowhere. */
function isLost(part: AssistantPart, parts: readonly AssistantPart[]): boolean {
  const item = openaiItem(part)
  return item !== null && !parts.some((other) => openaiItem(other)?.id === item.id && openaiItem(other)?.isEncrypted === true)
}

function openaiItem(part: AssistantPart): { readonly id: string; readonly isEncrypted: boolean } | null {
  const openai = part.type === 'reasoning' ? readMeta(part).given?.['openai'] : undefined
  return typeof openai?.['itemId'] === 'string' ? { id: openai['itemId'], isEncrypted: typeof openai['reasoningEncryptedContent'] === 'string' } : null
}

/** The prompt's end, and where it ended at the call before: the provider looks back over so many blocks only. */
function markMessages(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const before = prompt.findLastIndex((message) => message.role === 'assistant') - 1
  return prompt.map((message, index) => (message.role === 'system' || index === before || index === prompt.length - 1 ? { ...message, providerOptions: CACHE_POINT } : message))
}

function markLast(tools: readonly LanguageModelV4FunctionTool[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool, index) => (index === tools.length - 1 ? { ...tool, providerOptions: CACHE_POINT } : tool))
}
