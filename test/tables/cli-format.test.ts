// Numbers as people read them: what each format gives at its edges.
import { describe, expect, test } from 'vitest'
import { ago, allowance, clock, cost, elapsed, plural, shortId, size, tokens, took, when } from '../../src/cli/format.ts'

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const DAY = 24 * H

const TABLE: readonly (readonly [format: (value: number) => string, value: number, text: string])[] = [
  [elapsed, -5, '0s'], [elapsed, 4999, '4s'], [elapsed, 59_999, '59s'], [elapsed, MIN, '1m 00s'], [elapsed, 3 * MIN + 12 * S, '3m 12s'],
  [elapsed, H, '1h 00m'], [elapsed, 2 * H + 5 * MIN, '2h 05m'], [elapsed, DAY - 1, '23h 59m'], [elapsed, 3 * DAY + 4 * H, '3d 4h'],
  [took, 12.4, '12ms'], [took, 999.6, '1.0s'], [took, 3210, '3.2s'], [took, 59_960, '1m 00s'], [took, 192_000, '3m 12s'],
  [allowance, 2, '$2'], [allowance, 1.5, '$1.50'], [allowance, 0.29, '$0.29'], [allowance, 0.0025, '$0.0025'],
  [cost, 0, '$0.00'], [cost, 0.00004, '$0.0000'], [cost, 0.0042, '$0.0042'], [cost, 0.1, '$0.10'], [cost, 1.374, '$1.37'], [cost, 12.4, '$12.40'],
  [tokens, 0, '0'], [tokens, 999, '999'], [tokens, 1234, '1.2k'], [tokens, 12_340, '12.3k'], [tokens, 99_949, '99.9k'], [tokens, 99_950, '100k'],
  [tokens, 181_700, '182k'], [tokens, 999_499, '999k'], [tokens, 999_500, '1.0M'], [tokens, 3_400_000, '3.4M'],
  [size, 0, '0 B'], [size, 1023, '1023 B'], [size, 1024, '1.0 KiB'], [size, 1536, '1.5 KiB'], [size, 34 * 1024 ** 2, '34 MiB'], [size, 1024 ** 2 - 1, '1.0 MiB'], [size, 5e15, '4547 TiB'],
  [ago, 0, 'just now'], [ago, 40 * S, '40 s ago'], [ago, 3 * MIN, '3 min ago'], [ago, 26 * H, '26 h ago'], [ago, 5 * DAY, '5 days ago'], [ago, -3 * MIN, 'in 3 min'],
]

test.each(TABLE.map(([format, value, text]) => [format.name, value, text, format] as const))('%s of %d is %s', (_, value, text, format) => {
  expect(format(value)).toBe(text)
})

describe('other formats', () => {
  test('a cost that is a lower bound', () => {
    expect(cost(0.05, true)).toBe('$0.0500+')
  })

  test('a time on the clock of who reads it', () => {
    const at = new Date(2026, 0, 2, 3, 4, 5)
    expect(when(at.toISOString(), at.getTime() + 3 * MIN)).toBe('2026-01-02 03:04:05, 3 min ago')
  })

  test('a time of today and of another day', () => {
    const at = new Date(2026, 0, 2, 3, 4, 5)
    expect([clock(at.toISOString(), at.getTime() + 3 * H), clock(at.toISOString(), at.getTime() + DAY)]).toEqual(['03:04:05', '2026-01-02 03:04:05'])
  })

  test('names and counts', () => {
    expect([plural(1, 'step'), plural(2, 'step'), plural(2, 'process')]).toEqual(['1 step', '2 steps', '2 processes'])
    expect(shortId('01960000-0000-7000-8000-0000deadbeef')).toBe('deadbeef')
  })
})
