// Whether a row counts among what needs the user, on the page and in `reeve ps --watch`. Pure. Test: test/tables/faces/attention.test.ts.
import type { RowView } from '../api/views/rows.ts'

/** the attention of an unseen end that needs nothing else */
const ENDED_WELL = 1

/** Whether the process needs the user now. Good ends do not count, nor what is put off. `now`: the wall time of the daemon in ms. */
export function needsUser({ attention, snoozedUntil }: Pick<RowView, 'attention' | 'snoozedUntil'>, now: number): boolean {
  return attention > ENDED_WELL && !isPutOff({ snoozedUntil }, now)
}

/** Whether a row or a need is put off now. `now`: the wall time of the daemon in ms. */
export function isPutOff({ snoozedUntil }: Pick<RowView, 'snoozedUntil'>, now: number): boolean {
  return snoozedUntil !== null && Date.parse(snoozedUntil) > now
}
