// The cost estimate before a call: by bytes before the provider's first count, and then by the provider's last count.
import { expect, test } from 'vitest'
import { Context } from '../../../../../src/drivers/native/context/context.ts'
import { expectedCost } from '../../../../../src/drivers/native/models/cost-estimate.ts'
import { specOf } from '../../../../support/store/facts.ts'
import type { CallEstimate } from '../../../../../src/kernel/model/process.ts'

type CallParts = Parameters<typeof expectedCost>[0]

const USD = { perInputToken: 0.000_003, perOutputToken: 0.000_015 }

function partsOf(context: Context, usd: CallEstimate['usd'] | undefined = USD): CallParts {
  return {
    context,
    launch: { spec: specOf({ system: 'x'.repeat(398) }) },
    toolbox: { offeredTools: () => [] },
    model: { maxOutputTokens: 8_192, maxPrices: () => usd },
  } as unknown as CallParts
}

function contextOf(text: string): Context {
  const context = new Context()
  context.queueMessage('m1', text, 1)
  context.takeMessage('m1')
  return context
}

test('the first call is estimated by its bytes, including the system prompt and the tools', async () => {
  expect(await expectedCost(partsOf(contextOf('y'.repeat(400))))).toEqual({ ask: { inputTokens: 200, maxOutputTokens: 8_192, usd: USD } })
})

test('after a count, only the bytes since then are estimated', async () => {
  const context = contextOf('y'.repeat(400))
  context.beginCall()
  context.finishCall(1, [{ type: 'text', text: 'z'.repeat(40) }], {
    inputTokens: 900,
    outputTokens: 10,
    cacheReadTokens: 90,
    cacheWriteTokens: 0,
    costUsd: 0,
  })
  context.takeMessage('m2', 'w'.repeat(80))
  expect(await expectedCost(partsOf(context))).toMatchObject({ ask: { inputTokens: 1_020 } })
  expect(await expectedCost(partsOf(context), 'q'.repeat(40))).toMatchObject({ ask: { inputTokens: 1_030 } })
})

test('an unknown price is null, and a scripted model has no estimate', async () => {
  expect(await expectedCost(partsOf(contextOf('y'), null))).toMatchObject({ ask: { usd: null } })
  const scripted = { ...partsOf(contextOf('y')), model: { maxOutputTokens: 0, maxPrices: () => undefined } } as unknown as CallParts
  expect(await expectedCost(scripted)).toEqual({})
})
