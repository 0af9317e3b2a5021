// Models that speak OpenAI's chat completions: OpenAI itself and all that copy the format, so also local models. The
// package is loaded at first use. Test: test/e2e/native-models.test.ts.
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint } from './models.ts'

export async function openaiModel(endpoint: Endpoint, name: string): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    name: endpoint.provider,
    baseURL: endpoint.baseURL,
    includeUsage: true,
    fetch: boundedFetch,
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
    ...(isOpenAI(endpoint.baseURL) ? { transformRequestBody: renameLimit } : {}),
  })
  return provider.chatModel(name)
}

/** OpenAI's reasoning models refuse `max_tokens`; the copies know no other name. */
function renameLimit({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return { ...body, max_completion_tokens: max_tokens }
}

function isOpenAI(baseURL: string): boolean {
  return URL.parse(baseURL)?.hostname.endsWith('openai.com') ?? false
}
