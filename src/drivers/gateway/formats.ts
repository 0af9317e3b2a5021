// The wire formats that the gateway understands, one row each. A row names the field of the output limit in a request, and the
// fields of the usage in an answer. Pure.
// Test: test/tables/drivers/gateway/usage-meter.test.ts.
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { countOf, reportedCost, toTokenCounts } from '../native/models/usage.ts'
import type { TokenCounts } from '../native/models/usage.ts'

export type FormatName = 'anthropic' | 'responses' | 'chat' | 'gemini'

type Json = Readonly<Record<string, unknown>>

/** The token counts of a usage; undefined if the format has no such count. */
interface Counts {
  /** all input tokens, including cache reads and cache writes */
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly output: number | undefined
  readonly reasoning: number | undefined
}

export interface WireFormat {
  /** the paths of the output limit; the gateway inserts the first one into a request without a limit */
  readonly maxOutput: readonly string[]
  /** the paths of the usage in a stream event or a whole answer */
  readonly usage: readonly string[]
  /** the JSON key of the usage, with its quotes */
  readonly usageKey: string
  /** matches an event whose usage is final; null if every usage is final */
  readonly final: RegExp | null
  /** matches each text of the model in an event exactly once */
  readonly text: RegExp
  /** true if the usage of a later event is merged into the earlier usage; false if it replaces the earlier usage */
  readonly mergesUsage: boolean
  counts(usage: Json): Counts
}

export const FORMATS: Readonly<Record<FormatName, WireFormat>> = {
  anthropic: {
    maxOutput: ['max_tokens'],
    usage: ['usage', 'message.usage'],
    usageKey: '"usage"',
    final: /"type":\s*"message_delta"/,
    mergesUsage: true,
    text: /"(?:text|partial_json|thinking)":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const [uncached, cacheRead, cacheWrite] = [
        countOf(usage['input_tokens']),
        countOf(usage['cache_read_input_tokens']),
        countOf(usage['cache_creation_input_tokens']),
      ]
      const total = uncached === undefined ? undefined : uncached + (cacheRead ?? 0) + (cacheWrite ?? 0)
      return { total, cacheRead, cacheWrite, output: countOf(usage['output_tokens']), reasoning: undefined }
    },
  },
  responses: {
    maxOutput: ['max_output_tokens'],
    usage: ['usage', 'response.usage'],
    usageKey: '"usage"',
    final: null,
    mergesUsage: false,
    text: /"delta":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const details = fields(usage['input_tokens_details'])
      return {
        total: countOf(usage['input_tokens']),
        cacheRead: countOf(details['cached_tokens']),
        cacheWrite: countOf(details['cache_write_tokens']),
        output: countOf(usage['output_tokens']),
        reasoning: undefined,
      }
    },
  },
  chat: {
    maxOutput: ['max_completion_tokens', 'max_tokens'],
    usage: ['usage'],
    usageKey: '"usage"',
    final: /"choices":\s*\[\s*\]/,
    mergesUsage: false,
    text: /"(?:content|reasoning_content|arguments)":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => ({
      total: countOf(usage['prompt_tokens']),
      cacheRead: countOf(fields(usage['prompt_tokens_details'])['cached_tokens']),
      cacheWrite: undefined,
      output: countOf(usage['completion_tokens']),
      reasoning: countOf(fields(usage['completion_tokens_details'])['reasoning_tokens']),
    }),
  },
  gemini: {
    maxOutput: ['generationConfig.maxOutputTokens', 'generation_config.max_output_tokens'],
    usage: ['usageMetadata'],
    usageKey: '"usageMetadata"',
    final: /"finishReason"/,
    mergesUsage: false,
    text: /"text":\s*"((?:[^"\\]|\\.)*)/g,
    counts: (usage) => {
      const prompt = countOf(usage['promptTokenCount'])
      const total = prompt === undefined ? undefined : prompt + (countOf(usage['toolUsePromptTokenCount']) ?? 0)
      const [visible, thinking] = [countOf(usage['candidatesTokenCount']), countOf(usage['thoughtsTokenCount'])]
      const output = visible === undefined && thinking === undefined ? undefined : (visible ?? 0) + (thinking ?? 0)
      return { total, cacheRead: countOf(usage['cachedContentTokenCount']), cacheWrite: undefined, output, reasoning: undefined }
    },
  },
}

/**
 * Converts a usage to counts that include each token once, and the cost in USD. The cost is null if the provider reports none. Returns null
 * if the usage has no counts.
 */
export function parseUsage({ counts }: WireFormat, usage: Json): { readonly tokens: TokenCounts; readonly costUsd: number | null } | null {
  const { total, cacheRead, cacheWrite, output, reasoning } = counts(usage)
  const reported: LanguageModelV4Usage = {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
    raw: usage as NonNullable<LanguageModelV4Usage['raw']>,
  }
  const tokens = toTokenCounts(reported)
  return tokens && { tokens, costUsd: reportedCost(reported) }
}

function fields(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
