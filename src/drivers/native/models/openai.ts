// Calls models in OpenAI's Responses format. The provider is asked to store nothing. It returns the reasoning encrypted, and reeve sends
// the reasoning back with the next call. The provider package is loaded at first use.
// Tests: test/processes/native/wire-answers.test.ts, test/processes/native/wire-requests.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint, Wire } from './wire.ts'

/** Matches the models that the provider package knows. For any other model, an effort set by the user means that the model can reason. */
const KNOWN_MODEL = /^(gpt-|chatgpt|o\d)/

export async function openaiWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createOpenAI } = await import('@ai-sdk/openai')
  const provider = createOpenAI({ baseURL: endpoint.baseURL, apiKey: endpoint.apiKey ?? 'none', fetch: boundedFetch })
  const cache = endpoint.cacheKey === null ? {} : { promptCacheKey: endpoint.cacheKey }
  const mustForceReasoning = endpoint.effort !== null && endpoint.effort !== 'none' && !KNOWN_MODEL.test(name)
  return {
    model: provider.responses(name),
    style: { marksCachedPrefix: false, bindsReasoning: false, hasStrictIds: true, images: 'in-result' },
    requestsThoughts: true,
    options: (without) => ({
      openai: {
        store: false,
        ...cache,
        reasoningSummary: without.has('thoughts') || without.has('effort') ? null : 'auto',
        ...(mustForceReasoning && !without.has('effort') ? { forceReasoning: true } : {}),
      },
    }),
  }
}
