// The ranges of the journal that a compaction keeps: which are valid, how they are joined, and how they grow.
import { describe, expect, test } from 'vitest'
import { areValidRanges, joinRanges, rangesAfterCompaction, closeRangesAt, type Range } from '../../../../src/kernel/model/context.ts'

describe('journal ranges', () => {
  const CASES: readonly (readonly [ranges: readonly Range[], seq: number, isValid: boolean])[] = [
    [[], 0, true],
    [[[1, 1]], 1, true],
    [
      [
        [1, 2],
        [3, 3],
      ],
      3,
      true,
    ],
    [
      [
        [1, 2],
        [5, 9],
      ],
      9,
      true,
    ],
    [[[0, 1]], 5, false],
    [[[2, 1]], 5, false],
    [[[1, 6]], 5, false],
    [
      [
        [1, 2],
        [2, 3],
      ],
      5,
      false,
    ],
    [
      [
        [3, 4],
        [1, 2],
      ],
      5,
      false,
    ],
    [[[1.5, 2]], 5, false],
    [[[1, Number.NaN]], 5, false],
  ]
  test.each(CASES)('the ranges %j are valid in a journal of %i facts: %s', (ranges, seq, isValid) => {
    expect(areValidRanges(ranges, seq)).toBe(isValid)
  })

  test('ranges that touch or overlap are joined', () => {
    expect(
      joinRanges([
        [7, 9],
        [1, 2],
        [3, 3],
        [5, 8],
      ]),
    ).toEqual([
      [1, 3],
      [5, 9],
    ])
  })

  test('a compaction keeps the facts of queued messages, and all facts since the compaction', () => {
    expect(
      rangesAfterCompaction(
        [
          [2, 2],
          [10, 12],
        ],
        [4, 11, 13],
        14,
      ),
    ).toEqual([
      [2, 2],
      [4, 4],
      [10, 14],
    ])
    expect(rangesAfterCompaction([], [], 3)).toEqual([[3, 3]])
  })

  test('the last range extends to the newest fact', () => {
    expect(
      closeRangesAt(
        [
          [1, 2],
          [5, 6],
        ],
        9,
      ),
    ).toEqual([
      [1, 2],
      [5, 9],
    ])
  })
})
