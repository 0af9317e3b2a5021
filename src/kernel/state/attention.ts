// Which needs of a process the user has seen or put off. A need is an ask, a hold, an end or a liveness problem, with the time at which it
// began. Test: test/tables/kernel/state/attention.test.ts.
import type { Process } from '../model/process.ts'

type Attended = Pick<Process, 'seenAt' | 'snooze'>

/** Wall ms of the newest need of a process, whether or not the user has seen it; -1: it never had one. */
export function newestNeedAt({ asks = [], life, clock, liveness }: Process): number {
  const holds = life.state === 'running' ? life.holds : []
  return Math.max(-1, ...[...asks, ...holds].map(({ at }) => at), clock.exitedAt ?? -1, liveness?.since ?? -1)
}

/** Whether the user has seen a need that began at this time. */
export function isSeen({ seenAt = -1 }: Attended, at: number): boolean {
  return at <= seenAt
}

/** Wall ms until which a need that began at `at` is put off; null: it is not put off, or the time is over. */
export function snoozedUntil({ snooze }: Attended, at: number, now: number): number | null {
  return snooze && at <= snooze.at && now < snooze.until ? snooze.until : null
}
