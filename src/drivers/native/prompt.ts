// From the context to the prompt of the provider packages. Keeps the order and the texts as they are; `meta` of a part
// (signatures of thinking) goes back unchanged as provider options. With `cache`, the system prompt and the last message
// are marked as ends of a cached prefix. Test: test/e2e/native-models.test.ts.
import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { ContextMessage, ToolResult } from './context.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]

/** Marks where a cached prefix ends; a provider that does not know it ignores it. */
const CACHE_POINT: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

export interface PromptOptions {
  readonly system: string | null
  readonly cache: boolean
}

export function toPrompt(messages: readonly ContextMessage[], options: PromptOptions): LanguageModelV4Prompt {
  const prompt = messages.map(toMessage)
  if (options.system !== null) prompt.unshift({ role: 'system', content: options.system })
  if (!options.cache) return prompt
  return prompt.map((message, index) => {
    const isPoint = message.role === 'system' || index === prompt.length - 1
    return isPoint ? { ...message, providerOptions: CACHE_POINT } : message
  })
}

function toMessage(message: ContextMessage): LanguageModelV4Message {
  switch (message.role) {
    case 'user': return { role: 'user', content: [{ type: 'text', text: message.text }] }
    case 'assistant': return { role: 'assistant', content: message.parts.map(toContent) }
    case 'tool': return { role: 'tool', content: message.results.map(toResult) }
  }
}

function toContent(part: AssistantPart): AssistantContent {
  const options = part.meta === undefined ? {} : { providerOptions: part.meta as SharedV4ProviderOptions }
  if (part.type !== 'tool-call') return { type: part.type, text: part.text, ...options }
  return { type: 'tool-call', toolCallId: part.callId, toolName: part.name, input: part.input, ...options }
}

function toResult(result: ToolResult): ToolContent {
  const output = { type: result.outcome === 'ok' ? 'text' : 'error-text', value: result.content } as const
  return { type: 'tool-result', toolCallId: result.callId, toolName: result.name, output }
}
