// Locks of git that were left by one that was killed: git never removes them, and refuses all that needs them from then on.
// Owns when one counts as left: it is the same for a while, where nobody but reeve, one call after another, takes it.
// Must never remove a lock of the user's own index, branches or configuration. Test: test/processes/crew-git.test.ts.
import { rm, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'

/** A git that lives holds one of these for milliseconds. */
const LOCK_MS = 10_000
const LOOK_MS = 100
/** What git says of a ref under our own names. */
const OWN_REF = /Unable to create '([^\n]*\/refs\/(?:heads\/)?reeve\/[^\n]*\.lock)': File exists/

/** Waits until these are gone; removes one that stays as it is. */
export async function unlock(locks: readonly string[], lockMs = LOCK_MS): Promise<void> {
  for (const lock of locks) {
    const first = await seen(lock)
    for (let waited = 0; first !== null && (await seen(lock)) === first; waited += LOOK_MS) {
      if (waited >= lockMs) await rm(lock, { force: true })
      else await setTimeout(LOOK_MS)
    }
  }
}

/** The lock that a complaint of git is about, where it is one of our own refs. */
export function ownLockIn(complaint: string): string | null {
  return OWN_REF.exec(complaint)?.[1] ?? null
}

/** Which one is there; null if none is. */
async function seen(lock: string): Promise<string | null> {
  return stat(lock, { bigint: true }).then(({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`, () => null)
}
