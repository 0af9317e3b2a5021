// Records when a daemon starts and ends, so that the next start detects a crash. A crash is a start without an orderly end. Also keeps the
// last trusted wall time, and the time up to which ends count as seen. Knows nothing about processes.
// Test: test/tables/store/daemon-runs.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { readMeta, writeMeta } from './meta.ts'

/** Names of the rows with the wall times of the last crashes, newest first. */
const CRASH_ROWS = ['died1', 'died2', 'died3'] as const
/** Name of the row with the start time of the running daemon; its value is 0 after an orderly end. */
const RUN_ROW = 'life'
/** Name of the row with the last wall time at which the clock was known to be right. */
const TRUSTED_ROW = 'trusted'

/** Name of the row with the wall time up to which the ends of processes count as seen. */
const SEEN_ROW = 'seen'

/**
 * Returns the wall time up to which the ends of processes count as seen. An older version recorded nothing about that. So all ends before
 * the first start of this version count as seen; else `reeve needs` would list a week of them. `at`: the time of this start, in ms. The
 * caller must not have recorded the start yet.
 */
export function seenUntil(db: DatabaseSync, at: number): number {
  const known = readMeta(db, SEEN_ROW)
  if (known !== null) return known
  const hasRunBefore = readMeta(db, RUN_ROW) !== null
  const until = hasRunBefore ? at : 0
  writeMeta(db, [[SEEN_ROW, until]])
  return until
}

/** Records the start of a daemon. Returns the wall times in ms at which crashes were detected, newest first, at most three. */
export function beginRun(db: DatabaseSync, at: number): readonly number[] {
  const known = CRASH_ROWS.map((name) => readMeta(db, name) ?? 0).filter((time) => time > 0)
  const crashes = ((readMeta(db, RUN_ROW) ?? 0) > 0 ? [at, ...known] : known).slice(0, CRASH_ROWS.length)
  writeMeta(db, [[RUN_ROW, at], ...CRASH_ROWS.map((name, index): [string, number] => [name, crashes[index] ?? 0])])
  return crashes
}

/** Returns the last trusted wall time in ms; null if there is none. */
export function trustedTime(db: DatabaseSync): number | null {
  return readMeta(db, TRUSTED_ROW)
}

/** Records a wall time in ms at which the clock was known to be right. */
export function trustTime(db: DatabaseSync, at: number): void {
  writeMeta(db, [[TRUSTED_ROW, at]])
}

/** Records the orderly end of the daemon. */
export function endRun(db: DatabaseSync): void {
  writeMeta(db, [[RUN_ROW, 0]])
}
