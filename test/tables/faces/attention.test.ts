// What counts as a need of the user, and as an end that was not seen, by the row of a process.
import { expect, test } from 'vitest'
import { isUnseenEnd, needsUser } from '../../../src/faces/attention.ts'

const NOW = Date.parse('2026-01-02T00:00:00Z')

test.each([
  [0, null, false],
  [1, null, false],
  [2, null, true],
  [6, null, true],
  [6, '2026-01-02T00:00:01Z', false],
  [6, '2026-01-02T00:00:00Z', true],
])('a row with attention %d, snoozed until %s, needs the user: %s', (attention, snoozedUntil, expected) => {
  expect(needsUser({ attention, snoozedUntil }, NOW)).toBe(expected)
})

test.each([
  [true, '2026-01-01T00:00:00Z', true],
  [false, '2026-01-01T00:00:00Z', false],
  [true, null, false],
])('a row with unseen %s that ended at %s is an end that was not seen: %s', (unseen, endedAt, expected) => {
  expect(isUnseenEnd({ unseen, endedAt })).toBe(expected)
})
