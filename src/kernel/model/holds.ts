// Holds: the named reasons why a process is paused. A process is paused while it has at least one hold. `HOLDS` states what releases each
// hold, a resume by the user or the end of its cause, and whether it has a note. Who added a hold may release it, too. Test:
// test/tables/kernel/model/holds.test.ts.
import type { Hold, Process } from './process.ts'
import type { Sender, Uuid } from './ids.ts'
import type { PendingSignal } from './signals.ts'
import type { HoldReason } from './words.ts'

interface HoldProperties {
  /** true: a resume by the user releases the hold; false: the hold ends with its cause, such as a full disk */
  readonly isReleasable: boolean
  /** the hold is recorded with a note about its cause; `crew`: a crew also reports that note to its coordinator */
  readonly hasNote: boolean | 'crew'
}

export const HOLDS: Readonly<Record<HoldReason, HoldProperties>> = {
  user: { isReleasable: true, hasNote: false },
  subtree: { isReleasable: true, hasNote: false },
  'rate-limit': { isReleasable: true, hasNote: false },
  loop: { isReleasable: true, hasNote: 'crew' },
  breaker: { isReleasable: true, hasNote: 'crew' },
  supervisor: { isReleasable: true, hasNote: true },
  'daemon-shutdown': { isReleasable: true, hasNote: false },
  'daemon-crash': { isReleasable: true, hasNote: false },
  // After a resume by the user the process is held again if its context still does not fit.
  'context-full': { isReleasable: true, hasNote: false },
  budget: { isReleasable: false, hasNote: true },
  'disk-full': { isReleasable: false, hasNote: false },
  credentials: { isReleasable: false, hasNote: true },
}

/** The hold that a SIGPAUSE adds: `user` for a single process, `subtree` for a signalled subtree. */
export function pauseHold({ by, root }: Pick<PendingSignal, 'by' | 'root'>, at: number): Hold {
  return root === null ? { reason: 'user', by, at } : { reason: 'subtree', root, by, at }
}

/** True if the process has a hold with this reason. */
export function isHeldFor({ life }: Process, reason: HoldReason): boolean {
  return life.state === 'running' && life.holds.some((hold) => hold.reason === reason)
}

/** True for a hold that is recorded with a note about its cause. The note is cleared with the hold. */
export function isRecordedWithNote(reason: HoldReason): boolean {
  return HOLDS[reason].hasNote !== false
}

/** True for holds with the same reason, root and sender; they count as one hold. */
export function isSameHold(a: Hold, b: Hold): boolean {
  return a.reason === b.reason && a.root === b.root && a.by === b.by
}

/** The user may release every releasable hold; other senders only holds that they added. */
export function mayRelease(by: Sender, hold: Hold): boolean {
  return by === 'user' ? HOLDS[hold.reason].isReleasable : hold.by === by
}

/** True when a SIGRESUME releases the hold of process `uuid`. Below the root of a signalled subtree it releases only holds of that root. */
export function isReleasedBy({ by, root }: { readonly by: Sender; readonly root: Uuid | null }, hold: Hold, uuid: Uuid): boolean {
  const isBelowRoot = root !== null && root !== uuid
  return mayRelease(by, hold) && (!isBelowRoot || (hold.reason === 'subtree' && hold.root === root))
}

/** True for a pause by `SIGPAUSE`. A resume by the user releases such holds from the ancestors, too. */
export function isPauseHold(hold: Hold): boolean {
  return hold.reason === 'user' || hold.reason === 'subtree'
}
