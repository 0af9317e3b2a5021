// Token counts, prices and windows: every token is counted once, and an unknown value is never zero.
import { expect, test } from 'vitest'
import { costUsd, windowTokens } from '../../../../../src/drivers/native/models/prices.ts'
import { inputCountsIn, reportedCost, toTokenCounts } from '../../../../../src/drivers/native/models/usage.ts'

type Counts = readonly [
  total: number | undefined,
  noCache: number | undefined,
  read: number | undefined,
  write: number | undefined,
  output: number | undefined,
]

const ROWS: readonly (readonly [name: string, counts: Counts, expected: readonly number[] | null])[] = [
  ['nothing is known', [undefined, undefined, undefined, undefined, undefined], null],
  ['no cache', [10, 10, undefined, undefined, 5], [10, 5, 0, 0]],
  ['read from the cache', [110, 10, 100, 0, 5], [10, 5, 100, 0]],
  ['written to the cache', [310, 10, 100, 200, 5], [10, 5, 100, 200]],
  ['only the total, which includes the cache', [110, undefined, 100, undefined, 5], [10, 5, 100, 0]],
  ['a server whose total excludes the cache', [10, undefined, 100, undefined, 5], [0, 5, 100, 0]],
  ['an infinite total, such as 1e999', [Infinity, 10, 0, 0, 5], [10, 5, 0, 0]],
  ['an infinite output', [10, undefined, 0, 0, Infinity], [10, 0, 0, 0]],
  ['only infinite counts', [Infinity, Infinity, Infinity, -Infinity, Number.NaN], null],
  ['a negative count', [10, undefined, -5, -5, 5], [10, 5, 0, 0]],
  ['output alone', [undefined, undefined, undefined, undefined, 5], [0, 5, 0, 0]],
]

test.each(ROWS)('each token is counted once: %s', (_, [total, noCache, cacheRead, cacheWrite, output], expected) => {
  const tokenCounts = toTokenCounts({
    inputTokens: { total, noCache, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  })
  expect(
    tokenCounts && [tokenCounts.inputTokens, tokenCounts.outputTokens, tokenCounts.cacheReadTokens, tokenCounts.cacheWriteTokens],
  ).toEqual(expected)
})

const TOKENS = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const NO_INPUT = { ...TOKENS, inputTokens: 0 }

test('the price in USD counts cached tokens at their own price', async () => {
  const priced = { provider: 'openai', model: 'gpt-4o' }
  expect(await costUsd(priced, TOKENS)).toBeCloseTo(2.5, 9)
  expect(await costUsd(priced, { ...NO_INPUT, cacheReadTokens: 1_000_000 })).toBeCloseTo(1.25, 9)
  expect(await costUsd(priced, { ...NO_INPUT, outputTokens: 1_000_000 })).toBeCloseTo(10, 9)
  expect(await costUsd(priced, NO_INPUT)).toBe(0)
})

test('cache writes without a price in the table still have a price', async () => {
  expect(await costUsd({ provider: 'openai', model: 'gpt-4o' }, { ...NO_INPUT, cacheWriteTokens: 1_000_000 })).toBeGreaterThan(0)
})

test('an unknown model or provider has no price, even if another provider has a model of that name', async () => {
  expect(await costUsd({ provider: 'openai', model: 'no-such-model' }, TOKENS)).toBeNull()
  for (const provider of ['local', 'my-openai'])
    expect(await costUsd({ provider, model: 'gpt-4o', baseURL: 'http://127.0.0.1:8000/v1' }, TOKENS)).toBeNull()
})

test('a provider with a custom name has the prices of its address', async () => {
  expect(await costUsd({ provider: 'work', model: 'gpt-4o', baseURL: 'https://api.openai.com/v1' }, TOKENS)).toBeCloseTo(2.5, 9)
  expect(await costUsd({ provider: 'openai-chat', model: 'gpt-4o', baseURL: 'http://127.0.0.1:1' }, TOKENS)).toBeCloseTo(2.5, 9)
})

const WINDOWS: readonly (readonly [provider: string, model: string, tokens: number | null])[] = [
  ['anthropic', 'claude-sonnet-4-5', 200_000],
  ['openai', 'gpt-4o', 128_000],
  ['google', 'gemini-2.5-pro', 1_048_576],
  ['openai', 'no-such-model', null],
  ['ollama', 'qwen3', null],
]

test.each(WINDOWS)('the window of %s/%s has %s tokens', async (provider, model, tokens) => {
  expect(await windowTokens({ provider, model })).toBe(tokens)
})

test.each([Infinity, Number.NaN, -1, '1', null])('a cost or count of %s is ignored', (value) => {
  const usage = { inputTokens: {}, outputTokens: {}, raw: { cost: value } } as unknown as Parameters<typeof reportedCost>[0]
  expect(reportedCost(usage)).toBeNull()
  expect(inputCountsIn({ usageMetadata: { promptTokenCount: value } })).toBeNull()
})
