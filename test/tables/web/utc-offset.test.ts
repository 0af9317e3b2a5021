// The offset of the daemon's time zone, on both sides of UTC and beyond 12 hours.
import { expect, test } from 'vitest'
import { utcOffsetMs } from '../../../web/cost/utc-offset.ts'

test.each([
  ['2026-11-25T00:00:00.000+00:00', 0],
  ['2026-11-25T00:00:00.000+01:00', 60],
  ['2026-11-25T00:00:00.000-03:30', -210],
  ['2026-11-25T00:00:00.000-11:00', -660],
  ['2026-11-25T00:00:00.000+13:00', 780],
  ['2026-11-25T00:00:00.000+14:00', 840],
])('a day that ends at %s has an offset of %d minutes', (endsAt, minutes) => {
  const period = { costUsd: 0, budgetUsd: null, endsAt }
  expect(utcOffsetMs({ home: { day: period, month: period } })).toBe(minutes * 60_000)
})
