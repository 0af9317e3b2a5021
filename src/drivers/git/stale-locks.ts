// Removes locks that a killed git left: git never removes them, and every later call that needs them fails. A lock counts as left when it
// has not changed for a while, because a running git releases it sooner. The callers name only locks that
// reeve's git calls made, never those of the user's own index, branches or configuration. Test: test/processes/crew/git.test.ts.
import { rm, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'

/** A lock that does not change for this time counts as left. A running git holds such a lock for milliseconds. */
const LOCK_MS = 10_000
const POLL_MS = 100
/** Matches git's message about a locked ref of reeve. */
const OWN_REF = /Unable to create '([^\n]*\/refs\/(?:heads\/)?reeve\/[^\n]*\.lock)': File exists/

/** Waits until each lock is gone, or was replaced by another one. Removes a lock that does not change for `lockMs`. */
export async function clearStaleLocks(locks: readonly string[], lockMs = LOCK_MS): Promise<void> {
  for (const lock of locks) {
    const first = await identityOf(lock)
    for (let waitedMs = 0; first !== null && (await identityOf(lock)) === first; waitedMs += POLL_MS) {
      if (waitedMs >= lockMs) await rm(lock, { force: true })
      else await setTimeout(POLL_MS)
    }
  }
}

/** Returns the path of the lock of one of reeve's refs in git's error message; null if there is none. */
export function ownLockIn(message: string): string | null {
  return OWN_REF.exec(message)?.[1] ?? null
}

/** Returns a text that identifies the current lock; null if there is no lock. */
async function identityOf(lock: string): Promise<string | null> {
  return stat(lock, { bigint: true }).then(
    ({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`,
    () => null,
  )
}
