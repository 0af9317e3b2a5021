// Models that speak Gemini's format. The package is loaded at first use; key and address are always given to it.
// Test: test/e2e/native-wire-*.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint, Wire } from './wire.ts'

/** Those that think, and say what they thought when asked for it; older ones refuse the question. */
const THINKS = /^gemini-(2\.5|[3-9])[\w.-]*-?(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/

export async function googleWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createGoogle } = await import('@ai-sdk/google')
  const provider = createGoogle({ baseURL: versioned(endpoint.baseURL), apiKey: endpoint.apiKey ?? 'none', fetch: boundedFetch })
  const showsThoughts = THINKS.test(name) && endpoint.effort !== 'none'
  return {
    model: provider(name),
    style: { cachePoints: false, boundThinking: false, strictIds: true, images: 'in-result' },
    showsThoughts,
    options: (without) => ({ google: showsThoughts && !without.has('thoughts') && !without.has('effort') ? { thinkingConfig: { includeThoughts: true } } : {} }),
  }
}

/** Google's own clients take the address without its version, the package wants it: both are understood. */
export function versioned(baseURL: string): string {
  const trimmed = baseURL.replace(/\/+$/, '')
  return /\/v\d\w*$/.test(trimmed) ? trimmed : `${trimmed}/v1beta`
}
