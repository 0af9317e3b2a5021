// The nearest deadline of a process: the time at which the kernel must decide about it again. The input `tick` acts on it (step.ts).
// Test: test/tables/kernel/decide/next-deadline.test.ts.
import { WARN_AT } from '../state/limits.ts'
import { wakeTimeOf } from './limits/rate-limits.ts'
import { isEnding } from '../model/status.ts'
import type { Process } from '../model/process.ts'

/** Time in ms after which a pause that has not drained becomes a freeze. */
export const DRAIN_MS = 120_000

/** Monotonic ms of the nearest deadline; null if there is none. */
export function deadlineOf(process: Process): number | null {
  if (process.life.state === 'created') return process.restart?.dueMono ?? null
  if (process.life.state !== 'running') return null
  const { stopping } = process.life
  const times = stopping
    ? [stopping.wrapUp?.dueMono ?? null, deliveryAt(process)]
    : [timeoutAt(process), warningAt(process), freezeAt(process), deliveryAt(process), ...process.signals.pending.map((p) => p.dueMono)]
  return times.reduce((nearest, time) => (time !== null && (nearest === null || time < nearest) ? time : nearest), null)
}

/** Monotonic ms at which the time limit is reached; null: no limit, or the process is suspended. */
export function timeoutAt(process: Process): number | null {
  const { timeoutMs } = process.spec.limits
  const { since, elapsedMs } = process.clock
  return timeoutMs === undefined || since === null ? null : since + timeoutMs - elapsedMs
}

/** Monotonic ms at which the warning about the time limit is due; null: never, or it was given. */
function warningAt({ spec: { limits }, clock: { since, elapsedMs }, warned }: Process): number | null {
  const { timeoutMs, warnAt = WARN_AT } = limits
  return timeoutMs === undefined || since === null || warned?.includes('timeoutMs') ? null : since + timeoutMs * warnAt - elapsedMs
}

/**
 * Monotonic ms at which a draining pause becomes a freeze; null: never. A stopping daemon freezes nothing: the user
 * decides how long to wait.
 */
export function freezeAt(process: Process): number | null {
  const { life, clock } = process
  if (life.state !== 'running' || life.drained || clock.pausedMono === null) return null
  if (life.holds.every((hold) => hold.reason === 'daemon-shutdown')) return null
  return clock.pausedMono + DRAIN_MS
}

/** Monotonic ms at which a stored answer is delivered; null: there is none, or it is delivered at the end of the pause. */
function deliveryAt(process: Process): number | null {
  const { life, asks = [] } = process
  if (life.state !== 'running' || life.holds.length > 0 || isEnding(process)) return null
  const times = asks.flatMap(({ answer }) => answer?.delivery?.dueMono ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

/** The nearest deadline in wall ms; null: none. The wall clock may jump, so the daemon checks it regularly. */
export function wallDeadlineOf({ uuid, life }: Process): number | null {
  if (life.state !== 'running' || life.stopping) return null
  const times = life.holds.flatMap((hold) => wakeTimeOf(uuid, hold) ?? [])
  return times.length === 0 ? null : Math.min(...times)
}
