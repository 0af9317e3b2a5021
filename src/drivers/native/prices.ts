// What tokens cost in USD and how many a model's context holds: by the user's own prices, else from a kept table that is
// loaded at first use (it is large). The one place that knows a price; null is what is not known, never zero.
// Test: test/tables/native-usage.test.ts, test/tables/prices.test.ts.
import type { Buckets } from './usage.ts'

/** What the user says that a model costs, in USD per million tokens; what goes through the cache costs as input unless it is said. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  /** tokens that its context holds */
  readonly window?: number | undefined
}

/** By `provider/model`; one that ends with `*` stands for all that begin so, and the longest that fits wins. */
export type OwnPrices = Readonly<Record<string, OwnPrice>>

/** Whose price: `provider` and `model` as in `provider/model`. */
export interface Priced {
  readonly provider: string
  readonly model: string
  /** where it is called: a provider with a name of one's own may be a known one */
  readonly baseURL?: string
  /** the user's prices, which win over the table */
  readonly own?: OwnPrices | undefined
}

/** What one token costs, in USD. */
export interface Rates {
  readonly perInputToken: number
  readonly perOutputToken: number
  readonly perCacheReadToken: number
  readonly perCacheWriteToken: number
}

/** The table's name for ours. */
const ALIASES: Readonly<Record<string, string>> = { 'openai-chat': 'openai' }
/** All of this family take as much, and the table does not say it of each. */
const GEMINI = /^gemini-(2\.|[3-9])[\w.-]*-(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/
const GEMINI_WINDOW_TOKENS = 1_048_576
const MILLION = 1_000_000

export async function costUsd(priced: Priced, tokens: Buckets): Promise<number | null> {
  const own = ownPrice(priced)
  if (own !== null) return costAt(ratesOf(own), tokens)
  // The table's `input_tokens` is the total: cached tokens are parts of it, not beside it.
  const usage = {
    input_tokens: tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    output_tokens: tokens.outputTokens,
  }
  return (await lookUp(priced, usage))?.total_price ?? null
}

/** What a call will cost by the token, if it has so many tokens of input: some models cost more above a size. Without a size: the dearest. */
export async function rates(priced: Priced, inputTokens = Infinity): Promise<Rates | null> {
  const own = ownPrice(priced)
  if (own !== null) return ratesOf(own)
  const prices = (await lookUp(priced, { input_tokens: 1 }))?.model_price
  const input = priceAt(prices?.['input_mtok'], inputTokens)
  const output = priceAt(prices?.['output_mtok'], inputTokens)
  if (input === null || output === null) return null
  const cacheRead = priceAt(prices?.['cache_read_mtok'], inputTokens) ?? undefined
  const cacheWrite = priceAt(prices?.['cache_write_mtok'], inputTokens) ?? undefined
  return ratesOf({ input, output, cacheRead, cacheWrite })
}

export async function windowTokens(priced: Priced): Promise<number | null> {
  const own = ownPrice(priced)?.window
  if (own !== undefined) return own
  const window = (await lookUp(priced, { input_tokens: 1 }))?.model.context_window ?? null
  return window ?? (priced.provider === 'google' && GEMINI.test(priced.model) ? GEMINI_WINDOW_TOKENS : null)
}

function ownPrice({ provider, model, own = {} }: Priced): OwnPrice | null {
  const ref = `${provider}/${model}`
  const fits = (pattern: string): boolean => pattern === ref || (pattern.endsWith('*') && ref.startsWith(pattern.slice(0, -1)))
  const [longest] = Object.keys(own).filter(fits).toSorted((a, b) => Number(b === ref) - Number(a === ref) || b.length - a.length)
  return longest === undefined ? null : (own[longest] ?? null)
}

function ratesOf({ input, output, cacheRead = input, cacheWrite = input }: OwnPrice): Rates {
  return { perInputToken: input / MILLION, perOutputToken: output / MILLION, perCacheReadToken: cacheRead / MILLION, perCacheWriteToken: cacheWrite / MILLION }
}

function costAt(rate: Rates, tokens: Buckets): number {
  return tokens.inputTokens * rate.perInputToken + tokens.outputTokens * rate.perOutputToken +
    tokens.cacheReadTokens * rate.perCacheReadToken + tokens.cacheWriteTokens * rate.perCacheWriteToken
}

type TablePrice = number | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] } | undefined

function priceAt(price: TablePrice, inputTokens: number): number | null {
  if (price === undefined || typeof price === 'number') return price ?? null
  return price.tiers.filter(({ start }) => inputTokens > start).reduce((dearest, tier) => Math.max(dearest, tier.price), price.base)
}

/** By the provider's name, to the letter: the table itself would take `my-openai` for OpenAI. Else by the address. */
async function lookUp({ provider, model, baseURL }: Priced, usage: Readonly<Record<string, number>>) {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices')
  const providerId = ALIASES[provider] ?? provider
  const isKnown = findProvider({ providerId })?.id === providerId
  if (!isKnown && baseURL === undefined) return null
  return calcPrice(usage, model, isKnown || baseURL === undefined ? { providerId } : { providerApiUrl: baseURL })
}
