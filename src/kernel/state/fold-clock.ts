// The clock of a process in the fold: its active time, which excludes pauses, and the active time of earlier
// incarnations. Must never read the current time. Tests: test/properties/kernel.test.ts,
// test/e2e/limits/total-elapsed.test.ts.
import type { ProcessClock } from '../model/process.ts'

/** Adds the active time of the ended incarnation to that of earlier ones. */
export function addEarlierTime({ earlierMs = 0, elapsedMs }: ProcessClock): Pick<ProcessClock, 'earlierMs'> {
  return elapsedMs === 0 ? {} : { earlierMs: earlierMs + elapsedMs }
}

/** Stops the counting of active time at `mono` (monotonic ms). */
export function stopClock(clock: ProcessClock, mono: number): ProcessClock {
  if (clock.since === null) return clock
  return { ...clock, elapsedMs: clock.elapsedMs + Math.max(0, mono - clock.since), since: null, sinceAt: null }
}
