// The key `prices` of the user's config.yaml: prices of models in USD per million tokens.
// Defines the ranges. drivers/native/models/prices.ts uses the prices. Test: test/tables/config/keys/prices.test.ts.
import * as z from 'zod'

/** the highest price per million tokens; a higher one must have a wrong unit */
const MAX_USD_PER_MILLION = 100_000
const MAX_PRICES = 1_000

const usd = z.number().min(0).max(MAX_USD_PER_MILLION)

const price = z.strictObject({
  input: usd,
  output: usd,
  cacheRead: usd.optional(),
  cacheWrite: usd.optional(),
  window: z.int().positive().optional(),
})

const ref = z
  .string()
  .regex(/^[^/\s*]+\/([^\s*]+\*?|\*)$/, 'expected provider/model, or the beginning of one with * at its end')
  .max(1_000)

export const pricesRule = z.record(ref, price).refine((all) => Object.keys(all).length <= MAX_PRICES, `at most ${MAX_PRICES} prices`)

export type PricesConfig = z.infer<typeof pricesRule>

/** The keys of one price. */
export const PRICE_KEYS: readonly string[] = Object.keys(price.shape)
