// Models that speak OpenAI's Responses. Nothing is stored at the provider: reasoning comes back encrypted and goes back
// with the next call. The package is loaded at first use. Test: test/e2e/native-wire-*.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint, Wire } from './wire.ts'

/** The package knows which of these think; of all others only the user does, who then asks for an effort. */
const KNOWN = /^(gpt-|chatgpt|o\d)/

export async function openaiWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createOpenAI } = await import('@ai-sdk/openai')
  const provider = createOpenAI({ baseURL: endpoint.baseURL, apiKey: endpoint.apiKey ?? 'none', fetch: boundedFetch })
  const cache = endpoint.cacheKey === null ? {} : { promptCacheKey: endpoint.cacheKey }
  const isForced = endpoint.effort !== null && endpoint.effort !== 'none' && !KNOWN.test(name)
  return {
    model: provider.responses(name),
    style: { cachePoints: false, boundThinking: false, strictIds: true, images: 'in-result' },
    showsThoughts: true,
    options: (without) => ({ openai: {
      store: false,
      ...cache,
      reasoningSummary: without.has('thoughts') || without.has('effort') ? null : 'auto',
      ...(isForced && !without.has('effort') ? { forceReasoning: true } : {}),
    } }),
  }
}
