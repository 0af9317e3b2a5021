// What single agents do: which have a quirk, and how long a young session waits, over the minute of the clock.
import { describe, expect, test } from 'vitest'
import { quirksOf, youngMs } from '../../src/drivers/acp/quirks.ts'
import { Costs } from '../../src/drivers/acp/usage.ts'

const AT = Date.UTC(2026, 10, 20, 12, 30, 0)

describe('a young session', () => {
  test.each([
    ['gemini-cli', AT, AT, 60_100],
    ['gemini-cli', AT, AT + 59_999, 101],
    ['gemini-cli', AT + 59_999, AT + 59_999, 101],
    ['gemini-cli', AT, AT + 60_000, 0],
    ['gemini-cli', AT + 59_999, AT + 60_000, 0],
    ['gemini-cli', AT, AT + 86_400_000, 0],
    ['gemini-cli', null, AT, 0],
    ['OpenCode', AT, AT, 0],
    [undefined, AT, AT, 0],
    ['constructor', AT, AT, 0],
  ])('of %s that began at %s waits at %s for %s ms', (name, begunAt, now, ms) => {
    expect(youngMs(quirksOf(name), begunAt, now)).toBe(ms)
  })
})

test('tokens of the last call stand for all calls of the turn, as an estimate', () => {
  const told = { inputTokens: 100, outputTokens: 7, cachedReadTokens: 2, cachedWriteTokens: 1 }
  expect(new Costs(0).tokens(told, 3)).toEqual({ inputTokens: 300, outputTokens: 21, cacheReadTokens: 6, cacheWriteTokens: 3, costUsd: null, estimated: true })
  expect(new Costs(0).tokens(told, 1)).toEqual({ inputTokens: 100, outputTokens: 7, cacheReadTokens: 2, cacheWriteTokens: 1, costUsd: null })
})

test('a session\'s cost that falls was counted anew, unless the gateway had counted it before', () => {
  const own = new Costs(2)
  expect([own.delta(2.5), own.delta(0.25), own.delta(0.5)]).toEqual([0.5, 0.25, 0.25])
  const metered = new Costs(2, true)
  expect([metered.delta(1.75), metered.delta(2), metered.delta(0.5)]).toEqual([0, 0.25, 0.5])
})
