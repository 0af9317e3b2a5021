// What is spent per minute, by tree of processes and in total. The tests set the time.
import { expect, test } from 'vitest'
import { SpendingRate } from '../../../../src/daemon/views/spending-rate.ts'
import type { StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const MINUTE_MS = 60_000
const parents: Readonly<Record<string, string | null>> = { root: null, child: 'root', other: null }

function makeRate(): { readonly rate: SpendingRate; readonly spend: (uuid: string, costUsd: number) => void; advance(ms: number): void } {
  let now = 0
  const rate = new SpendingRate({
    get: (uuid) => (uuid in parents ? ({ parentUuid: parents[uuid] } as Process) : undefined),
    now: () => now,
  })
  return {
    rate,
    spend: (uuid, costUsd) => {
      const usage = { inputTokens: 60, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd }
      rate.onFacts([{ uuid, body: { type: 'usage.reported', usage } } as unknown as StoredFact])
    },
    advance: (ms) => {
      now += ms
    },
  }
}
const costs = (rates: readonly { readonly costUsd: number }[]): number[] => rates.map(({ costUsd }) => Math.round(costUsd * 1_000) / 1_000)

test('a child counts for its root, and the periods are 1, 5 and 60 minutes', () => {
  const { rate, spend, advance } = makeRate()
  advance(120 * MINUTE_MS)
  spend('child', 6)
  advance(3 * MINUTE_MS)
  spend('root', 1)
  spend('other', 2)
  expect(costs(rate.total())).toEqual([3, 1.8, 0.15])
  expect(rate.total()[0]).toMatchObject({ minutes: 1, tokens: 120 })
  expect(rate.trees().map(([root, rates]) => [root, costs(rates)])).toEqual([
    ['root', [1, 1.4, 0.117]],
    ['other', [2, 0.4, 0.033]],
  ])
  advance(61 * MINUTE_MS)
  expect([costs(rate.total()), rate.trees()]).toEqual([[0, 0, 0], []])
})

test('each of the last 30 minutes has its sum, the oldest first', () => {
  const { rate, spend, advance } = makeRate()
  spend('other', 8)
  advance(40 * MINUTE_MS)
  spend('child', 6)
  advance(2 * MINUTE_MS)
  spend('root', 1)
  spend('root', 2)
  expect(rate.totalByMinute()).toHaveLength(30)
  expect(rate.totalByMinute().slice(-4)).toEqual([0, 6, 0, 3])
  expect(rate.trees().map(([root, , usdByMinute]) => [root, usdByMinute.slice(-3)])).toEqual([
    ['other', [0, 0, 0]],
    ['root', [6, 0, 3]],
  ])
})

test('just after the start, only the time since then counts', () => {
  const { rate, spend, advance } = makeRate()
  spend('root', 4)
  expect(costs(rate.total())).toEqual([4, 4, 4])
  advance(2 * MINUTE_MS)
  expect(costs(rate.total())).toEqual([0, 2, 2])
})

test('a fact without usage adds no tree, and only the 1,000 newest trees are kept', () => {
  const { rate } = makeRate()
  rate.onFacts([{ uuid: 'root', body: { type: 'process.started' } } as unknown as StoredFact])
  for (let number = 0; number < 1_200; number += 1) {
    const usage = { inputTokens: 1, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
    rate.onFacts([{ uuid: `x${number}`, body: { type: 'usage.reported', usage } } as unknown as StoredFact])
  }
  expect(rate.trees()).toHaveLength(1_000)
  expect(rate.trees()[0]?.[0]).toBe('x200')
})
