// Models that speak Anthropic's Messages format. The package is loaded at first use; key and address are always given to
// it, so that it never looks at the daemon's own environment. Test: test/e2e/native-models.test.ts.
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint } from './models.ts'

export async function anthropicModel(endpoint: Endpoint, name: string): Promise<LanguageModelV4> {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  // A server that wants no key still needs a header's value.
  return createAnthropic({ baseURL: versioned(endpoint.baseURL), apiKey: endpoint.apiKey ?? 'none', name: `${endpoint.provider}.messages`, fetch: boundedFetch })(name)
}

/** Anthropic's own clients take the address without `/v1`, the package wants it: both are understood. */
function versioned(baseURL: string): string {
  const trimmed = baseURL.replace(/\/+$/, '')
  return trimmed.endsWith('/v1') ? trimmed : `${trimmed}/v1`
}
