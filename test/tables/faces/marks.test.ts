// The mark of each status.
import { expect, test } from 'vitest'
import { STATUSES } from '../../../src/kernel/model/words.ts'
import { countTexts, markNameOf, markOf, shownCounts } from '../../../src/faces/marks.ts'
import { rowOf } from '../../support/faces/rows.ts'

test.each([
  [{ status: 'working' }, 'working'],
  [{ status: 'working', liveness: 'silent' }, 'silent'],
  [{ status: 'working', liveness: 'stalled' }, 'silent'],
  [{ status: 'working', liveness: 'waiting' }, 'working'],
  [{ status: 'working', asks: 1 }, 'asking'],
  [{ status: 'waiting' }, 'waiting'],
  [{ status: 'suspended' }, 'held'],
  [{ status: 'suspended', asks: 2 }, 'asking'],
  [{ status: 'pending' }, 'starting'],
  [{ status: 'zombie' }, 'stopping'],
  [{ status: 'failed', asks: 1 }, 'failed'],
] as const)('a row with %j has the mark %s', (fields, name) => {
  expect(markNameOf(rowOf(fields))).toBe(name)
})

test('each status has a symbol, one for terminals without Unicode, and a word', () => {
  for (const status of STATUSES) {
    const { symbol, ascii, word } = markOf(rowOf({ status }))
    expect([status, symbol.length, /^[ -~]{1,2}$/.test(ascii), word]).toEqual([status, 1, true, expect.stringMatching(/^[a-z]+$/)])
  }
})

test('a process that asks counts once: neither as held nor as working', () => {
  const sums = { working: 2, asking: 3, held: 3, failed: 0 }
  const shown = (...askingRows: { status: 'working' | 'suspended' }[]): string[] => countTexts(shownCounts(sums, askingRows))
  expect(shown()).toEqual(['2 working', '3 ask', '3 held'])
  expect(shown({ status: 'suspended' }, { status: 'suspended' }, { status: 'working' })).toEqual(['1 working', '3 ask', '1 held'])
  expect(shown(...Array.from({ length: 4 }, () => ({ status: 'suspended' }) as const))).toEqual(['2 working', '3 ask'])
})
