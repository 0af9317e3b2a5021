// Pausing and waking one process: what a hold and its removal mean for the driver and for the family.
// Owns when a turn begins (`settle`), which is the only place that starts one. Test: test/tables/pausing.test.ts.
import { isExternal, takesMessages } from './capabilities.ts'
import { areFilesChanged } from './crew-jobs.ts'
import { forgive, keepsChildren } from './children.ts'
import { COMPLETED } from './exit.ts'
import { hasNothingToDrain, tellAncestors } from './holding.ts'
import { noRoomFor } from './limits.ts'
import { reach } from './reaching.ts'
import { terminate } from './release.ts'
import { isLiving } from './status.ts'
import { livingAncestors } from './tree.ts'
import type { PendingSignal } from './signals.ts'
import type { PendingAsk } from './asking.ts'
import type { Hold, Process, QueuedMessage, Sender, Stopping, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** It came to a boundary while it is held: it is drained, and one of others is frozen. */
export function freezeDrained(work: Work, process: Process): void {
  const { life, uuid, pid } = process
  if (life.state !== 'running' || life.holds.length === 0 || life.drained) return
  if (life.activity === 'ready') work.emit(uuid, { type: 'process.drained', inFlight: null })
  if (hasNothingToDrain(process)) work.effect({ type: 'driver.pause', uuid, pid, freeze: true })
}

/** The hold that a SIGPAUSE adds: of the process itself, or of the subtree that was meant. */
export function pauseHold({ by, root }: Pick<PendingSignal, 'by' | 'root'>, at: number): Hold {
  return root === null ? { reason: 'user', by, at } : { reason: 'subtree', root, by, at }
}

/** Removes holds, also those that a blocked SIGPAUSE would still add. When the last is gone the process goes on where it was. True if any was there. */
export function release(work: Work, uuid: Uuid, by: Sender, which: (hold: Hold) => boolean): boolean {
  const tookBack = takeBack(work, uuid, which)
  const process = work.need(uuid)
  if (process.life.state !== 'running') return tookBack
  const gone = process.life.holds.filter(which)
  if (gone.length === 0) return tookBack
  if (gone.some(({ reason }) => reason === 'supervisor')) forgive(work, process)
  const after = work.emit(uuid, { type: 'process.released', holds: gone, by, mono: work.now.mono })
  if (after.life.state === 'running' && after.life.holds.length === 0) wake(work, after, by, process.asks)
  return true
}

function takeBack(work: Work, uuid: Uuid, which: (hold: Hold) => boolean): boolean {
  const process = work.need(uuid)
  const pending = isLiving(process) ? process.signals.pending.find((waits) => waits.signal === 'SIGPAUSE') : undefined
  if (!pending || !which(pauseHold(pending, work.now.wall))) return false
  work.emit(uuid, { type: 'signal.unpended', signal: 'SIGPAUSE' })
  return true
}

function wake(work: Work, process: Process, by: Sender, asks: Process['asks'] = []): void {
  tellAncestors(work, process, { suspended: false, by })
  if (process.life.state !== 'running' || process.life.stopping) return
  if (!process.life.attached) {
    work.effect({ type: 'start', uuid: process.uuid, pid: process.pid })
    return
  }
  work.effect({ type: 'driver.unpause', uuid: process.uuid, pid: process.pid })
  tellAnswers(work, process, asks)
  settle(work, process.uuid)
  if (keepsChildren(process)) work.news.push({ type: 'woken', uuid: process.uuid })
}

/** What a person answered while it was held. */
function tellAnswers(work: Work, { uuid, pid }: Process, asks: readonly PendingAsk[]): void {
  for (const { id, answer } of asks) {
    if (answer) work.effect({ type: 'driver.answer', uuid, pid, id, option: answer.option, text: answer.text })
  }
}

/**
 * The agent is ready: goes on with an open turn, begins the next message's, or is done. A held or stopping one waits. A member of a
 * crew does so when its crew has heard of all that was before, in the same decision: it may be given other files first.
 */
export function settle(work: Work, uuid: Uuid): void {
  if (work.need(uuid).spec.member) work.news.push({ type: 'settle', uuid })
  else settleNow(work, uuid)
}

export function settleNow(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  const { life, progress, queue } = process
  if (life.state !== 'running' || life.activity !== 'ready' || !life.attached || life.holds.length > 0) return
  // A command ends by itself, also after its turn.
  if (!takesMessages(process.spec)) return
  if (life.stopping) return settleLast(work, process, life.stopping)
  // A turn that is on began while its crew did not run, and waits for nobody: its files are changed after it.
  if (!progress.turnOpen && areFilesChanged(work, process)) return
  if (progress.turnOpen && isExternal(process.spec) && queue.some(({ urgent }) => urgent)) return putIn(work, process)
  if (progress.turnOpen) {
    work.emit(uuid, { type: 'process.working', turn: progress.turn, message: null })
    work.effect({ type: 'driver.proceed', uuid, pid: process.pid, turn: progress.turn })
    return
  }
  const next = queue[0]
  const reached = next ? noRoomFor(work, process, 'turn', work.now.mono) : null
  if (reached) reach(work, process, reached)
  else if (next) beginTurn(work, process, next)
  else if (!process.spec.interactive) terminate(work, process, COMPLETED)
}

/** It may still read that it is to wrap up; it ends with the turn in which it has. */
function settleLast(work: Work, process: Process, { wrapUp, exit }: Stopping): void {
  if (!wrapUp) return
  const message = process.queue.find(({ id }) => id === wrapUp.message)
  if (message) beginTurn(work, process, message)
  else terminate(work, process, exit)
}

/** An agent of others goes on with an open turn by a prompt: what it was told since is that prompt. */
function putIn(work: Work, process: Process): void {
  const [next] = process.queue
  if (next) takeUp(work, process, next, process.progress.turn)
}

/**
 * Puts what came with a resume, and all that waited before it, into the turn that is on. True if there was any: the model
 * call that was about to begin waits until it has been read. Nowhere else could the turn not end in the meantime.
 */
export function deliverUrgent(work: Work, { uuid, pid, life, progress: { turn }, queue }: Process): boolean {
  if (life.state !== 'running' || life.activity !== 'working') return false
  const due = queue.slice(0, queue.findLastIndex(({ urgent }) => urgent) + 1)
  for (const { id, from, seq } of due) {
    work.emit(uuid, { type: 'process.incoming', id, from, turn, queuedAt: seq })
    work.effect({ type: 'driver.deliver', uuid, pid, message: id, seq, turn })
  }
  return due.length > 0
}

function beginTurn(work: Work, process: Process, next: QueuedMessage): void {
  takeUp(work, process, next, process.progress.turn + 1)
}

/** The message is what the agent works on now, in this turn. */
function takeUp(work: Work, { uuid, pid }: Process, { id, from, seq }: QueuedMessage, turn: number): void {
  work.emit(uuid, { type: 'process.incoming', id, from, turn, queuedAt: seq })
  work.emit(uuid, { type: 'process.working', turn, message: id })
  work.effect({ type: 'driver.deliver', uuid, pid, message: id, seq, turn })
}

/** The subtree holds above it, which a child that is born under them starts with; also where who was paused put that off. */
export function inheritedHolds(work: Work, process: Process): readonly Hold[] {
  return livingAncestors(work, process).flatMap(({ life, signals }) => {
    const waits = signals.pending.filter(({ signal }) => signal === 'SIGPAUSE').map((pending) => pauseHold(pending, work.now.wall))
    return [...(life.state === 'running' ? life.holds : []), ...waits].filter((held) => held.reason === 'subtree')
  })
}
