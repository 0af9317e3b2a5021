// Models that speak OpenAI's chat completions: all that copy the format, so also local models. The package is loaded at
// first use. Owns what the copies differ in. Tests: test/e2e/native-models.test.ts, test/tables/native-chat.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import { isAt } from './wire.ts'
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
  return { model: provider.chatModel(name), style: { cachePoints: false, boundThinking: false, strictIds: false, images: 'after-results' }, showsThoughts: false, options: () => ({}) }
}

/** What a host takes or refuses, and the format leaves open. */
export function adaptBody(body: Body, baseURL: string, cacheKey: string | null): Body {
  if (isAt(baseURL, 'openai.com')) return forOpenAI(body, cacheKey)
  if (isAt(baseURL, 'openrouter.ai')) return forOpenRouter(body)
  return withEffort(body, COMMON_EFFORT)
}

/** OpenAI's reasoning models refuse `max_tokens`; the copies know no other name. */
function forOpenAI({ max_tokens, ...body }: Body, cacheKey: string | null): Body {
  return { ...body, max_completion_tokens: max_tokens, ...(cacheKey === null ? {} : { prompt_cache_key: cacheKey }) }
}

/** Claude caches only what it is told to; at the top level the mark moves along with the end of the prompt. */
function forOpenRouter(body: Body): Body {
  const isClaude = String(body['model']).startsWith('anthropic/')
  return { ...withEffort(body, { max: 'xhigh' }), ...(isClaude ? { cache_control: { type: 'ephemeral' } } : {}) }
}

/** Three efforts are understood by all that understand any. */
const COMMON_EFFORT: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' }

function withEffort(body: Body, known: Readonly<Record<string, string>>): Body {
  const asked = body['reasoning_effort']
  return typeof asked === 'string' && asked in known ? { ...body, reasoning_effort: known[asked] } : body
}
