// Converts a provider's token counts to four counts that include each token once. Input tokens exclude cached ones, and output tokens
// include the reasoning.
// Test: test/tables/drivers/native/models/usage.test.ts.
import type { LanguageModelV4Usage } from '@ai-sdk/provider'

/** The tokens of a call; each token is in exactly one count. */
export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

/** Converts a usage to token counts. Null if the provider sent no counts. */
export function toTokenCounts(usage: LanguageModelV4Usage | null): TokenCounts | null {
  if (usage === null) return null
  const [total, noCache] = [countOf(usage.inputTokens.total), countOf(usage.inputTokens.noCache)]
  const [cacheRead, cacheWrite] = [countOf(usage.inputTokens.cacheRead), countOf(usage.inputTokens.cacheWrite)]
  if (total === undefined && noCache === undefined && countOf(usage.outputTokens.total) === undefined) return null
  const cacheReadTokens = cacheRead || topLevelCacheReads(usage.raw)
  const cacheWriteTokens = cacheWrite ?? countIn(fields(usage.raw)['prompt_tokens_details'], 'cache_write_tokens')
  const inputTokens = total === undefined ? (noCache ?? 0) : total - cacheReadTokens - cacheWriteTokens
  return { inputTokens: Math.max(0, inputTokens), outputTokens: outputTokensOf(usage), cacheReadTokens, cacheWriteTokens }
}

/** The cached tokens of DeepSeek and Moonshot, which send them outside of the details. */
function topLevelCacheReads(raw: unknown): number {
  return countIn(raw, 'prompt_cache_hit_tokens') || countIn(raw, 'cached_tokens')
}

/** The output tokens with the reasoning. xAI counts the reasoning separately from the completion; its total shows that. */
function outputTokensOf({ outputTokens, raw }: LanguageModelV4Usage): number {
  const completion = countOf(outputTokens.total) ?? 0
  const reasoning = countOf(outputTokens.reasoning) ?? 0
  const isSeparate =
    reasoning > 0 &&
    'prompt_tokens' in fields(raw) &&
    countIn(raw, 'total_tokens') === countIn(raw, 'prompt_tokens') + completion + reasoning
  return isSeparate ? completion + reasoning : completion
}

/** The cost in USD, if the host reports it (OpenRouter does); null otherwise. */
export function reportedCost(usage: LanguageModelV4Usage | null): number | null {
  const cost = fields(usage?.raw)['cost']
  return countOf(cost) || null
}

/**
 * The input counts in a stream's event; null if it has none. Gemini sends them with every event, Anthropic at the beginning. An interrupted
 * stream is charged by these counts.
 */
export function inputCountsIn(event: unknown): TokenCounts | null {
  const { usageMetadata, message, type } = fields(event)
  if (typeof usageMetadata === 'object' && usageMetadata !== null) {
    const cacheReadTokens = countIn(usageMetadata, 'cachedContentTokenCount')
    const inputTokens = countIn(usageMetadata, 'promptTokenCount') + countIn(usageMetadata, 'toolUsePromptTokenCount') - cacheReadTokens
    return inputTokens + cacheReadTokens <= 0
      ? null
      : { inputTokens: Math.max(0, inputTokens), outputTokens: 0, cacheReadTokens, cacheWriteTokens: 0 }
  }
  const { usage } = fields(message)
  if (type !== 'message_start' || typeof usage !== 'object' || usage === null) return null
  return {
    inputTokens: countIn(usage, 'input_tokens'),
    outputTokens: 0,
    cacheReadTokens: countIn(usage, 'cache_read_input_tokens'),
    cacheWriteTokens: countIn(usage, 'cache_creation_input_tokens'),
  }
}

function countIn(value: unknown, name: string): number {
  return countOf(fields(value)[name]) ?? 0
}

/** Returns the value if it is a finite number that is not negative; undefined otherwise. JSON can contain `1e999`, which is not a count. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
