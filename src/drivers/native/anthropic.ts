// Models that speak Anthropic's Messages format. The package is loaded at first use; key and address are always given to
// it, so that it never looks at the daemon's own environment.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-wire-*.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import { isAt } from './wire.ts'
import type { Endpoint, Wire } from './wire.ts'

export async function anthropicWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  // A server that wants no key still needs a header's value.
  const provider = createAnthropic({ baseURL: versioned(endpoint.baseURL), apiKey: endpoint.apiKey ?? 'none', fetch: withinLimit })
  // The others that speak the format refuse what they do not know.
  const anthropic = { toolStreaming: isAt(endpoint.baseURL, 'anthropic.com') }
  return { model: provider(name), style: { cachePoints: true, boundThinking: true, strictIds: true, images: 'in-result' }, showsThoughts: false, options: () => ({ anthropic }) }
}

/** Less of it is refused. */
const LEAST_THINKING_TOKENS = 1_024

/** The package adds what a model may think to what its answer may have. Here the two share the limit: no more than that was granted. */
const withinLimit: typeof fetch = (url, init) => boundedFetch(url, typeof init?.body === 'string' ? { ...init, body: sharedLimit(init.body) } : init)

function sharedLimit(json: string): string {
  if (!json.includes('"budget_tokens"')) return json
  const { thinking, max_tokens: sum, ...body } = JSON.parse(json) as { readonly thinking?: { readonly budget_tokens?: number }; readonly max_tokens?: number }
  const budget = thinking?.budget_tokens
  if (budget === undefined || sum === undefined) return json
  const most = sum - budget
  const share = Math.min(budget, Math.floor(most / 2))
  return JSON.stringify({ ...body, max_tokens: most, ...(share < LEAST_THINKING_TOKENS ? {} : { thinking: { ...thinking, budget_tokens: share } }) })
}

/** Anthropic's own clients take the address without `/v1`, the package wants it: both are understood. */
export function versioned(baseURL: string): string {
  const trimmed = baseURL.replace(/\/+$/, '')
  return trimmed.endsWith('/v1') ? trimmed : `${trimmed}/v1`
}
