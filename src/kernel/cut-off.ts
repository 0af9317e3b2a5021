// What a call to the model costs whose end nobody has seen, as its daemon or its agent was ended in the middle of it: it may
// have been paid for, so it is charged by what is known. Owns that estimate. Test: test/tables/cut-off.test.ts.
import { tokensOf } from './limits.ts'
import type { CallAsk, CallUsage, Process } from './types.ts'

/**
 * What was expected of it, where it was asked for; else as much input as the last call has shown, at what a token of this
 * process has cost so far. Null before the first call was counted, and for agents of others, who tell by themselves what they
 * have used.
 */
export function cutOffUsage({ spec, usage, progress }: Pick<Process, 'spec' | 'usage'> & { readonly progress?: Process['progress'] }): CallUsage | null {
  if (progress?.reserve) return expected(progress.reserve)
  const { contextTokens: inputTokens, costUsd, unpriced } = usage
  const counted = tokensOf(usage)
  if (spec.driver !== 'native' || inputTokens === 0 || counted === 0) return null
  return { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: unpriced ? null : (costUsd * inputTokens) / counted, estimated: true }
}

/** The input was sent; how much of an answer there was nobody knows. */
export function expected({ inputTokens, usd }: CallAsk): CallUsage {
  return { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: usd === null ? null : inputTokens * usd.perInputToken, estimated: true }
}
