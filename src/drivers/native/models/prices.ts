// Finds the prices of tokens in USD, and the sizes of context windows: the user's own, or those of a table. The table is large, so it is
// loaded at first use. All prices come from here. An unknown price is null, never zero.
// Test: test/tables/drivers/native/models/usage.test.ts, test/tables/drivers/native/models/prices.test.ts.
import type { TokenCounts } from './usage.ts'

/** The user's price of a model, in USD per million tokens. Cached tokens cost as much as input unless their price is set. */
export interface UserPrice {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  /** the context window in tokens */
  readonly window?: number | undefined
}

/** Prices by `provider/model`. A name that ends with `*` is a prefix; the longest match wins. */
export type UserPrices = Readonly<Record<string, UserPrice>>

/** The model to price: `provider` and `model` as in `provider/model`. */
export interface PricedModel {
  readonly provider: string
  readonly model: string
  /** the address of its calls, which may show that a provider with a custom name is a known one */
  readonly baseURL?: string
  /** the user's prices, which win over the table */
  readonly userPrices?: UserPrices | undefined
}

/** Prices per token, in USD. */
export interface Rates {
  readonly perInputToken: number
  readonly perOutputToken: number
  readonly perCacheReadToken: number
  readonly perCacheWriteToken: number
}

/** The table's name of each provider whose name differs from reeve's. */
const TABLE_NAMES: Readonly<Record<string, string>> = { 'openai-chat': 'openai' }
/** Matches the Gemini models that all have the same window, which the table does not state for each. */
const UNIFORM_GEMINI = /^gemini-(2\.|[3-9])[\w.-]*-(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/
const GEMINI_WINDOW_TOKENS = 1_048_576
const MILLION = 1_000_000

/** The cost of a call with these tokens, in USD; null for an unknown price. */
export async function costUsd(pricedModel: PricedModel, tokens: TokenCounts): Promise<number | null> {
  const userPrice = findUserPrice(pricedModel)
  if (userPrice !== null) return costAt(toRates(userPrice), tokens)
  // The table's `input_tokens` is the total: it includes the cached tokens.
  const usage = {
    input_tokens: tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    output_tokens: tokens.outputTokens,
  }
  return (await lookUpInTable(pricedModel, usage))?.total_price ?? null
}

/**
 * The prices of a call with `inputTokens`, because some models cost more for a large input. The default gives the highest prices. Null for
 * an unknown price.
 */
export async function ratesFor(pricedModel: PricedModel, inputTokens = Infinity): Promise<Rates | null> {
  const userPrice = findUserPrice(pricedModel)
  if (userPrice !== null) return toRates(userPrice)
  const prices = (await lookUpInTable(pricedModel, { input_tokens: 1 }))?.model_price
  const input = priceAt(prices?.['input_mtok'], inputTokens)
  const output = priceAt(prices?.['output_mtok'], inputTokens)
  if (input === null || output === null) return null
  const cacheRead = priceAt(prices?.['cache_read_mtok'], inputTokens) ?? undefined
  const cacheWrite = priceAt(prices?.['cache_write_mtok'], inputTokens) ?? undefined
  return toRates({ input, output, cacheRead, cacheWrite })
}

/** The context window in tokens; null if it is unknown. */
export async function windowTokens(pricedModel: PricedModel): Promise<number | null> {
  const userWindow = findUserPrice(pricedModel)?.window
  if (userWindow !== undefined) return userWindow
  const window = (await lookUpInTable(pricedModel, { input_tokens: 1 }))?.model.context_window ?? null
  return window ?? (pricedModel.provider === 'google' && UNIFORM_GEMINI.test(pricedModel.model) ? GEMINI_WINDOW_TOKENS : null)
}

function findUserPrice({ provider, model, userPrices = {} }: PricedModel): UserPrice | null {
  const ref = `${provider}/${model}`
  const matches = (pattern: string): boolean => pattern === ref || (pattern.endsWith('*') && ref.startsWith(pattern.slice(0, -1)))
  const [longest] = Object.keys(userPrices)
    .filter(matches)
    .toSorted((a, b) => Number(b === ref) - Number(a === ref) || b.length - a.length)
  return longest === undefined ? null : (userPrices[longest] ?? null)
}

function toRates({ input, output, cacheRead = input, cacheWrite = input }: UserPrice): Rates {
  return {
    perInputToken: input / MILLION,
    perOutputToken: output / MILLION,
    perCacheReadToken: cacheRead / MILLION,
    perCacheWriteToken: cacheWrite / MILLION,
  }
}

function costAt(rates: Rates, tokens: TokenCounts): number {
  return (
    tokens.inputTokens * rates.perInputToken +
    tokens.outputTokens * rates.perOutputToken +
    tokens.cacheReadTokens * rates.perCacheReadToken +
    tokens.cacheWriteTokens * rates.perCacheWriteToken
  )
}

type TablePrice =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] }
  | undefined

/** The price per million tokens for this size of input: the highest tier that the input reaches. Null for no price. */
function priceAt(price: TablePrice, inputTokens: number): number | null {
  if (price === undefined || typeof price === 'number') return price ?? null
  return price.tiers.filter(({ start }) => inputTokens > start).reduce((highest, tier) => Math.max(highest, tier.price), price.base)
}

/** Looks the model up by the provider's exact name, or else by the address. The table's own search would take `my-openai` for OpenAI. */
async function lookUpInTable({ provider, model, baseURL }: PricedModel, usage: Readonly<Record<string, number>>) {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices')
  const providerId = Object.hasOwn(TABLE_NAMES, provider) ? (TABLE_NAMES[provider] ?? provider) : provider
  const isKnown = findProvider({ providerId })?.id === providerId
  if (!isKnown && baseURL === undefined) return null
  return calcPrice(usage, model, isKnown || baseURL === undefined ? { providerId } : { providerApiUrl: baseURL })
}
