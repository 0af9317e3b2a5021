// What tokens cost in USD and how many a model's context holds, from a kept table that is loaded at first use (it is
// large). Null is what is not known, never zero. Test: test/tables/native-usage.test.ts.
import type { Buckets } from './usage.ts'

/** Whose price: `provider` and `model` as in `provider/model`. */
export interface Priced {
  readonly provider: string
  readonly model: string
}

export async function costUsd(priced: Priced, tokens: Buckets): Promise<number | null> {
  const { calcPrice } = await import('@pydantic/genai-prices')
  // The table's `input_tokens` is the total: cached tokens are parts of it, not beside it.
  const usage = {
    input_tokens: tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    output_tokens: tokens.outputTokens,
  }
  return calcPrice(usage, priced.model, { providerId: priced.provider })?.total_price ?? null
}

/** All of this family take as much, and the table does not say it. */
const GEMINI = /^gemini-(2\.|[3-9])[\w.-]*-(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/
const GEMINI_WINDOW_TOKENS = 1_048_576

export async function windowTokens({ provider, model }: Priced): Promise<number | null> {
  const { calcPrice } = await import('@pydantic/genai-prices')
  const known = calcPrice({ input_tokens: 1 }, model, { providerId: provider })?.model.context_window
  return known ?? (provider === 'google' && GEMINI.test(model) ? GEMINI_WINDOW_TOKENS : null)
}
