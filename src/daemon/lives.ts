// Whether daemons of this home die again and again: then the cause may be what they bring back by themselves.
// Owns how often is too often, and that an orderly end is written. Test: test/processes/supervision-crash.test.ts.
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'

/** So many deaths within this time, in ms, and what would come back by itself is held. */
const DEATHS = 3
const WINDOW_MS = 600_000

export interface LivesParts {
  readonly store: Pick<Store, 'beginLife' | 'endLife'>
  readonly clock: Clock
  readonly log: (message: string, error: unknown) => void
}

/** Notes the start, and on the stack the end. True: it has died too often. A disk without room says nothing about that. */
export async function beginLife({ store, clock, log }: LivesParts, stack: AsyncDisposableStack): Promise<boolean> {
  const at = clock.now().wall
  try {
    const deaths = await store.beginLife(at)
    stack.defer(() => store.endLife().catch((error: unknown) => log('the end of the daemon could not be written', error)))
    const oldest = deaths[DEATHS - 1]
    if (oldest === undefined || oldest <= at - WINDOW_MS) return false
    log(`${DEATHS} daemons died within ${WINDOW_MS / 60_000} minutes: what would come back by itself is held (daemon-crash)`, null)
    return true
  } catch (error) {
    log('the start of the daemon could not be written', error)
    return false
  }
}
