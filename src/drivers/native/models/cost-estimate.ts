// Estimates the cost of the next model call before it begins. The estimated input is the provider's last count plus the bytes since then.
// The estimated answer is the longest that the call may get. The kernel decides whether the budget allows this cost.
// Tests: test/tables/drivers/native/models/cost-estimate.test.ts, test/e2e/limits/budgets.test.ts.
import { systemPromptOf } from '../system-prompt.ts'
import type { CallEstimate } from '../../../kernel/model/process.ts'
import { BYTES_PER_TOKEN } from '../context/context.ts'
import type { RunContext } from '../run-context.ts'

/** The bytes that each call sends in addition to the messages: the system prompt and the tools. */
export function overheadBytes({ launch, toolbox }: Pick<RunContext, 'launch' | 'toolbox'>): number {
  return Buffer.byteLength(systemPromptOf(launch.spec) ?? '') + Buffer.byteLength(JSON.stringify(toolbox.offeredTools()))
}

/**
 * The estimate as a field of the call request. The field is absent for a scripted model, which costs nothing. `question` is a text that
 * reeve appends to the context.
 */
export async function expectedCost(
  run: Pick<RunContext, 'context' | 'model' | 'launch' | 'toolbox'>,
  question = '',
): Promise<{ readonly ask?: CallEstimate }> {
  const { context, model } = run
  const usd = await model.maxPrices(context.estimateTokens(0))
  if (usd === undefined) return {}
  // The provider's count already includes the overhead.
  const overhead = context.isCounted ? 0 : overheadBytes(run)
  const inputTokens = context.estimateTokens(overhead) + Math.ceil(Buffer.byteLength(question) / BYTES_PER_TOKEN)
  return { ask: { inputTokens, maxOutputTokens: model.maxOutputTokens || null, usd } }
}
