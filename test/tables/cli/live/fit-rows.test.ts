// The rows of `reeve ps --watch` that fit a terminal.
import { describe, expect, test } from 'vitest'
import { fitRows } from '../../../../src/cli/live/fit-rows.ts'

const lines = ['T', 'a', 'b', 'c', 'd']
const more = (count: number): string => `${count} more row${count === 1 ? '' : 's'}: run without --watch to see all`

describe('a table that does not fit', () => {
  test.each([
    [4, 'first', [], ['T', 'a', 'b', 'c', 'd']],
    [3, 'first', [], ['T', 'a', 'b', more(2)]],
    [3, 'last', [], ['T', more(2), 'c', 'd']],
    [1, 'first', [], ['T', more(4)]],
    [3, 'first', [3], ['T', 'a', 'd', more(2)]],
    [3, 'last', [0], ['T', more(2), 'a', 'd']],
    [3, 'first', [1, 2, 3], ['T', 'b', 'c', more(2)]],
    [3, 'last', [0, 1, 2], ['T', more(2), 'a', 'b']],
  ] as const)('with room for %d lines keeps the %s rows, and the urgent rows %j before them', (room, keep, urgent, expected) => {
    expect(fitRows(lines, { room, keep, isUrgent: (row) => (urgent as readonly number[]).includes(row), cut: (text) => text })).toEqual(
      expected,
    )
  })
})
