// The release order at the end of an incarnation: each step once, whoever comes first.
// Owns the order; `terminate` does the first half with the exit, `reap` the second when the driver has ended.
// 0 orphans · 1 cancel · 2 await · 3 channel · 4 context · 5 zombie → dead · 6 the row leaves the live table.
// Test: test/tables/release.test.ts.
import { mayComeBack, pausesToKeep } from './children.ts'
import { closeReserved } from './closing.ts'
import { orphan, settleUp } from './payers.ts'
import { isLiving } from './status.ts'
import type { ReleaseAction } from './effects.ts'
import type { ExitStatus, Process } from './types.ts'
import type { Work } from './work.ts'

/** Running → zombie. A wish to stop that was recorded before is the cause, whatever came after. */
export function terminate(work: Work, process: Process, cause: ExitStatus): void {
  const { life } = process
  if (life.state === 'created') work.emit(process.uuid, { type: 'process.started', mono: work.now.mono, attached: false, containment: null })
  else if (life.state !== 'running') return
  const exit = lastWord(process, life.state === 'running' ? (life.stopping?.exit ?? cause) : cause)
  const attached = life.state === 'running' && life.attached
  closeReserved(work, process.uuid)
  orphan(work, process)
  const holds = pausesToKeep(process, exit)
  work.emit(process.uuid, { type: 'process.exited', exit, mono: work.now.mono, ...(holds.length > 0 ? { holds } : {}), ...settleUp(work, process.uuid) })
  tellParent(work, process, exit)
  if (attached) act(work, process, 'cancel', 'await')
  else reap(work, process)
}

/** A person had said that it is to end, and it had put that off: whatever it ended by, nothing brings it back. */
function lastWord(process: Process, exit: ExitStatus): ExitStatus {
  const { signals: { pending }, spec } = process
  const isAsked = pending.some(({ signal, by }) => by === 'user' && (signal === 'SIGTERM' || (signal === 'SIGINT' && !spec.interactive)))
  if (!isAsked || (exit.resumeAt === undefined && !mayComeBack(process))) return exit
  const { resumeAt: _, ...said } = exit
  return { ...said, cause: 'person' }
}

/** A zombie of which something lives: `released` comes when it has ended, or names it again. */
export function awaitEnd(work: Work, process: Process): void {
  act(work, process, 'await')
}

/** Zombie → dead, after everything is released. */
export function reap(work: Work, process: Process): void {
  act(work, process, 'channel', 'context')
  work.emit(process.uuid, { type: 'process.reaped', ...settleUp(work, process.uuid) })
  act(work, process, 'remove')
  work.news.push({ type: 'ended', uuid: process.uuid })
}

function tellParent(work: Work, process: Process, exit: ExitStatus): void {
  const parent = process.parent === null ? undefined : work.get(process.parent)
  if (!parent || !isLiving(parent)) return
  work.emit(parent.uuid, { type: 'child.exited', child: process.uuid, childPid: process.pid, code: exit.code, reason: exit.reason })
}

function act(work: Work, process: Process, ...actions: readonly ReleaseAction[]): void {
  for (const action of actions) work.effect({ type: 'release', action, uuid: process.uuid, pid: process.pid })
}
