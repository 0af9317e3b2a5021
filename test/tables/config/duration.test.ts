// Durations as users write them.
import { expect, test } from 'vitest'
import { parseDuration } from '../../../src/config/duration.ts'

test.each([
  ['250ms', 250],
  ['90s', 90_000],
  ['1.5h', 5_400_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  ['0s', 0],
  ['', null],
  ['90', null],
  ['h', null],
  ['1 h', null],
  ['-1s', null],
  ['1x', null],
  ['99999999999s', null],
])('the duration %j is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})
