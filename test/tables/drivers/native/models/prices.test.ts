// Prices of models: the user's own prices win over the table, and some prices depend on the size of the call.
import { expect, test } from 'vitest'
import { costUsd, ratesFor, windowTokens } from '../../../../../src/drivers/native/models/prices.ts'

const millionOf = (bucket: string): Parameters<typeof costUsd>[1] => ({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  [bucket]: 1_000_000,
})

const userPrices = {
  'openai/gpt-4o': { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 3, window: 1_000 },
  'openai/*': { input: 7, output: 8 },
  'openai/gpt-*': { input: 5, output: 6 },
  'work/*': { input: 0, output: 0 },
}

const PRICED: readonly (readonly [ref: string, usd: readonly number[]])[] = [
  ['openai/gpt-4o', [1, 2, 0.5, 3]],
  ['openai/gpt-4o-mini', [5, 6, 5, 5]],
  ['openai/o3', [7, 8, 7, 7]],
  ['work/local', [0, 0, 0, 0]],
  ['anthropic/claude-sonnet-4-5', [6, 22.5, 0.6, 7.5]],
]

test.each(PRICED)('a million tokens of %s have their price', async (ref, usd) => {
  const [provider = '', model = ''] = ref.split('/')
  const priced = { provider, model, userPrices }
  const costs = await Promise.all(
    ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'].map((bucket) => costUsd(priced, millionOf(bucket))),
  )
  // A million tokens of output alone has the table's price for a small context.
  expect(costs.map((cost) => Number(cost?.toFixed(6)))).toEqual(ref.startsWith('anthropic') ? [6, 15, 0.6, 7.5] : usd)
  const { perInputToken, perOutputToken, perCacheReadToken, perCacheWriteToken } = (await ratesFor(priced)) ?? {}
  expect(
    [perInputToken, perOutputToken, perCacheReadToken, perCacheWriteToken].map((rate = NaN) => Number((rate * 1e6).toFixed(6))),
  ).toEqual(usd)
})

test('a small call has the lower price', async () => {
  const priced = { provider: 'anthropic', model: 'claude-sonnet-4-5' }
  expect((await ratesFor(priced, 200_000))?.perOutputToken).toBeCloseTo(15 / 1e6, 12)
  expect((await ratesFor(priced, 200_001))?.perOutputToken).toBeCloseTo(22.5 / 1e6, 12)
})

test('an unknown model has no rates', async () => {
  expect(await ratesFor({ provider: 'openai', model: 'no-such-model' })).toBeNull()
  expect(await ratesFor({ provider: 'ollama', model: 'qwen3', baseURL: 'http://127.0.0.1:11434/v1', userPrices })).toBeNull()
})

test("the user's own window wins over the table", async () => {
  expect(await windowTokens({ provider: 'openai', model: 'gpt-4o', userPrices })).toBe(1_000)
  expect(await windowTokens({ provider: 'openai', model: 'gpt-4o-mini', userPrices })).toBe(128_000)
})
