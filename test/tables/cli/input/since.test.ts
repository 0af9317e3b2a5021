// The times that `--since` takes.
import { expect, test } from 'vitest'
import { UsageError } from '../../../../src/cli/errors.ts'
import { parseSince } from '../../../../src/cli/input/since.ts'

test.each([
  ['10m', 1_400_000],
  ['1m30s', 1_910_000],
  ['0s', 2_000_000],
  ['9d', 0],
  ['2026-01-31T14:05:00Z', 1_769_868_300_000],
  ['2026-01-31 14:05+01:00', 1_769_864_700_000],
  ['2026-01-31T14:05:00.250Z', 1_769_868_300_250],
  ['2026-01-31', new Date(2026, 0, 31).getTime()],
  ['2026-01-31T14:05', new Date(2026, 0, 31, 14, 5).getTime()],
])('the time `--since %s` is %d', (typed, at) => {
  expect(parseSince(typed, 2_000_000)).toBe(at)
})

test.each(['10', 'yesterday', '31.1.2026', '2026-13-01', '14:05', ''])('the time `--since %j` is refused', (typed) => {
  expect(() => parseSince(typed)).toThrow(UsageError)
})
