// Peculiarities of single agents: the wait before a new session is reopened, and the usage that they report incompletely.
import { describe, expect, test } from 'vitest'
import { quirksOf, reopenDelayMs } from '../../../../src/drivers/acp/quirks.ts'
import { CostDeltas } from '../../../../src/drivers/acp/usage.ts'

const AT = Date.UTC(2026, 10, 20, 12, 30, 0)

describe('the wait before a new session is reopened', () => {
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
  ])('of the agent %s, started at %s, is at %s %s ms long', (name, startedAt, now, ms) => {
    expect(reopenDelayMs(quirksOf(name), startedAt, now)).toBe(ms)
  })
})

test('if an agent reports only the last call of a turn, the usage is estimated by the number of calls', () => {
  const reported = { inputTokens: 100, outputTokens: 7, cachedReadTokens: 2, cachedWriteTokens: 1 }
  expect(new CostDeltas(0).turnUsage(reported, 3)).toEqual({
    inputTokens: 300,
    outputTokens: 21,
    cacheReadTokens: 6,
    cacheWriteTokens: 3,
    costUsd: null,
    estimated: true,
  })
  expect(new CostDeltas(0).turnUsage(reported, 1)).toEqual({
    inputTokens: 100,
    outputTokens: 7,
    cacheReadTokens: 2,
    cacheWriteTokens: 1,
    costUsd: null,
  })
})

test("a session's falling cost means a new count, unless the gateway had counted it before", () => {
  const ownCosts = new CostDeltas(2)
  expect([ownCosts.increaseTo(2.5), ownCosts.increaseTo(0.25), ownCosts.increaseTo(0.5)]).toEqual([0.5, 0.25, 0.25])
  const meteredCosts = new CostDeltas(2, true)
  expect([meteredCosts.increaseTo(1.75), meteredCosts.increaseTo(2), meteredCosts.increaseTo(0.5)]).toEqual([0, 0.25, 0.5])
})
