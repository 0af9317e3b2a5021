// The key `gateway` of config.yaml: whether agents of others call their models through reeve, whether their calls are recorded,
// and the rate limits of providers that all of them share. Owns its defaults. Test: test/tables/config-gateway.test.ts.
import * as z from 'zod'

export interface GatewayConfig {
  /** `auto`: where the agent is known and the key of its provider is there */
  readonly mode: 'auto' | 'on' | 'off'
  /** bodies of requests and answers are kept as files with the process */
  readonly record: boolean
  /** by the provider's name */
  readonly rateLimits: Readonly<Record<string, { readonly requestsPerMinute?: number | undefined; readonly tokensPerMinute?: number | undefined; readonly concurrent?: number | undefined }>>
}

export const GATEWAY_DEFAULTS: GatewayConfig = { mode: 'auto', record: false, rateLimits: {} }

export const gatewayMode = z.enum(['auto', 'on', 'off'])
const most = z.int().min(1).max(1_000_000_000).optional()

const rateLimit = z.strictObject({ requestsPerMinute: most, tokensPerMinute: most, concurrent: most })

export const gatewayRule = z.strictObject({
  mode: gatewayMode.optional(),
  record: z.boolean().optional(),
  rateLimits: z.record(z.string().min(1).max(64), rateLimit).optional(),
})

export const GATEWAY_KEYS: readonly string[] = Object.keys(gatewayRule.shape)
/** Of one provider. */
export const RATE_LIMIT_KEYS: readonly string[] = Object.keys(rateLimit.shape)
