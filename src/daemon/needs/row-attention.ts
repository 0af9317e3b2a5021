// The needs of a process for its row, and how much it needs the user. Its most urgent need decides, even if it is seen or snoozed. Nothing
// here depends on the time of the request, as nothing in the stream of rows does: a reader compares the time itself. Pure.
// Tests: test/tables/daemon/needs/row-attention.test.ts, test/properties/rows.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import type { Process } from '../../kernel/model/process.ts'
import { isSeen } from '../../kernel/state/attention.ts'
import { isoTime } from '../views/format-times.ts'
import { needsOf, type Need, type NeedsContext } from './needs-of.ts'
import { RANKS } from './order.ts'

/** The end of the year 9999: later times have no date of ISO 8601 with four digits. */
const MAX_TIME_MS = 253_402_300_799_999
/** The attention of a need is this number minus its rank, so that of the least urgent rank is 1. */
const ATTENTION_BASE = RANKS.finished + 1

/** All needs of a process, the most urgent first. An end counts however long ago it was. */
export function lastingNeedsOf(process: Process, { table, mono, seenUntil = -1 }: Omit<NeedsContext, 'wall'>): readonly Need[] {
  return needsOf(process, { table, mono, wall: process.clock.exitedAt ?? 0, seenUntil })
}

/** `needs`: all needs of the process. */
export function attentionOf(process: Process, needs: readonly Need[]): Pick<RowView, 'attention' | 'unseen' | 'snoozedUntil'> {
  const [first] = needs
  if (!first) return { attention: 0, unseen: false, snoozedUntil: null }
  const { snooze } = process
  return {
    attention: ATTENTION_BASE - first.rank,
    unseen: needs.some(({ at }) => !isSeen(process, at)),
    // A need that came later is not snoozed, so the row must not be hidden.
    snoozedUntil: snooze && needs.every(({ at }) => at <= snooze.at) ? snoozeTime(snooze.until) : null,
  }
}

/** Formats the end of a snooze (wall ms) as a time of ISO 8601. */
export function snoozeTime(until: number): string {
  return isoTime(Math.min(until, MAX_TIME_MS))
}
