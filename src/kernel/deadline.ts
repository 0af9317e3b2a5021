// When the kernel next wants to look at a process by itself: the nearest of its deadlines, on the monotonic clock.
// Owns which deadlines there are; `tick` in step.ts acts on those that have come. Test: test/tables/deadline.test.ts.
import { WARN_AT } from './limits.ts'
import { wakesAt } from './rate-limits.ts'
import type { Process } from './types.ts'

/** A soft pause that has not drained after so long becomes a freeze. */
export const DRAIN_MS = 120_000

/** Monotonic ms of the nearest deadline; null if there is none. */
export function deadlineOf(process: Process): number | null {
  if (process.life.state === 'created') return process.restart?.dueMono ?? null
  if (process.life.state !== 'running') return null
  if (process.life.stopping) return process.life.stopping.wrapUp?.dueMono ?? null
  const times = [timeoutAt(process), warningAt(process), freezeAt(process), ...process.signals.pending.map((p) => p.dueMono)]
  return times.reduce((nearest, time) => (time !== null && (nearest === null || time < nearest) ? time : nearest), null)
}

/** When its time limit ends; it stands still while the process is suspended. */
export function timeoutAt(process: Process): number | null {
  const { timeoutMs } = process.spec.limits
  const { since, elapsedMs } = process.clock
  return timeoutMs === undefined || since === null ? null : since + timeoutMs - elapsedMs
}

/** When so much of its time is gone that it is warned of. */
function warningAt({ spec: { limits }, clock: { since, elapsedMs }, warned }: Process): number | null {
  const { timeoutMs, warnAt = WARN_AT } = limits
  return timeoutMs === undefined || since === null || warned?.includes('timeoutMs') ? null : since + timeoutMs * warnAt - elapsedMs
}

/** When a pause that is still draining is to be made a freeze; how long a daemon that stops may wait is its user's to say. */
export function freezeAt(process: Process): number | null {
  const { life, clock } = process
  if (life.state !== 'running' || life.drained || clock.pausedMono === null) return null
  if (life.holds.every((hold) => hold.reason === 'daemon-shutdown')) return null
  return clock.pausedMono + DRAIN_MS
}

/** The same on the wall clock, in ms: for what a clock on the wall tells the end of. It may jump, so it is looked at now and then. */
export function wallDeadlineOf({ uuid, life }: Process): number | null {
  if (life.state !== 'running' || life.stopping) return null
  const times = life.holds.flatMap((hold) => wakesAt(uuid, hold) ?? [])
  return times.length === 0 ? null : Math.min(...times)
}
