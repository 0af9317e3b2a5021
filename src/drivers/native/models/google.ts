// Calls models in Gemini's format. The provider package is loaded at first use. It always gets the key and the address, so that
// it never reads the daemon's own environment.
// Tests: test/processes/native/wire-answers.test.ts, test/processes/native/wire-requests.test.ts.
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint, Wire } from './wire.ts'

/** Matches the models that can return their thoughts. Older models refuse the option. */
const CAN_RETURN_THOUGHTS = /^gemini-(2\.5|[3-9])[\w.-]*-?(pro|flash|flash-lite)(-latest|-preview[\w-]*|-\d+)?$/

export async function googleWire(endpoint: Endpoint, name: string): Promise<Wire> {
  const { createGoogle } = await import('@ai-sdk/google')
  const provider = createGoogle({ baseURL: withGoogleVersion(endpoint.baseURL), apiKey: endpoint.apiKey ?? 'none', fetch: boundedFetch })
  const requestsThoughts = CAN_RETURN_THOUGHTS.test(name) && endpoint.effort !== 'none'
  return {
    model: provider(name),
    style: { marksCachedPrefix: false, bindsReasoning: false, hasStrictIds: true, images: 'in-result' },
    requestsThoughts,
    options: (without) => ({
      google: requestsThoughts && !without.has('thoughts') && !without.has('effort') ? { thinkingConfig: { includeThoughts: true } } : {},
    }),
  }
}

/** Adds the API version to an address without one. The provider package requires it, although Google's own clients omit it. */
export function withGoogleVersion(baseURL: string): string {
  const base = baseURL.replace(/\/+$/, '')
  return /\/v\d\w*$/.test(base) ? base : `${base}/v1beta`
}
