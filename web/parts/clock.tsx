// Times that grow while the page is open, by the daemon's clock: a wrong clock of the browser makes no difference.
// Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { elapsedAt, formatElapsed } from '../../src/faces/format.ts'
import { clockOffset } from '../rows.ts'
import { isStale, link, now } from '../connection-state.ts'

/** The time of the daemon, in ms since the epoch; grows each second. While the page is stale, the time of the last byte. */
export function daemonNow(): number {
  return (isStale.value ? (link.value.lastByteAt ?? now.value) : now.value) + clockOffset.value
}

/** The time of an end in ms since the epoch, or the present time of the daemon if it has not come. */
export function endOrNow(endedAt: string | null | undefined): number {
  return endedAt ? Date.parse(endedAt) : daemonNow()
}

/** The active time of a process. It stands still while the process is suspended. */
export function Elapsed({ row }: { readonly row: Pick<RowView, 'elapsedMs' | 'runsSince'> }): JSX.Element {
  return <>{formatElapsed(elapsedAt(row, daemonNow()))}</>
}

/** How long ago a time was, such as `3m 12s`. */
export function Since({ at }: { readonly at: string }): JSX.Element {
  return <>{formatElapsed(daemonNow() - Date.parse(at))}</>
}
