// Resume: wakes a suspended process and the chain above it, or builds a new incarnation of an ended one from its row.
// Owns which holds a person's word removes, and what each driver can go on from. No state transition happens here:
// a new incarnation begins at `created`. Test: test/tables/resuming.test.ts.
import { KernelError } from './errors.ts'
import { changeLimits, hasRoom, isHeldByBudget } from './budgets.ts'
import { goesOnFrom, isPlainCommand, takesMessages } from './capabilities.ts'
import { changedLimits } from './limits.ts'
import { forgive, keepsChildren } from './children.ts'
import { isPersonHold, mayRelease } from './holds.ts'
import { continueObstacle, doneObstacle } from './modes.ts'
import { release } from './pausing.ts'
import { checkReviver, permitted } from './permitting.ts'
import { askAgain, findParent, letBegin, waitsForRestart } from './restarting.ts'
import { checkName, checkRoom, enqueue } from './spawning.ts'
import { isLiving, isSuspended } from './status.ts'
import { livingAncestors, livingSubtree } from './tree.ts'
import type { InputOf } from './inputs.ts'
import type { Hold, Process, ProcessSpec, Sender } from './types.ts'
import type { Work } from './work.ts'

type Resume = InputOf<'resume'>

export function resume(work: Work, input: Resume): void {
  const process = work.get(input.uuid) ?? input.frozen
  if (!process) throw new KernelError('NOT_FOUND', `no process ${input.uuid}`)
  checkReviver(work, input.by, process, input.subtree)
  if (process.life.state === 'running' && process.life.stopping) throw new KernelError('INVALID', `process ${process.pid} is stopping`)
  if (input.message) checkTakesMessage(process, input)
  if (isSuspended(process)) wakeUp(work, process, input)
  else if (isLiving(process)) alreadyRuns(work, process, input)
  else reincarnate(work, process, input)
}

/** A command is told by its command line, once: when it goes on with its session. */
function checkTakesMessage(process: Process, { rerun }: Resume): void {
  const { spec, life } = process
  if (takesMessages(spec)) return
  if (keepsChildren(process)) throw new KernelError('INVALID', `a ${spec.driver} takes no messages`)
  if (isPlainCommand(spec)) throw new KernelError('INVALID', 'a plain command takes no messages')
  if (life.state === 'running' && life.attached) throw new KernelError('INVALID', `process ${process.pid} takes no message before it has ended`)
  if (rerun || goesOnFrom(process) === 'rerun') throw new KernelError('INVALID', `process ${process.pid} takes a message only where it goes on with its session`)
  if (process.queue.length > 0) throw new KernelError('INVALID', `process ${process.pid} has a message for its next start already`)
}

function alreadyRuns(work: Work, process: Process, input: Resume): void {
  if (input.message || input.spec) throw new KernelError('INVALID', `process ${process.pid} runs: it takes messages by \`send\`, and no overrides`)
  if (input.limits) throw new KernelError('INVALID', `process ${process.pid} runs: its limits can be changed when it is suspended or has ended`)
  let affected = release(work, process.uuid, input.by, (hold) => mayRelease(input.by, hold)) ? 1 : 0
  if (input.subtree) affected += releaseBelow(work, process, input.by)
  affected += beginNow(work, process)
  done(work, input, process, affected, affected === 0 ? 'it was not suspended' : null)
}

/** Whoever asks waits for no backoff. */
function beginNow(work: Work, { uuid }: Process): number {
  const process = work.need(uuid)
  if (!waitsForRestart(process)) return 0
  letBegin(work, process, 0)
  return 1
}

function wakeUp(work: Work, process: Process, input: Resume): void {
  if (input.spec) throw new KernelError('INVALID', 'overrides need an ended process: stop it first')
  if (input.message) enqueue(work, process.uuid, { id: input.message.id, from: input.by, text: input.message.text, urgent: true })
  let affected = raise(work, process, input) ? 1 : 0
  if (release(work, process.uuid, input.by, (hold) => mayRelease(input.by, hold))) affected = 1
  if (input.by === 'user' && !input.only) affected += wakeAncestors(work, process, input.by)
  if (input.subtree) affected += releaseBelow(work, process, input.by)
  done(work, input, process, affected, stillHeld(work, process))
}

/** More room, be it by its own limits or by those above it, ends the hold that a person alone cannot wish away. True if it did. */
function raise(work: Work, { uuid }: Process, { limits, by }: Resume): boolean {
  const before = work.need(uuid)
  if (limits) changeLimits(work, before, limits, by)
  const after = work.need(uuid)
  if (by === 'user' && isHeldByBudget(after) && hasRoom(work, after)) release(work, uuid, by, ({ reason }) => reason === 'budget')
  return isHeldByBudget(before) && !isHeldByBudget(work.need(uuid))
}

function wakeAncestors(work: Work, process: Process, by: Sender): number {
  return livingAncestors(work, process).filter((ancestor) => release(work, ancestor.uuid, by, isPersonHold)).length
}

/**
 * What was paused with this root goes on, wherever it is by now: who lost its parent in the pause went to PID 0, and would
 * stay held by a root that nobody finds it under. What was paused on its own stays.
 */
function releaseBelow(work: Work, root: Process, by: Sender): number {
  const ours = (hold: Hold): boolean => hold.reason === 'subtree' && hold.root === root.uuid && mayRelease(by, hold)
  const below = new Set([...livingSubtree(work, root.uuid).map(({ uuid }) => uuid), ...work.all()])
  below.delete(root.uuid)
  return [...below].filter((uuid) => release(work, uuid, by, ours)).length
}

function stillHeld(work: Work, process: Process): string | null {
  const after = work.need(process.uuid)
  if (after.life.state !== 'running' || after.life.holds.length === 0) return null
  return `still suspended: ${after.life.holds.map((hold) => hold.reason).join(', ')}`
}

function reincarnate(work: Work, process: Process, input: Resume): void {
  const { uuid } = process
  const note = beginAnew(work, process, input)
  work.news.push({ type: 'revived', uuid })
  done(work, input, process, 1, note)
  work.effect({ type: 'start', uuid, pid: work.need(uuid).pid })
}

/** A new incarnation of one that has ended, which nobody has begun yet. Gives a remark. Errors: NOT_RESUMABLE, CONFLICT, RESOURCE_EXHAUSTED. */
export function beginAnew(work: Work, process: Process, input: Resume): string | null {
  checkResumable(process, input)
  if (process.life.state === 'zombie') throw new KernelError('CONFLICT', `process ${process.pid} is still being released`)
  checkRoom(work)
  checkName(work, (input.spec ?? process.spec).name)
  if (!work.get(process.uuid)) work.bring(process)
  const pid = work.takePid()
  const { uuid } = process
  const fromStep = process.progress.wholeStep
  const anew = input.rerun && process.spec.driver !== 'native'
  const { spec, note } = permitted(work, { by: input.by, spec: specOf(process, input), before: process.spec, parent: process.parentUuid })
  work.emit(uuid, { type: 'process.resumed', pid, by: input.by, fromStep, ...(spec === process.spec ? {} : { spec }), ...(anew ? { rerun: true } : {}) })
  if (note !== null) work.emit(uuid, { type: 'process.note', text: note })
  findParent(work, process)
  forgive(work, process)
  if (anew) askAgain(work, work.need(uuid))
  if (input.message) enqueue(work, uuid, { id: input.message.id, from: input.by, text: input.message.text, urgent: true })
  return note
}

function specOf(process: Process, { spec, limits }: Resume): ProcessSpec {
  const said = spec ?? process.spec
  return limits ? { ...said, limits: changedLimits(said.limits, limits) } : said
}

function checkResumable(process: Process, input: Resume): void {
  if (wasStoppedByPerson(process) && input.by !== 'user') throw new KernelError('PERMISSION', `process ${process.pid} was stopped by a person`)
  const obstacle = input.rerun ? doneObstacle(process) : continueObstacle(process)
  if (obstacle !== null) throw new KernelError('NOT_RESUMABLE', obstacle)
}

function wasStoppedByPerson({ life }: Process): boolean {
  return (life.state === 'zombie' || life.state === 'dead') && life.exit.cause === 'person'
}

function done(work: Work, input: Resume, process: Process, affected: number, note: string | null): void {
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid: process.uuid, affected, childrenGoOn: 0, note } })
}
