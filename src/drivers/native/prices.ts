// What tokens cost in USD, from a kept price table that is loaded at first use (it is large). Null is an unknown price,
// never zero. Test: test/tables/native-usage.test.ts.
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
