// Calls models in Anthropic's Messages format. The provider package is loaded at first use. It always gets the key and the
// address, so that it never reads the daemon's own environment.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/wire-answers.test.ts,
// test/processes/native/wire-requests.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import { isAtDomain } from './wire.ts'
import type { Endpoint, Wire } from './wire.ts'

export async function anthropicWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  // A server without a key still needs a value for the header.
  const provider = createAnthropic({
    baseURL: withAnthropicVersion(endpoint.baseURL),
    apiKey: endpoint.apiKey ?? 'none',
    fetch: fetchWithSharedLimit,
  })
  // Only Anthropic's own server gets this field. Other servers with this format refuse unknown fields.
  const anthropic = { toolStreaming: isAtDomain(endpoint.baseURL, 'anthropic.com') }
  return {
    model: provider(name),
    style: { marksCachedPrefix: true, bindsReasoning: true, hasStrictIds: true, images: 'in-result' },
    requestsThoughts: false,
    options: () => ({ anthropic }),
  }
}

/** The smallest thinking budget that Anthropic accepts, in tokens. */
const MIN_THINKING_TOKENS = 1_024

/** Corrects `max_tokens`. The provider package adds the thinking budget to the limit of the answer, but reeve's limit must include both. */
const fetchWithSharedLimit: typeof fetch = (url, init) =>
  boundedFetch(url, typeof init?.body === 'string' ? { ...init, body: withSharedLimit(init.body) } : init)

/** Subtracts the thinking budget from the limit again, and gives the thinking at most half of the limit. */
function withSharedLimit(json: string): string {
  if (!json.includes('"budget_tokens"')) return json
  const {
    thinking,
    max_tokens: limitWithBudget,
    ...body
  } = JSON.parse(json) as { readonly thinking?: { readonly budget_tokens?: number }; readonly max_tokens?: number }
  const budget = thinking?.budget_tokens
  if (budget === undefined || limitWithBudget === undefined) return json
  const limit = limitWithBudget - budget
  const thinkingTokens = Math.min(budget, Math.floor(limit / 2))
  return JSON.stringify({
    ...body,
    max_tokens: limit,
    ...(thinkingTokens < MIN_THINKING_TOKENS ? {} : { thinking: { ...thinking, budget_tokens: thinkingTokens } }),
  })
}

/** Adds `/v1` to an address without it. The provider package requires `/v1`, although Anthropic's own clients omit it. */
export function withAnthropicVersion(baseURL: string): string {
  const base = baseURL.replace(/\/+$/, '')
  return base.endsWith('/v1') ? base : `${base}/v1`
}
