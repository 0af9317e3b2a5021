// The key `prices`: what models cost by the user's own word, in USD per million tokens. The user's, never a project's.
// Owns what its values may be; what they mean stands in drivers/native/prices.ts. Test: test/tables/config-prices.test.ts.
import * as z from 'zod'

/** No model costs more for a million tokens; what does is a slip of units. */
const MAX_USD = 100_000
const MAX_PRICES = 1_000

const usd = z.number().min(0).max(MAX_USD)

const price = z.strictObject({
  input: usd,
  output: usd,
  cacheRead: usd.optional(),
  cacheWrite: usd.optional(),
  window: z.int().positive().optional(),
})

const ref = z.string().regex(/^[^/\s*]+\/([^\s*]+\*?|\*)$/, 'expected provider/model, or the beginning of one with * at its end').max(1_000)

export const pricesRule = z.record(ref, price).refine((all) => Object.keys(all).length <= MAX_PRICES, `at most ${MAX_PRICES} prices`)

export type PricesConfig = z.infer<typeof pricesRule>

/** Keys of one price. */
export const PRICE_KEYS: readonly string[] = Object.keys(price.shape)
