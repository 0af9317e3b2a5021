// Calls models in the format of OpenAI's chat completions: OpenAI's own, local models, and all other compatible servers. The provider
// package is loaded at first use. Each request is adapted to its server, because the servers differ.
// Tests: test/processes/native/model-calls.test.ts, test/tables/drivers/native/models/openai-chat.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import { isAtDomain } from './wire.ts'
import type { Endpoint, Wire } from './wire.ts'

type Body = Readonly<Record<string, unknown>>

export async function chatWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const provider = createOpenAICompatible({
    name: 'chat',
    baseURL: endpoint.baseURL,
    includeUsage: true,
    fetch: boundedFetch,
    transformRequestBody: (body) => adaptBody(body, endpoint.baseURL, endpoint.cacheKey),
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
  })
  return {
    model: provider.chatModel(name),
    style: { marksCachedPrefix: false, bindsReasoning: false, hasStrictIds: false, images: 'after-results' },
    requestsThoughts: false,
    options: () => ({}),
  }
}

/** Adapts a request to the server at this address, where compatible servers differ. */
export function adaptBody(body: Body, baseURL: string, cacheKey: string | null): Body {
  if (isAtDomain(baseURL, 'openai.com')) return forOpenAI(body, cacheKey)
  if (isAtDomain(baseURL, 'openrouter.ai')) return forOpenRouter(body)
  return withEffort(body, COMMON_EFFORT)
}

/** Renames `max_tokens`, which OpenAI's reasoning models refuse. Other servers know only the name `max_tokens`. */
function forOpenAI({ max_tokens, ...body }: Body, cacheKey: string | null): Body {
  return { ...body, max_completion_tokens: max_tokens, ...(cacheKey === null ? {} : { prompt_cache_key: cacheKey }) }
}

/** Asks Claude models to cache the prompt. A mark at the top level of the request always applies to the end of the prompt. */
function forOpenRouter(body: Body): Body {
  const isClaude = String(body['model']).startsWith('anthropic/')
  return { ...withEffort(body, { max: 'xhigh' }), ...(isClaude ? { cache_control: { type: 'ephemeral' } } : {}) }
}

/** Maps efforts that not every server accepts to the nearest common one. */
const COMMON_EFFORT: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' }

function withEffort(body: Body, replacements: Readonly<Record<string, string>>): Body {
  const effort = body['reasoning_effort']
  return typeof effort === 'string' && Object.hasOwn(replacements, effort) ? { ...body, reasoning_effort: replacements[effort] } : body
}
