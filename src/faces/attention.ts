// Whether a process needs the user, has an end that the user has not seen, or is snoozed: for the page, `reeve top` and `reeve ps --watch`.
// Pure. Test: test/tables/faces/attention.test.ts.
import type { RowView } from '../api/views/rows.ts'

/** the `attention` of a process that has ended well, which the user has not seen */
const ENDED_WELL = 1

/** Whether the process needs the user now. It does not if it has ended well or is snoozed. `now`: the wall time of the daemon in ms. */
export function needsUser({ attention, snoozedUntil }: Pick<RowView, 'attention' | 'snoozedUntil'>, now: number): boolean {
  return attention > ENDED_WELL && !isSnoozed({ snoozedUntil }, now)
}

/** Whether the process has ended, and the user has not seen that yet. */
export function isUnseenEnd({ unseen, endedAt }: Pick<RowView, 'unseen' | 'endedAt'>): boolean {
  return unseen && endedAt !== null
}

/** Whether a process or a need is snoozed now. `now`: the wall time of the daemon in ms. */
export function isSnoozed({ snoozedUntil }: Pick<RowView, 'snoozedUntil'>, now: number): boolean {
  return snoozedUntil !== null && Date.parse(snoozedUntil) > now
}
