// How old the last byte of the daemon is. Never says that the page is live because a connection is open. Test: test/e2e/web/page.test.ts.
import type { JSX } from 'preact'
import { link, now } from '../store.ts'

/** the daemon sends something at least so often, in ms; after twice that time the page is stale */
const ALIVE_MS = 2_500
const STALE_MS = 2 * ALIVE_MS

/** Whether what is shown may be out of date. */
export function isStale(): boolean {
  const { state, lastByteAt } = link.value
  return state !== 'open' || lastByteAt === null || now.value - lastByteAt > STALE_MS
}

export function Freshness(): JSX.Element {
  const { state, lastByteAt } = link.value
  const age = lastByteAt === null ? null : Math.max(0, Math.round((now.value - lastByteAt) / 1_000))
  const heard = age === null ? 'nothing heard yet' : `last heard of ${age} s ago`
  const text = state === 'lost' ? `the daemon does not answer · ${heard} · tries again` : heard
  return (
    <span class={isStale() ? 'freshness stale' : 'freshness'} role="status" data-link={state}>
      {text}
    </span>
  )
}
