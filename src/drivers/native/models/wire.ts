// Describes as data how the vendors' wire formats differ: in the form of a prompt and the options of a call. Must never call a provider.
// Test: test/processes/native/wire-requests.test.ts.
import type { Effort } from '../../../kernel/model/spec-parts.ts'
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'

/** The address, the key and the settings that all calls of a process to one model share. */
export interface Endpoint {
  readonly provider: string
  readonly baseURL: string
  readonly apiKey: string | null
  readonly effort: Effort | null
  /** a key that all calls of a process send, so that they share a prompt cache */
  readonly cacheKey: string | null
}

/** The form of a prompt. */
export interface WireStyle {
  /** true: the prompt marks where a cached prefix ends */
  readonly marksCachedPrefix: boolean
  /** true: the provider refuses earlier reasoning if the prompt before it has changed */
  readonly bindsReasoning: boolean
  /** true: call ids may have only letters, digits, `_` and `-`, and at most 64 characters */
  readonly hasStrictIds: boolean
  /** whether a tool's images are sent in its result, or in a message after all results */
  readonly images: 'in-result' | 'after-results'
}

/** A feature that a model may refuse: a reasoning effort, returning its thoughts, images, or its own earlier reasoning. */
export type ModelFeature = 'effort' | 'thoughts' | 'images' | 'reasoning'

/** A model in its vendor's wire format. */
export interface Wire {
  readonly model: LanguageModelV4
  readonly style: WireStyle
  /** true if the calls ask the model to return its thoughts */
  readonly requestsThoughts: boolean
  /** The provider options of a call without these refused features. */
  options(without: ReadonlySet<ModelFeature>): SharedV4ProviderOptions
}

/** True if the address belongs to this domain or a subdomain of it. */
export function isAtDomain(baseURL: string, domain: string): boolean {
  const host = URL.parse(baseURL)?.hostname ?? ''
  return host === domain || host.endsWith(`.${domain}`)
}
