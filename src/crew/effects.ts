// What becomes of a worker's task, phase, queue and files when somebody takes it away: one table of actions. Owns how a task goes
// back, is closed or handed to another, and what its workers and the coordinator are told of it.
// Must never leave a phase behind that nobody ends. Test: test/tables/crew-machines.test.ts.
import { coordinatorToTell, holderOf, named } from './finding.ts'
import { isClosed } from './tasks.ts'
import type { CrewWork } from './crew-work.ts'
import type { Member, MemberId, Task } from './types.ts'
import type { Sender } from '../kernel/types.ts'

export type Action = 'retire' | 'replace' | 'stop' | 'cancel' | 'pause' | 'lose'

interface Effect {
  readonly task: 'back' | 'successor' | 'unchanged'
  readonly phase: 'idle' | 'successor' | 'unchanged'
  readonly queue: 'returned' | 'successor' | 'kept'
  readonly files: 'removed' | 'successor' | 'kept' | 'reset' | 'unchanged'
  /** it counts as a try of the task, unless a person wanted it so */
  readonly counts: boolean
}

/** Whatever is removed or reset is salvaged to a ref first. */
export const EFFECTS: { readonly [A in Action]: Effect } = {
  retire: { task: 'back', phase: 'idle', queue: 'returned', files: 'removed', counts: false },
  replace: { task: 'successor', phase: 'successor', queue: 'successor', files: 'successor', counts: false },
  stop: { task: 'back', phase: 'idle', queue: 'kept', files: 'kept', counts: false },
  cancel: { task: 'back', phase: 'idle', queue: 'kept', files: 'reset', counts: false },
  pause: { task: 'unchanged', phase: 'unchanged', queue: 'kept', files: 'unchanged', counts: false },
  lose: { task: 'back', phase: 'idle', queue: 'kept', files: 'kept', counts: true },
}

/** What it held goes back, for a reason. What a lost one had approved stays so, and is committed from its files. What a person ended is no try. */
export function giveBack(work: CrewWork, member: Member, action: 'retire' | 'stop' | 'lose', reason: string, byPerson = false): void {
  const task = work.task(member.task)
  if (!task || EFFECTS[action].task !== 'back') return
  if (task.reviewer === member.id && member.phase === 'reviewing') return unreview(work, task, reason, byPerson)
  if (action === 'lose' && task.prepared && outlives(task)) return
  // A successor that has no files yet leaves those of its predecessor.
  const whose = task.prepared ? member.id : member.heirOf
  requeue(work, task, { reason, counts: EFFECTS[action].counts && !byPerson, without: member.id })
  if (action === 'lose' && whose !== null && work.spec.git) work.job({ type: 'salvage', member: whose, task: task.id })
}

/** It waits for a yes or for its commit: that needs its files, and nobody who wrote them. */
function outlives({ state }: Task): boolean {
  return state === 'approved' || state === 'waiting' || state === 'committing'
}

interface Back {
  readonly reason: string
  /** it was a try */
  readonly counts: boolean
  /** who need not be told */
  readonly without?: MemberId
}

/** Back to the crew's queue; with the last of its tries it has failed. */
export function requeue(work: CrewWork, task: Task, { reason, counts, without }: Back): void {
  withdraw(work, task, `${named(task)} went back to the queue: ${reason}`, without)
  uncommit(work, task)
  work.emit({ type: 'task.requeued', task: task.id, reason, counts })
  const now = work.needTask(task.id)
  const { attempts } = now
  if (counts && attempts >= work.spec.maxAttempts) fail(work, now, `${attempts === 1 ? 'its only try' : `all ${attempts} tries`} failed; the last: ${reason}`)
  else tell(work, `${named(task)} is back in the queue (${attempts} of ${work.spec.maxAttempts} tries failed): ${reason}`, task)
}

export function fail(work: CrewWork, task: Task, reason: string): void {
  close(work, task, { type: 'task.failed', task: task.id, reason }, `${named(task)} failed: ${reason}`)
  work.act({ type: 'notify', text: `${named(task)} failed: ${reason}` })
}

export function close(work: CrewWork, task: Task, fact: Extract<Parameters<CrewWork['emit']>[0], { type: 'task.done' | 'task.failed' | 'task.cancelled' }>, text: string): void {
  withdraw(work, task, text)
  uncommit(work, task)
  work.emit(fact)
  tell(work, text, task)
}

/** Its commit is over, one way or another: its worker may be stopped and paused again. */
export function uncommit(work: CrewWork, task: Task): void {
  const holder = holderOf(work.crew, task)
  if (task.state === 'committing' && holder?.state === 'on') work.act({ type: 'mask', member: holder.id, on: false })
}

/** Whoever works on it hears that there is no more to do, and nobody has to answer for it. */
function withdraw(work: CrewWork, task: Task, text: string, without?: MemberId): void {
  if (task.ask) work.act({ type: 'unask', task: task.id, id: task.ask.id })
  // Who is done with it hears of it in other ways.
  if (task.state === 'committing' || task.state === 'merging' || isClosed(task)) return
  for (const member of work.crew.members) {
    if (member.task !== task.id || member.state !== 'on' || member.id === without) continue
    // It never heard of it, or has nothing to do for it.
    if (member.phase === 'awaiting_review' || !(member.phase === 'reviewing' ? task.briefed : task.prepared)) continue
    if (member.turn.open !== null && member.turn.phase === member.phase) work.act({ type: 'interrupt', member: member.id })
    work.send(member.id, { from: 'system', task: task.id, text: `${text}. Stop working on it; what you have not committed is kept, and your files are made clean for the next task.` })
  }
}

/** The reviewer is free; the task waits for another. */
export function unreview(work: CrewWork, task: Task, reason: string, byPerson = false): void {
  const member = task.reviewer
  if (member === null) return
  work.emit({ type: 'task.unreviewed', task: task.id, member, reason, ...(byPerson ? { by: 'user' } : {}) })
  tell(work, `${named(task)} has no verdict of ${member}: ${reason}`, task)
}

/** The coordinator, where it is an agent. What is said while there is none waits for the next one. */
export function tell(work: CrewWork, text: string, task: Task | null, from: Sender = 'system'): void {
  const coordinator = coordinatorToTell(work.crew)
  if (coordinator && !work.crew.ending) work.send(coordinator.id, { from, text, task: task?.id ?? null, kept: true })
}
