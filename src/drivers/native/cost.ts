// What the next call to the model may cost, said before it begins: the input by the last exact count and the bytes since, the
// answer by the most that is asked for. Owns that estimate; what there is room for is the kernel's business.
// Tests: test/tables/native-cost.test.ts, test/e2e/budgets.test.ts.
import type { CallAsk } from '../../kernel/types.ts'
import { BYTES_PER_TOKEN } from './context.ts'
import type { Work } from './work.ts'

/** Bytes of what goes with each call beside the messages: the system prompt and the tools. */
export function overheadBytes({ launch, toolbox }: Pick<Work, 'launch' | 'toolbox'>): number {
  return Buffer.byteLength(launch.spec.system ?? '') + Buffer.byteLength(JSON.stringify(toolbox.offered()))
}

/** `question` is a text of ours that follows the context. Absent for a model that is played. */
export async function expectedCost(work: Pick<Work, 'context' | 'model' | 'launch' | 'toolbox'>, question = ''): Promise<{ readonly ask?: CallAsk }> {
  const { context, model } = work
  const usd = await model.usdFor(context.estimateTokens(0))
  if (usd === undefined) return {}
  // A count of the provider's has them in it already.
  const overhead = context.isCounted ? 0 : overheadBytes(work)
  const inputTokens = context.estimateTokens(overhead) + Math.ceil(Buffer.byteLength(question) / BYTES_PER_TOKEN)
  return { ask: { inputTokens, maxOutputTokens: model.maxOutputTokens || null, usd } }
}
