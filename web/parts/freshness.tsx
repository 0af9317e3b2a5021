// How old the last byte of the daemon is, and whether another program answers in its place. An open connection alone never counts as fresh.
// Test: test/e2e/web/page.test.ts, test/e2e/web/process.test.ts, test/e2e/web/access/return.test.ts.
import type { JSX } from 'preact'
import { formatClock } from '../../src/faces/format.ts'
import { shownCursor } from '../rows.ts'
import { isStale, link, now } from '../connection-state.ts'

export function Freshness(): JSX.Element {
  const { state, lastByteAt } = link.value
  const age = lastByteAt === null ? null : Math.max(0, Math.round((now.value - lastByteAt) / 1_000))
  const silent = age === null ? 'no answer yet' : `no answer for ${age} s`
  const text =
    state === 'lost'
      ? silent
      : state === 'foreign'
        ? `another program answers · ${silent}`
        : age === null
          ? 'nothing heard yet'
          : `heard from the daemon ${age} s ago`
  return (
    <span class={isStale.value ? 'freshness stale' : 'freshness'} data-link={state} data-cursor={shownCursor.value}>
      {text}
    </span>
  )
}

/** States how old the shown data is, while the daemon does not answer. */
export function StaleBar(): JSX.Element | null {
  const { state, lastByteAt } = link.value
  if (!isStale.value || state === 'opening' || lastByteAt === null) return null
  const was = `This is how it was at ${formatClock(new Date(lastByteAt).toISOString(), lastByteAt)}.`
  if (state === 'foreign')
    return (
      <p class="stale-bar" role="alert">
        Another program answers at {location.host}, not the daemon. The page sent it no secret; do not enter any here. {was} If it stays so,
        close this page: <code>reeve web</code> opens a new one at another port.
      </p>
    )
  return (
    <p class="stale-bar" role="status">
      The page was closed, or the daemon does not answer. {was} Any <code>reeve</code> command starts the daemon, and the page goes on by
      itself; do not reload it. After <code>reeve web --stop</code> or <code>reeve daemon stop</code>, <code>reeve web</code> opens a new
      page.
    </p>
  )
}
