// What a call may cost, said before it: by bytes as long as nobody has counted, by the last count from then on.
import { expect, test } from 'vitest'
import { Context } from '../../src/drivers/native/context.ts'
import { expectedCost } from '../../src/drivers/native/cost.ts'
import { specOf } from '../support/store-facts.ts'
import type { CallAsk } from '../../src/kernel/types.ts'

type Parts = Parameters<typeof expectedCost>[0]

const USD = { perInputToken: 0.000_003, perOutputToken: 0.000_015 }

function parts(context: Context, usd: CallAsk['usd'] | undefined = USD): Parts {
  return {
    context, launch: { spec: specOf({ system: 'x'.repeat(398) }) }, toolbox: { offered: () => [] },
    model: { maxOutputTokens: 8_192, usdFor: () => usd },
  } as unknown as Parts
}

function contextOf(text: string): Context {
  const context = new Context()
  context.queue('m1', text, 1)
  context.incoming('m1')
  return context
}

test('the first call is counted by its bytes, with the system prompt and the tools', async () => {
  expect(await expectedCost(parts(contextOf('y'.repeat(400))))).toEqual({ ask: { inputTokens: 200, maxOutputTokens: 8_192, usd: USD } })
})

test('after a count only what came since is estimated', async () => {
  const context = contextOf('y'.repeat(400))
  context.asking()
  context.finished(1, [{ type: 'text', text: 'z'.repeat(40) }], { inputTokens: 900, outputTokens: 10, cacheReadTokens: 90, cacheWriteTokens: 0, costUsd: 0 })
  context.incoming('m2', 'w'.repeat(80))
  expect(await expectedCost(parts(context))).toMatchObject({ ask: { inputTokens: 1_020 } })
  expect(await expectedCost(parts(context), 'q'.repeat(40))).toMatchObject({ ask: { inputTokens: 1_030 } })
})

test('a price that nobody knows is null, and a model that is played asks for nothing', async () => {
  expect(await expectedCost(parts(contextOf('y'), null))).toMatchObject({ ask: { usd: null } })
  const played = { ...parts(contextOf('y')), model: { maxOutputTokens: 0, usdFor: () => undefined } } as unknown as Parts
  expect(await expectedCost(played)).toEqual({})
})
