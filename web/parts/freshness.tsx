// How old the last byte of the daemon is. Never says that the page is live because a connection is open. Test: test/e2e/web/page.test.ts,
// test/e2e/web/process.test.ts.
import type { JSX } from 'preact'
import { formatClock } from '../../src/faces/format.ts'
import { isStale, link, now } from '../store.ts'

export function Freshness(): JSX.Element {
  const { state, lastByteAt } = link.value
  const age = lastByteAt === null ? null : Math.max(0, Math.round((now.value - lastByteAt) / 1_000))
  const heard = age === null ? 'nothing heard yet' : `last heard of ${age} s ago`
  const text = state === 'lost' ? `the daemon does not answer · ${heard} · tries again` : heard
  return (
    <span class={isStale.value ? 'freshness stale' : 'freshness'} data-link={state}>
      {text}
    </span>
  )
}

/** States of what time the page is, while the daemon does not answer. */
export function StaleBar(): JSX.Element | null {
  const { state, lastByteAt } = link.value
  if (!isStale.value || state === 'opening' || lastByteAt === null) return null
  return (
    <p class="stale-bar" role="status">
      The daemon does not answer. This is how it was at {formatClock(new Date(lastByteAt).toISOString(), lastByteAt)}. If the daemon has
      ended, <code>reeve web</code> starts it and opens a new page.
    </p>
  )
}
