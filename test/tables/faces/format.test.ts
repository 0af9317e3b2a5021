// Numbers for users: the result of each format at its limits.
import { describe, expect, test } from 'vitest'
import {
  formatAgo,
  formatLimitUsd,
  formatClock,
  formatCost,
  formatElapsed,
  formatCount,
  shortId,
  formatBytes,
  formatTokens,
  formatDuration,
  formatMoment,
} from '../../../src/faces/format.ts'

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const DAY = 24 * H

const TABLE: readonly (readonly [format: (value: number) => string, value: number, text: string])[] = [
  [formatElapsed, -5, '0s'],
  [formatElapsed, 4999, '4s'],
  [formatElapsed, 59_999, '59s'],
  [formatElapsed, MIN, '1m 00s'],
  [formatElapsed, 3 * MIN + 12 * S, '3m 12s'],
  [formatElapsed, H, '1h 00m'],
  [formatElapsed, 2 * H + 5 * MIN, '2h 05m'],
  [formatElapsed, DAY - 1, '23h 59m'],
  [formatElapsed, 3 * DAY + 4 * H, '3d 4h'],
  [formatDuration, 12.4, '12ms'],
  [formatDuration, 999.6, '1.0s'],
  [formatDuration, 3210, '3.2s'],
  [formatDuration, 59_960, '1m 00s'],
  [formatDuration, 192_000, '3m 12s'],
  [formatLimitUsd, 2, '$2'],
  [formatLimitUsd, 1.5, '$1.50'],
  [formatLimitUsd, 0.29, '$0.29'],
  [formatLimitUsd, 0.0025, '$0.0025'],
  [formatCost, 0, '$0.00'],
  [formatCost, 0.00004, '$0.0000'],
  [formatCost, 0.0042, '$0.0042'],
  [formatCost, 0.1, '$0.10'],
  [formatCost, 1.374, '$1.37'],
  [formatCost, 12.4, '$12.40'],
  [formatTokens, 0, '0'],
  [formatTokens, 999, '999'],
  [formatTokens, 1234, '1.2k'],
  [formatTokens, 12_340, '12.3k'],
  [formatTokens, 99_949, '99.9k'],
  [formatTokens, 99_950, '100k'],
  [formatTokens, 181_700, '182k'],
  [formatTokens, 999_499, '999k'],
  [formatTokens, 999_500, '1.0M'],
  [formatTokens, 3_400_000, '3.4M'],
  [formatBytes, 0, '0 B'],
  [formatBytes, 1023, '1023 B'],
  [formatBytes, 1024, '1.0 KiB'],
  [formatBytes, 1536, '1.5 KiB'],
  [formatBytes, 34 * 1024 ** 2, '34 MiB'],
  [formatBytes, 1024 ** 2 - 1, '1.0 MiB'],
  [formatBytes, 5e15, '4547 TiB'],
  [formatAgo, 0, 'just now'],
  [formatAgo, 40 * S, '40 s ago'],
  [formatAgo, 3 * MIN, '3 min ago'],
  [formatAgo, 26 * H, '26 h ago'],
  [formatAgo, 5 * DAY, '5 days ago'],
  [formatAgo, -3 * MIN, 'in 3 min'],
]

test.each(TABLE.map(([format, value, text]) => [format.name, value, text, format] as const))('%s of %d is %s', (_, value, text, format) => {
  expect(format(value)).toBe(text)
})

describe('the format of', () => {
  test('a cost that is a lower bound ends with a plus sign', () => {
    expect(formatCost(0.05, true)).toBe('$0.0500+')
  })

  test('a moment has its local time and the time since then', () => {
    const time = new Date(2026, 0, 2, 3, 4, 5)
    expect(formatMoment(time.toISOString(), time.getTime() + 3 * MIN)).toBe('2026-01-02 03:04:05, 3 min ago')
  })

  test('a time has its date only on another day', () => {
    const time = new Date(2026, 0, 2, 3, 4, 5)
    expect([formatClock(time.toISOString(), time.getTime() + 3 * H), formatClock(time.toISOString(), time.getTime() + DAY)]).toEqual([
      '03:04:05',
      '2026-01-02 03:04:05',
    ])
  })

  test('a count has a plural, and a short id is the end of a UUID', () => {
    expect([formatCount(1, 'step'), formatCount(2, 'step'), formatCount(2, 'process')]).toEqual(['1 step', '2 steps', '2 processes'])
    expect(shortId('01960000-0000-7000-8000-0000deadbeef')).toBe('deadbeef')
  })
})
