// From a provider's token counts to the four buckets, each token counted once: `input` excludes what came from or went
// to the cache, `output` includes the reasoning. Null where the provider said nothing.
// Test: test/tables/native-usage.test.ts.
import type { LanguageModelV4Usage } from '@ai-sdk/provider'

export interface Buckets {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

export function toBuckets(usage: LanguageModelV4Usage | null): Buckets | null {
  if (usage === null) return null
  const { total, noCache, cacheRead, cacheWrite } = usage.inputTokens
  if (total === undefined && noCache === undefined && usage.outputTokens.total === undefined) return null
  const cacheReadTokens = cacheRead || readElsewhere(usage.raw)
  const cacheWriteTokens = cacheWrite ?? count(fields(usage.raw)['prompt_tokens_details'], 'cache_write_tokens')
  const inputTokens = total === undefined ? noCache ?? 0 : total - cacheReadTokens - cacheWriteTokens
  return { inputTokens: Math.max(0, inputTokens), outputTokens: outputOf(usage), cacheReadTokens, cacheWriteTokens }
}

/** DeepSeek and Moonshot say beside the details what came from the cache. */
function readElsewhere(raw: unknown): number {
  return count(raw, 'prompt_cache_hit_tokens') || count(raw, 'cached_tokens')
}

/** xAI counts the reasoning beside the completion; the sum of all tells. */
function outputOf({ outputTokens, raw }: LanguageModelV4Usage): number {
  const said = outputTokens.total ?? 0
  const reasoning = outputTokens.reasoning ?? 0
  const isBeside = reasoning > 0 && 'prompt_tokens' in fields(raw) && count(raw, 'total_tokens') === count(raw, 'prompt_tokens') + said + reasoning
  return isBeside ? said + reasoning : said
}

/** What the host itself says that the call cost, in USD: OpenRouter does. */
export function reportedCost(usage: LanguageModelV4Usage | null): number | null {
  const cost = fields(usage?.raw)['cost']
  return typeof cost === 'number' && cost > 0 ? cost : null
}

/** Gemini counts the input with every event, Anthropic at the beginning of a stream: a cut one is charged by that. */
export function earlyBuckets(event: unknown): Buckets | null {
  const { usageMetadata, message, type } = fields(event)
  if (typeof usageMetadata === 'object' && usageMetadata !== null) {
    const cacheReadTokens = count(usageMetadata, 'cachedContentTokenCount')
    const inputTokens = count(usageMetadata, 'promptTokenCount') + count(usageMetadata, 'toolUsePromptTokenCount') - cacheReadTokens
    return inputTokens + cacheReadTokens <= 0 ? null : { inputTokens: Math.max(0, inputTokens), outputTokens: 0, cacheReadTokens, cacheWriteTokens: 0 }
  }
  const { usage } = fields(message)
  if (type !== 'message_start' || typeof usage !== 'object' || usage === null) return null
  return { inputTokens: count(usage, 'input_tokens'), outputTokens: 0, cacheReadTokens: count(usage, 'cache_read_input_tokens'), cacheWriteTokens: count(usage, 'cache_creation_input_tokens') }
}

function count(value: unknown, name: string): number {
  const found = fields(value)[name]
  return typeof found === 'number' && found > 0 ? found : 0
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
