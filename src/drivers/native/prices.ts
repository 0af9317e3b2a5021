// What tokens cost in USD and how many a model's context holds, from a kept table that is loaded at first use (it is
// large). Null is what is not known, never zero. Test: test/tables/native-usage.test.ts.
import type { Buckets } from './usage.ts'

/** Whose price: `provider` and `model` as in `provider/model`. */
export interface Priced {
  readonly provider: string
  readonly model: string
  /** where it is called: a provider with a name of one's own may be a known one */
  readonly baseURL?: string
}

interface Known {
  readonly price: number
  readonly window: number | null
}

/** The table's name for ours. */
const ALIASES: Readonly<Record<string, string>> = { 'openai-chat': 'openai' }
/** All of this family take as much, and the table does not say it of each. */
const GEMINI = /^gemini-(2\.|[3-9])[\w.-]*-(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/
const GEMINI_WINDOW_TOKENS = 1_048_576

export async function costUsd(priced: Priced, tokens: Buckets): Promise<number | null> {
  // The table's `input_tokens` is the total: cached tokens are parts of it, not beside it.
  const usage = {
    input_tokens: tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    output_tokens: tokens.outputTokens,
  }
  return (await lookUp(priced, usage))?.price ?? null
}

export async function windowTokens(priced: Priced): Promise<number | null> {
  const window = (await lookUp(priced, { input_tokens: 1 }))?.window ?? null
  return window ?? (priced.provider === 'google' && GEMINI.test(priced.model) ? GEMINI_WINDOW_TOKENS : null)
}

/** By the provider's name, to the letter: the table itself would take `my-openai` for OpenAI. Else by the address. */
async function lookUp({ provider, model, baseURL }: Priced, usage: Readonly<Record<string, number>>): Promise<Known | null> {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices')
  const providerId = ALIASES[provider] ?? provider
  const isKnown = findProvider({ providerId })?.id === providerId
  if (!isKnown && baseURL === undefined) return null
  const found = calcPrice(usage, model, isKnown || baseURL === undefined ? { providerId } : { providerApiUrl: baseURL })
  return found === null ? null : { price: found.total_price, window: found.model.context_window ?? null }
}
