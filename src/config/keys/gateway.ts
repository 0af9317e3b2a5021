// The key `gateway` of config.yaml: whether external agents call their models through reeve, and whether these calls are recorded. It
// also has the rate limits of the providers. Defines the defaults. Test: test/tables/config/keys/gateway.test.ts.
import * as z from 'zod'
import { GATEWAY_MODES, type GatewayMode } from '../../kernel/model/words.ts'

export interface GatewayConfig {
  /** `auto`: on if reeve knows the agent and has the key of its provider */
  readonly mode: GatewayMode
  /** whether the bodies of requests and responses are kept as files of the process */
  readonly record: boolean
  /** the rate limits by the name of the provider; all processes share them */
  readonly rateLimits: Readonly<
    Record<
      string,
      {
        readonly requestsPerMinute?: number | undefined
        readonly tokensPerMinute?: number | undefined
        readonly concurrent?: number | undefined
      }
    >
  >
}

export const GATEWAY_DEFAULTS: GatewayConfig = { mode: 'auto', record: false, rateLimits: {} }

export const gatewayMode = z.enum(GATEWAY_MODES)
const limit = z.int().min(1).max(1_000_000_000).optional()

const rateLimit = z.strictObject({ requestsPerMinute: limit, tokensPerMinute: limit, concurrent: limit })

export const gatewayRule = z.strictObject({
  mode: gatewayMode.optional(),
  record: z.boolean().optional(),
  rateLimits: z.record(z.string().min(1).max(64), rateLimit).optional(),
})

export const GATEWAY_KEYS: readonly string[] = Object.keys(gatewayRule.shape)
/** The keys of one provider's rate limits. */
export const RATE_LIMIT_KEYS: readonly string[] = Object.keys(rateLimit.shape)
