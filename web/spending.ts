// What is spent per minute now, together and by tree, for all parts that show it. It is read again while the page is visible.
// Test: test/e2e/web/fleet.test.ts.
import { signal } from '@preact/signals'
import type { UsageRateView } from '../src/api/views/usage.ts'
import { callApi } from './session-api.ts'
import { isStale, session } from './connection-state.ts'

const INTERVAL_MS = 10_000

/** null: not known, or this session may not know it */
export const spending = signal<UsageRateView | null>(null)

/** A session of one subtree, or one without inputs or results, may not read what the others spend. */
function mayRead(): boolean {
  const opened = session.peek()
  return typeof opened !== 'string' && opened.session.only === null && !opened.session.redact
}

async function read(): Promise<void> {
  if (document.hidden || isStale.peek() || !mayRead()) return
  try {
    spending.value = await callApi<UsageRateView>('/v1/usage/rate')
  } catch {
    // The page works without these figures: they are not shown until the next read succeeds.
    spending.value = null
  }
}

/** Reads from now on, and at once when the link opens or the tab is shown again. */
export function followSpending(): void {
  setInterval(() => void read(), INTERVAL_MS)
  addEventListener('visibilitychange', () => void read())
  isStale.subscribe((stale) => {
    if (!stale) void read()
  })
}

/** USD per minute over the last five minutes, of the tree whose root is this process; null: not known. */
export function perMinuteOf(root: string): number | null {
  const tree = spending.value?.trees.find((one) => one.root.uuid === root)
  return tree === undefined ? null : perMinute(tree.rates)
}

/** USD per minute, over the last five minutes. */
export function perMinute(rates: UsageRateView['total']): number {
  return rates.find(({ minutes }) => minutes === 5)?.costUsd ?? 0
}
