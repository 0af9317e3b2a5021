// The wire formats that the gateway understands: where a request says its model and the most that it wants back, and where an
// answer says what was used. One row each. Pure. Test: test/tables/gateway-meter.test.ts.
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { reportedCost, toBuckets } from '../native/usage.ts'
import type { Buckets } from '../native/usage.ts'

export type FormatName = 'anthropic' | 'responses' | 'chat' | 'gemini'

type Json = Readonly<Record<string, unknown>>

interface Counts {
  /** all of the input, with what came from the cache and went there */
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly output: number | undefined
  readonly reasoning: number | undefined
}

export interface Format {
  /** paths of the most tokens of an answer; where none is there, the first is put in */
  readonly maxOutput: readonly string[]
  /** paths of the usage in an event of a stream, and in a whole answer */
  readonly usage: readonly string[]
  /** the key of the usage, as it stands in the bytes */
  readonly mark: string
  /** what stands in an event whose usage is the last word; null: each is */
  readonly final: RegExp | null
  /** what stands before the text of the model in an event, so that a text is found once */
  readonly text: RegExp
  /** later events complete earlier ones, in place of standing for them */
  readonly merges: boolean
  counts(usage: Json): Counts
}

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  anthropic: {
    maxOutput: ['max_tokens'], usage: ['usage', 'message.usage'], mark: '"usage"', final: /"type":\s*"message_delta"/, merges: true, text: /"(?:text|partial_json|thinking)":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const [fresh, cacheRead, cacheWrite] = [number(usage['input_tokens']), number(usage['cache_read_input_tokens']), number(usage['cache_creation_input_tokens'])]
      const total = fresh === undefined ? undefined : fresh + (cacheRead ?? 0) + (cacheWrite ?? 0)
      return { total, cacheRead, cacheWrite, output: number(usage['output_tokens']), reasoning: undefined }
    },
  },
  responses: {
    maxOutput: ['max_output_tokens'], usage: ['usage', 'response.usage'], mark: '"usage"', final: null, merges: false, text: /"delta":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const details = fields(usage['input_tokens_details'])
      return { total: number(usage['input_tokens']), cacheRead: number(details['cached_tokens']), cacheWrite: number(details['cache_write_tokens']), output: number(usage['output_tokens']), reasoning: undefined }
    },
  },
  chat: {
    maxOutput: ['max_completion_tokens', 'max_tokens'], usage: ['usage'], mark: '"usage"', final: /"choices":\s*\[\s*\]/, merges: false, text: /"(?:content|reasoning_content|arguments)":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => ({
      total: number(usage['prompt_tokens']), cacheRead: number(fields(usage['prompt_tokens_details'])['cached_tokens']), cacheWrite: undefined,
      output: number(usage['completion_tokens']), reasoning: number(fields(usage['completion_tokens_details'])['reasoning_tokens']),
    }),
  },
  gemini: {
    maxOutput: ['generationConfig.maxOutputTokens', 'generation_config.max_output_tokens'], usage: ['usageMetadata'], mark: '"usageMetadata"', final: /"finishReason"/, merges: false, text: /"text":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const prompt = number(usage['promptTokenCount'])
      const total = prompt === undefined ? undefined : prompt + (number(usage['toolUsePromptTokenCount']) ?? 0)
      const [said, thought] = [number(usage['candidatesTokenCount']), number(usage['thoughtsTokenCount'])]
      const output = said === undefined && thought === undefined ? undefined : (said ?? 0) + (thought ?? 0)
      return { total, cacheRead: number(usage['cachedContentTokenCount']), cacheWrite: undefined, output, reasoning: undefined }
    },
  },
}

/** What the provider counted, each token once, and what it says itself that this cost in USD; null where it says nothing. */
export function usageOf({ counts }: Format, usage: Json): { readonly buckets: Buckets; readonly costUsd: number | null } | null {
  const { total, cacheRead, cacheWrite, output, reasoning } = counts(usage)
  const said: LanguageModelV4Usage = {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
    raw: usage as NonNullable<LanguageModelV4Usage['raw']>,
  }
  const buckets = toBuckets(said)
  return buckets && { buckets, costUsd: reportedCost(said) }
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}

function fields(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
