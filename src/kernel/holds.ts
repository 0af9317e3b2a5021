// Holds: the named reasons why a process is paused; it is paused while it has one.
// Owns which reasons a person's resume removes: the others need their cause gone. Test: test/tables/holds.test.ts.
import type { Hold, HoldReason, Sender } from './types.ts'

/** true: a person's word is enough; false: the cause must be gone (more budget, free disk, keys). */
export const RELEASABLE: Readonly<Record<HoldReason, boolean>> = {
  user: true,
  subtree: true,
  'rate-limit': true,
  loop: true,
  breaker: true,
  supervisor: true,
  'daemon-shutdown': true,
  'daemon-crash': true,
  // a person's resume is another try: it is held again if the context still does not fit
  'context-full': true,
  budget: false,
  'disk-full': false,
  credentials: false,
}

/** The same holder with the same reason is one hold, however often it asks. */
export function sameHold(a: Hold, b: Hold): boolean {
  return a.reason === b.reason && a.root === b.root && a.by === b.by
}

/** A person may remove what a person's word is enough for; all others only what they added themselves. */
export function mayRelease(by: Sender, hold: Hold): boolean {
  return by === 'user' ? RELEASABLE[hold.reason] : hold.by === by
}

/** What a resume of an ancestor or descendant wakes on the way up. */
export function isPersonHold(hold: Hold): boolean {
  return hold.reason === 'user' || hold.reason === 'subtree'
}
