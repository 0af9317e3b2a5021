// The costs that are shown: null if no price is known, a lower bound if some price is unknown, 0 if the calls are free.
import { expect, test } from 'vitest'
import { knownCostSum, knownCost } from '../../../src/api/known-cost.ts'

test.each([
  [0, false, 0],
  [0, true, null],
  [2, true, 2],
  [2, false, 2],
])('the known cost of $%d, with an unknown price: %s', (costUsd, unpriced, expected) => {
  expect(knownCost({ costUsd, unpriced })).toBe(expected)
})

test.each([
  [[], { costUsd: 0, unpriced: false }],
  [
    [
      { costUsd: null, unpriced: true },
      { costUsd: 0, unpriced: false },
    ],
    { costUsd: null, unpriced: true },
  ],
  [
    [
      { costUsd: null, unpriced: true },
      { costUsd: 2, unpriced: false },
    ],
    { costUsd: 2, unpriced: true },
  ],
])('the sum of %j keeps what is known', (usages, sum) => {
  expect(knownCostSum(usages)).toEqual(sum)
})
