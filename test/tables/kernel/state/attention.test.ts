// Which needs of a process count as seen, and which as snoozed.
import { expect, test } from 'vitest'
import { isSeen, snoozedUntil } from '../../../../src/kernel/state/attention.ts'

test('a need is seen if it is not newer than the last look', () => {
  expect([isSeen({}, 0), isSeen({ seenAt: 5 }, 5), isSeen({ seenAt: 5 }, 6)]).toEqual([false, true, false])
})

test.each([
  [{}, 5, 6, null],
  [{ snooze: { at: 5, until: 9 } }, 5, 8, 9],
  [{ snooze: { at: 5, until: 9 } }, 6, 8, null],
  [{ snooze: { at: 5, until: 9 } }, 5, 9, null],
])('with %j, a need of the time %i is snoozed at the time %i until %j', (process, at, now, until) => {
  expect(snoozedUntil(process, at, now)).toBe(until)
})
