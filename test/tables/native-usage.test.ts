// Token buckets, prices and windows: every token once, what is not known never zero.
import { expect, test } from 'vitest'
import { costUsd, windowTokens } from '../../src/drivers/native/prices.ts'
import { toBuckets } from '../../src/drivers/native/usage.ts'

type Counts = readonly [total: number | undefined, noCache: number | undefined, read: number | undefined, write: number | undefined, output: number | undefined]

const ROWS: readonly (readonly [what: string, counts: Counts, buckets: readonly number[] | null])[] = [
  ['nothing is known', [undefined, undefined, undefined, undefined, undefined], null],
  ['no cache', [10, 10, undefined, undefined, 5], [10, 5, 0, 0]],
  ['read from the cache', [110, 10, 100, 0, 5], [10, 5, 100, 0]],
  ['written to the cache', [310, 10, 100, 200, 5], [10, 5, 100, 200]],
  ['the total alone, with the cache in it', [110, undefined, 100, undefined, 5], [10, 5, 100, 0]],
  ['a server that counts the cache beside the total', [10, undefined, 100, undefined, 5], [0, 5, 100, 0]],
  ['output alone', [undefined, undefined, undefined, undefined, 5], [0, 5, 0, 0]],
]

test.each(ROWS)('%s', (_, [total, noCache, cacheRead, cacheWrite, output], expected) => {
  const buckets = toBuckets({ inputTokens: { total, noCache, cacheRead, cacheWrite }, outputTokens: { total: output, text: undefined, reasoning: undefined } })
  expect(buckets && [buckets.inputTokens, buckets.outputTokens, buckets.cacheReadTokens, buckets.cacheWriteTokens]).toEqual(expected)
})

const tokens = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const none = { ...tokens, inputTokens: 0 }

test('a price in USD, with the cached tokens at their own', async () => {
  const priced = { provider: 'openai', model: 'gpt-4o' }
  expect(await costUsd(priced, tokens)).toBeCloseTo(2.5, 9)
  expect(await costUsd(priced, { ...none, cacheReadTokens: 1_000_000 })).toBeCloseTo(1.25, 9)
  expect(await costUsd(priced, { ...none, outputTokens: 1_000_000 })).toBeCloseTo(10, 9)
  expect(await costUsd(priced, none)).toBe(0)
})

test('a provider writes to a cache that the table has no price for: still a number', async () => {
  expect(await costUsd({ provider: 'openai', model: 'gpt-4o' }, { ...none, cacheWriteTokens: 1_000_000 })).toBeGreaterThan(0)
})

test('an unknown model or provider has no price, also if another provider has a model of that name', async () => {
  expect(await costUsd({ provider: 'openai', model: 'no-such-model' }, tokens)).toBeNull()
  for (const provider of ['local', 'my-openai']) expect(await costUsd({ provider, model: 'gpt-4o', baseURL: 'http://127.0.0.1:8000/v1' }, tokens)).toBeNull()
})

test('a provider with a name of one\'s own has the price of its address', async () => {
  expect(await costUsd({ provider: 'work', model: 'gpt-4o', baseURL: 'https://api.openai.com/v1' }, tokens)).toBeCloseTo(2.5, 9)
  expect(await costUsd({ provider: 'openai-chat', model: 'gpt-4o', baseURL: 'http://127.0.0.1:1' }, tokens)).toBeCloseTo(2.5, 9)
})

const WINDOWS: readonly (readonly [provider: string, model: string, tokens: number | null])[] = [
  ['anthropic', 'claude-sonnet-4-5', 200_000],
  ['openai', 'gpt-4o', 128_000],
  ['google', 'gemini-2.5-pro', 1_048_576],
  ['openai', 'no-such-model', null],
  ['ollama', 'qwen3', null],
]

test.each(WINDOWS)('%s/%s holds %s tokens', async (provider, model, tokens) => {
  expect(await windowTokens({ provider, model })).toBe(tokens)
})
