// The key `web` of the user's config.yaml: the requests of the web page that the user allows although they are refused by default.
// Test: test/tables/config/config.test.ts.
import * as z from 'zod'
import { WEB_OPENINGS, type WebOpening } from '../../kernel/model/words.ts'

export interface WebConfig {
  /** kinds of requests that are open to sessions of the page with enough rights */
  readonly allow: readonly WebOpening[]
}

export const WEB_DEFAULTS: WebConfig = { allow: [] }

export const webRule = z.strictObject({ allow: z.array(z.enum(WEB_OPENINGS)).max(WEB_OPENINGS.length).optional() })

export const WEB_KEYS: readonly string[] = Object.keys(webRule.shape)
