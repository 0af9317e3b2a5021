// The clock of a process in the fold: active time, which stands still where it is suspended, and that of earlier incarnations.
// Must never ask what time it is. Tests: test/properties/kernel.test.ts, test/e2e/elapsed-in-all.test.ts.
import type { Clock } from './types.ts'

/** What the incarnation that has ended adds to those before it. */
export function earlier({ earlierMs = 0, elapsedMs }: Clock): Pick<Clock, 'earlierMs'> {
  return elapsedMs === 0 ? {} : { earlierMs: earlierMs + elapsedMs }
}

export function stopClock(clock: Clock, mono: number): Clock {
  if (clock.since === null) return clock
  return { ...clock, elapsedMs: clock.elapsedMs + Math.max(0, mono - clock.since), since: null, sinceAt: null }
}
