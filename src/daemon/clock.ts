// Time for the daemon: the wall clock for people, the monotonic one for durations and limits.
// Owns the only reading of either; tests wind one by hand (test/support/clock.ts). A wall clock that jumps changes no limit.
import type { Now } from '../kernel/types.ts'

export interface Clock {
  now(): Now
  /** Calls `fn` once, `ms` from now on the monotonic clock; the result cancels it. */
  after(ms: number, fn: () => void): () => void
}

/** Node's timers take no more than this many ms. */
const MAX_TIMER_MS = 2_147_483_647

export const systemClock: Clock = {
  now: () => ({ wall: Date.now(), mono: performance.now() }),
  after: (ms, fn) => {
    const timer = setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), MAX_TIMER_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
