// Adding a hold to a process: what it means for its driver and for the family.
// Owns the facts and the effects of that; who takes a hold away again is pausing.ts. Test: test/tables/pausing.test.ts.
import { CAPABILITIES, isExternal } from './capabilities.ts'
import { sameHold } from './holds.ts'
import { livingAncestors } from './tree.ts'
import type { Hold, Process, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** Adds a hold to a running process; the same hold twice is one. True if it is new. */
export function hold(work: Work, uuid: Uuid, added: Hold, freeze: boolean): boolean {
  const process = work.need(uuid)
  if (process.life.state !== 'running') return false
  const known = process.life.holds.some((other) => sameHold(other, added))
  if (known && !freeze) return false
  const first = process.life.holds.length === 0
  const held = known ? process : work.emit(uuid, { type: 'process.held', hold: added, mono: work.now.mono })
  if (first) tellAncestors(work, held, { suspended: true, reason: added.reason, by: added.by })
  pauseDriver(work, held, freeze, first)
  return !known
}

function pauseDriver(work: Work, process: Process, freeze: boolean, first: boolean): void {
  const { life } = process
  if (life.state !== 'running' || !life.attached || !(first || freeze)) return
  const idle = life.activity === 'ready'
  if (idle && !life.drained) work.emit(process.uuid, { type: 'process.drained', inFlight: null })
  const { softPause } = CAPABILITIES[process.spec.driver]
  work.effect({ type: 'driver.pause', uuid: process.uuid, pid: process.pid, freeze: freeze || !softPause || hasNothingToDrain(process) })
}

/** An agent of others that waits for a message or an answer gets none while it is held: it is frozen, so that it burns nothing. */
export function hasNothingToDrain({ spec, life }: Process): boolean {
  return isExternal(spec) && life.state === 'running' && (life.activity === 'ready' || life.activity === 'waiting')
}

type FamilyNews = { readonly suspended: true; readonly reason: string; readonly by: Sender } | { readonly suspended: false; readonly by: Sender }

export function tellAncestors(work: Work, process: Process, news: FamilyNews): void {
  for (const ancestor of livingAncestors(work, process)) {
    if (news.suspended) work.emit(ancestor.uuid, { type: 'child.suspended', child: process.uuid, reason: news.reason, by: news.by })
    else work.emit(ancestor.uuid, { type: 'child.resumed', child: process.uuid, by: news.by })
  }
}
