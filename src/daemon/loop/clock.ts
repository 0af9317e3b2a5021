// The daemon's clocks: the wall clock for times shown to users, the monotonic clock for durations and limits. A jump of the wall clock
// changes no duration and no limit. Decisions of the kernel and stored times use these clocks; a few modules measure durations directly
// with `performance.now()`. Tests of single parts use manual clocks (test/support/clock.ts), and end-to-end tests the system clock.
import { uptime } from 'node:os'
import type { Now } from '../../kernel/model/ids.ts'

export interface Clock {
  now(): Now
  /** ms since the start of the machine, on a clock that never jumps and that runs on while the machine sleeps */
  uptimeMs(): number
  /** Calls `fn` once after `ms` on the monotonic clock. Returns a function that cancels the call. */
  after(ms: number, fn: () => void): () => void
}

/** The longest delay of a Node timer, in ms. */
const MAX_TIMER_MS = 2_147_483_647

export const systemClock: Clock = {
  now: () => ({ wall: Date.now(), mono: performance.now() }),
  uptimeMs: () => uptime() * 1_000,
  after: (ms, fn) => {
    const timer = setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), MAX_TIMER_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
