// Detects that the daemons of this home crash repeatedly, which may be caused by processes that each of them restarts. Three daemons
// without an orderly end within ten minutes are a crash loop. Test: test/processes/daemon/supervision-crash.test.ts.
import type { LocalStore } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'

/** After this number of crashes within `WINDOW_MS`, processes that would restart automatically are held. */
const MAX_CRASHES = 3
const WINDOW_MS = 600_000

export interface CrashLoopDeps {
  readonly local: Pick<LocalStore, 'beginRun' | 'endRun'>
  readonly clock: Clock
  readonly log: (message: string, error: unknown) => void
}

/**
 * Records the start of this daemon, and defers the record of its end to the stack. Returns true if the daemons of this home are in a
 * crash loop; false also if the record cannot be written.
 */
export async function detectCrashLoop({ local, clock, log }: CrashLoopDeps, stack: AsyncDisposableStack): Promise<boolean> {
  const at = clock.now().wall
  try {
    const crashes = await local.beginRun(at)
    stack.defer(() => local.endRun().catch((error: unknown) => log('the end of the daemon could not be written', error)))
    const oldest = crashes[MAX_CRASHES - 1]
    if (oldest === undefined || oldest <= at - WINDOW_MS) return false
    log(
      `${MAX_CRASHES} daemons died within ${WINDOW_MS / 60_000} minutes: processes that would restart by themselves are held (daemon-crash)`,
      null,
    )
    return true
  } catch (error) {
    log('the start of the daemon could not be written', error)
    return false
  }
}
