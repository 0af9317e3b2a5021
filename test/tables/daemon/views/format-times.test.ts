// Times in ISO 8601 with the local offset, in time zones with positive, negative and odd offsets, and in summer time.
import { afterEach, expect, test } from 'vitest'
import { isoTime, isoOrNull } from '../../../../src/daemon/views/format-times.ts'

const before = process.env['TZ']
afterEach(() => {
  if (before === undefined) delete process.env['TZ']
  else process.env['TZ'] = before
})

const WINTER = Date.UTC(2026, 0, 31, 23, 59, 58, 7)
const SUMMER = Date.UTC(2026, 6, 1, 0, 0, 0, 0)

test.each([
  ['UTC', WINTER, '2026-01-31T23:59:58.007+00:00'],
  ['Europe/Berlin', WINTER, '2026-02-01T00:59:58.007+01:00'],
  ['Europe/Berlin', SUMMER, '2026-07-01T02:00:00.000+02:00'],
  ['America/New_York', WINTER, '2026-01-31T18:59:58.007-05:00'],
  ['Asia/Kathmandu', WINTER, '2026-02-01T05:44:58.007+05:45'],
  ['America/St_Johns', SUMMER, '2026-06-30T21:30:00.000-02:30'],
  ['Pacific/Kiritimati', WINTER, '2026-02-01T13:59:58.007+14:00'],
])('in %s, the time %d is %s', (zone, ms, text) => {
  process.env['TZ'] = zone
  expect(isoTime(ms)).toBe(text)
  expect(Date.parse(isoTime(ms))).toBe(ms)
})

test('fractions of a ms are dropped, and a missing time stays null', () => {
  process.env['TZ'] = 'UTC'
  expect(isoTime(0.75)).toBe('1970-01-01T00:00:00.000+00:00')
  expect(isoOrNull(null)).toBeNull()
  expect(isoOrNull(0)).toBe('1970-01-01T00:00:00.000+00:00')
})
