// What is particular about a vendor's wire format, as data: how a prompt is shaped for it, and what goes with each call.
// Owns no call itself. Test: test/e2e/native-wire-requests.test.ts.
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Effort } from '../../kernel/types.ts'

/** Where a model is called, with its key, and what stays the same for all calls of a process. */
export interface Endpoint {
  readonly provider: string
  readonly baseURL: string
  readonly apiKey: string | null
  readonly effort: Effort | null
  /** so that the calls of a process find the same cache */
  readonly cacheKey: string | null
}

export interface WireStyle {
  /** ends of cached prefixes are marked */
  readonly cachePoints: boolean
  /** thinking is refused where anything before it has changed since */
  readonly boundThinking: boolean
  /** ids of calls may have letters, digits, `_` and `-` only, and at most 64 of them */
  readonly strictIds: boolean
  /** where the images of a tool's result go */
  readonly images: 'in-result' | 'after-results'
}

/** What a model may turn out not to take: an effort, to show its thoughts, images, and its own reasoning of before. */
export type Optional = 'effort' | 'thoughts' | 'images' | 'reasoning'

export interface Wire {
  readonly model: LanguageModelV4
  readonly style: WireStyle
  /** it is asked to show what it thinks */
  readonly showsThoughts: boolean
  /** what goes with each call */
  options(without: ReadonlySet<Optional>): SharedV4ProviderOptions
}

export function isAt(baseURL: string, domain: string): boolean {
  const host = URL.parse(baseURL)?.hostname ?? ''
  return host === domain || host.endsWith(`.${domain}`)
}
