// From a provider's token counts to the four buckets, each token counted once: `input` excludes what came from or went
// to the cache. Null where the provider said nothing. Test: test/tables/native-usage.test.ts.
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
  const cacheReadTokens = cacheRead ?? 0
  const cacheWriteTokens = cacheWrite ?? 0
  const inputTokens = noCache ?? (total ?? 0) - cacheReadTokens - cacheWriteTokens
  return { inputTokens: Math.max(0, inputTokens), outputTokens: usage.outputTokens.total ?? 0, cacheReadTokens, cacheWriteTokens }
}
