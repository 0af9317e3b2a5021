// The estimated usage of a model call whose end was never reported, because its daemon or agent ended. The provider may have billed the
// call, so the estimate is charged. Test: test/tables/kernel/state/unfinished-call.test.ts.
import { CAPABILITIES } from '../model/capabilities.ts'
import { tokensOf } from './limits.ts'
import type { CallEstimate, Process } from '../model/process.ts'
import type { CallUsage } from '../model/usage.ts'

/**
 * The usage to charge for an open model call: the granted estimate, if there is one. Otherwise the input size of the
 * last call, at the average token price of this process. Null before the first counted call, and for external agents,
 * which report their own usage.
 */
export function unfinishedCallUsage({
  spec,
  usage,
  progress,
}: Pick<Process, 'spec' | 'usage'> & { readonly progress?: Process['progress'] }): CallUsage | null {
  if (progress?.reserve) return expectedUsage(progress.reserve)
  const { contextTokens: inputTokens, costUsd, unpriced } = usage
  const counted = tokensOf(usage)
  if (!CAPABILITIES[spec.driver].recordsContext || inputTokens === 0 || counted === 0) return null
  return {
    inputTokens,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: unpriced ? null : (costUsd * inputTokens) / counted,
    estimated: true,
  }
}

/** The usage of a call whose input was sent. The answer is not counted, because its length is unknown. */
export function expectedUsage({ inputTokens, usd }: CallEstimate): CallUsage {
  return {
    inputTokens,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: usd === null ? null : inputTokens * usd.perInputToken,
    estimated: true,
  }
}
