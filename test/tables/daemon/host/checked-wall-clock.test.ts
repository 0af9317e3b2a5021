// The counted time: which jumps of the wall clock are believed, and when.
import { expect, test } from 'vitest'
import { CheckedWallClock } from '../../../../src/daemon/host/checked-wall-clock.ts'
import { ManualClock } from '../../../support/clock.ts'

const HOUR_MS = 3_600_000
const never = (): boolean => false

/** Returns by how many hours the counted time is behind the wall clock after each change of the clock. */
function hoursBehind(...changes: ((clock: ManualClock) => void)[]): number[] {
  const clock = new ManualClock()
  const time = new CheckedWallClock(clock)
  return changes.map((change) => {
    change(clock)
    return (clock.now().wall - time.now(never)) / HOUR_MS
  })
}
const wind = (hours: number) => (clock: ManualClock) => clock.wind(hours * HOUR_MS)
const jump = (hours: number) => (clock: ManualClock) => clock.jump(hours * HOUR_MS)

test('time that passes is believed, also while the machine sleeps', () => {
  expect(hoursBehind(wind(50), (clock) => clock.sleep(60 * HOUR_MS))).toEqual([0, 0])
})

test('a small correction is believed, a jump of a day only after a day', () => {
  expect(hoursBehind(jump(0.5), wind(1), jump(24), wind(23), wind(1))).toEqual([0, 0, 24, 24, 0])
})

test('a clock that goes back a day and is corrected does not change the counted time', () => {
  expect(hoursBehind(jump(-24), wind(5), jump(24), wind(1))).toEqual([-24, -24, 0, 0])
})

test('a jump away from a time that is known to be wrong is believed at once', () => {
  const clock = new ManualClock()
  const time = new CheckedWallClock(clock)
  clock.jump(1_000 * HOUR_MS)
  expect(time.now(() => true)).toBe(clock.now().wall)
})
