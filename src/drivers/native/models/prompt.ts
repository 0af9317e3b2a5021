// Converts the context to a prompt for the provider packages. The order and the texts stay unchanged. Provider data such as signatures and
// item ids is sent back only to the model that produced it. Marks in `meta` name this model.
// Test: test/processes/native/wire-requests.test.ts.
import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AssistantPart } from '../../../kernel/model/facts.ts'
import type { ContextMessage, ToolResult } from '../context/context.ts'
import type { OfferedTool } from './model.ts'
import type { ModelFeature, WireStyle } from './wire.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type ToolOutput = Extract<ToolContent, { type: 'tool-result' }>['output']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]

/** The origin of a part of an answer. */
export interface PartOrigin {
  /** the reference of the model that produced the part */
  readonly ref: string
  /** a digest of the prompt before the answer; absent if the provider does not bind its reasoning to the prompt */
  readonly prefix?: string
}

export interface PromptOptions {
  readonly ref: string
  readonly style: WireStyle
  readonly system: string | null
  readonly tools: readonly OfferedTool[]
  /** a text that is appended as a user message */
  readonly question?: string | undefined
  /** the features that the model refuses */
  readonly without: ReadonlySet<ModelFeature>
}

export interface Prompt {
  readonly messages: LanguageModelV4Prompt
  readonly tools: LanguageModelV4FunctionTool[]
  /** the origin to record in the parts of the answer */
  readonly origin: PartOrigin
  readonly hasImages: boolean
  readonly hasReasoning: boolean
}

/** The key of the origin in `meta`, next to the provider's own data. */
const ORIGIN_KEY = 'reeve'
/** Marks where a cached prefix ends. Providers other than Anthropic ignore the mark. */
const CACHE_POINT: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }
const MAX_ID_CHARS = 64
const PREFIX_CHARS = 16

/** Converts the messages and tools of a call. */
export function toPrompt(messages: readonly ContextMessage[], options: PromptOptions): Prompt {
  // `$schema` is removed: it means nothing to a model, and some providers refuse it.
  const tools = options.tools.map(({ name, description, schema: { $schema: _, ...inputSchema } }): LanguageModelV4FunctionTool => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
  const builder = new PromptBuilder(options)
  const converted = messages.flatMap((message) => builder.convert(message))
  const { hasImages, hasReasoning } = builder
  const origin = builder.origin
  if (options.question !== undefined) converted.push(userText(options.question))
  if (options.system !== null) converted.unshift({ role: 'system', content: options.system })
  const withCacheMarks = options.style.marksCachedPrefix
    ? { messages: markMessages(converted), tools: markLastTool(tools) }
    : { messages: converted, tools }
  return { ...withCacheMarks, origin, hasImages, hasReasoning }
}

/** Records the origin in a part of an answer. A part without provider data needs none. */
export function withOrigin(part: AssistantPart, origin: PartOrigin): AssistantPart {
  const needsNoOrigin = part.meta === undefined && (part.type !== 'reasoning' || part.text === '')
  return needsNoOrigin ? part : { ...part, meta: { ...(part.meta as object | undefined), [ORIGIN_KEY]: origin } }
}

/** Converts the messages in one pass. Keeps the ids that are in use, and the digest of the prompt so far. */
class PromptBuilder {
  readonly #options: PromptOptions
  readonly #digest: Hash | null
  readonly #usedIds = new Set<string>()
  #idsOfAnswer = new Map<string, string>()
  hasImages = false
  hasReasoning = false

  constructor(options: PromptOptions) {
    this.#options = options
    this.#digest = options.style.bindsReasoning ? createHash('sha256').update(JSON.stringify([options.system, options.tools])) : null
  }

  get origin(): PartOrigin {
    const { ref } = this.#options
    return this.#digest === null ? { ref } : { ref, prefix: this.#digest.copy().digest('hex').slice(0, PREFIX_CHARS) }
  }

  convert(message: ContextMessage): LanguageModelV4Message[] {
    const converted = this.#convert(message)
    this.#digest?.update(JSON.stringify(converted))
    return converted
  }

  #convert(message: ContextMessage): LanguageModelV4Message[] {
    switch (message.role) {
      case 'user':
        return [userText(message.text)]
      case 'assistant':
        return this.#convertAnswer(message.parts)
      case 'tool':
        return this.#convertResults(message.results)
    }
  }

  /** Returns no message if the answer's only content is reasoning that is not sent back. */
  #convertAnswer(parts: readonly AssistantPart[]): LanguageModelV4Message[] {
    this.#idsOfAnswer = new Map()
    const { origin } = this
    const content = parts.flatMap((part) => this.#convertPart(part, { parts, origin }))
    return content.length === 0 ? [] : [{ role: 'assistant', content }]
  }

  #convertPart(part: AssistantPart, answer: { readonly parts: readonly AssistantPart[]; readonly origin: PartOrigin }): AssistantContent[] {
    const { origin, providerData } = readMeta(part)
    const isFromThisModel = origin === null || origin.ref === this.#options.ref
    const options = providerData !== null && isFromThisModel ? { providerOptions: providerData } : {}
    if (part.type === 'text') return [{ type: 'text', text: part.text, ...options }]
    if (part.type === 'tool-call')
      return [{ type: 'tool-call', toolCallId: this.#uniqueCallId(part.callId), toolName: part.name, input: part.input, ...options }]
    const isPrefixUnchanged = origin?.prefix === undefined || this.#digest === null || origin.prefix === answer.origin.prefix
    if (!isFromThisModel || !isPrefixUnchanged || this.#options.without.has('reasoning') || isUnencryptedReasoning(part, answer.parts))
      return []
    this.hasReasoning = true
    return [{ type: 'reasoning', text: part.text, ...options }]
  }

  /** Makes a call id unique and valid. Small servers repeat ids, and other providers refuse some ids. */
  #uniqueCallId(id: string): string {
    const validId = this.#options.style.hasStrictIds ? id.replaceAll(/[^\w-]/g, '_').slice(-MAX_ID_CHARS) : id
    let uniqueId = validId
    for (let n = 2; this.#usedIds.has(uniqueId); n += 1) uniqueId = `${validId.slice(-(MAX_ID_CHARS - 8))}_${n}`
    this.#usedIds.add(uniqueId)
    this.#idsOfAnswer.set(id, uniqueId)
    return uniqueId
  }

  #convertResults(results: readonly ToolResult[]): LanguageModelV4Message[] {
    const sendsImagesAfter = this.#options.style.images === 'after-results'
    const content = results.map((result): ToolContent => ({
      type: 'tool-result',
      toolCallId: this.#idsOfAnswer.get(result.callId) ?? result.callId,
      toolName: result.name,
      output: this.#convertOutput(result),
    }))
    const images = sendsImagesAfter ? results.flatMap((result) => this.#imagesAfter(result)) : []
    return [{ role: 'tool', content }, ...(images.length === 0 ? [] : [{ role: 'user', content: images } as const])]
  }

  #convertOutput(result: ToolResult): ToolOutput {
    const { images = [], content } = result
    if (result.outcome !== 'ok') return { type: 'error-text', value: content }
    if (images.length === 0) return { type: 'text', value: content }
    if (this.#options.without.has('images'))
      return { type: 'text', value: `${content}\n[${images.length} image(s) omitted: this model does not accept images]` }
    this.hasImages = true
    const text = content === '' ? 'the image:' : content
    if (this.#options.style.images === 'after-results') return { type: 'text', value: text }
    return { type: 'content', value: [{ type: 'text', text }, ...toFileParts(images)] }
  }

  #imagesAfter({ images = [], outcome, name }: ToolResult): UserContent[] {
    if (images.length === 0 || outcome !== 'ok' || this.#options.without.has('images')) return []
    return [{ type: 'text', text: `Images returned by ${name}:` }, ...toFileParts(images)]
  }
}

function toFileParts(images: NonNullable<ToolResult['images']>): Extract<UserContent, { type: 'file' }>[] {
  return images.map(({ mediaType, data }) => ({ type: 'file', mediaType, data: { type: 'data', data } }))
}

function userText(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

/** The two parts of `meta`; each is null if it is missing. */
interface Meta {
  readonly origin: PartOrigin | null
  readonly providerData: SharedV4ProviderOptions | null
}

function readMeta({ meta }: AssistantPart): Meta {
  if (typeof meta !== 'object' || meta === null) return { origin: null, providerData: null }
  const { [ORIGIN_KEY]: origin, ...providerData } = meta as SharedV4ProviderOptions & { readonly [ORIGIN_KEY]?: PartOrigin }
  return { origin: origin ?? null, providerData: Object.keys(providerData).length === 0 ? null : providerData }
}

/** True for OpenAI reasoning without its encrypted content. OpenAI does not store the item, so it cannot be sent back. */
function isUnencryptedReasoning(part: AssistantPart, parts: readonly AssistantPart[]): boolean {
  const item = openaiItem(part)
  return item !== null && !parts.some((other) => openaiItem(other)?.id === item.id && openaiItem(other)?.isEncrypted === true)
}

function openaiItem(part: AssistantPart): { readonly id: string; readonly isEncrypted: boolean } | null {
  const openai = part.type === 'reasoning' ? readMeta(part).providerData?.['openai'] : undefined
  return typeof openai?.['itemId'] === 'string'
    ? { id: openai['itemId'], isEncrypted: typeof openai['reasoningEncryptedContent'] === 'string' }
    : null
}

/** Marks the ends of this prompt and of the previous one, because the provider searches back only a limited number of blocks. */
function markMessages(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const previousEnd = prompt.findLastIndex((message) => message.role === 'assistant') - 1
  return prompt.map((message, index) =>
    message.role === 'system' || index === previousEnd || index === prompt.length - 1
      ? { ...message, providerOptions: CACHE_POINT }
      : message,
  )
}

function markLastTool(tools: readonly LanguageModelV4FunctionTool[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool, index) => (index === tools.length - 1 ? { ...tool, providerOptions: CACHE_POINT } : tool))
}
