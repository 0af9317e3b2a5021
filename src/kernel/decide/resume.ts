// Resume: wakes a suspended process and its ancestors, or begins a new incarnation of an ended process. First checks that the sender may do
// so, and that the process can continue. Releases only holds that the sender may release. A new incarnation begins in the state `created`.
// Test: test/tables/kernel/decide/resume.test.ts.
import { KernelError } from '../model/errors.ts'
import { changeLimits, hasRoom, isHeldByBudget } from './limits/enforce-limits.ts'
import { resumeSource, isPlainCommand, takesMessages } from '../model/capabilities.ts'
import { applyLimitChange } from '../state/limits.ts'
import { resetRestarts, supervisesChildren } from './children.ts'
import { isPauseHold, mayRelease } from '../model/holds.ts'
import { continueObstacle, rerunObstacle } from './resume-modes.ts'
import { releaseHolds } from './holds/release-holds.ts'
import { checkResumer, authorizeSpec } from './authorize.ts'
import { enqueueIntent, reattachToParent, scheduleStart, waitsForRestart } from './restart.ts'
import { enqueueMessage } from './message-queue.ts'
import { checkName, checkTableHasRoom } from './spawn.ts'
import { isLiving, isSuspended } from '../model/status.ts'
import { livingAncestors, livingSubtree } from '../state/tree.ts'
import type { InputOf } from '../model/inputs.ts'
import type { Hold, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender } from '../model/ids.ts'
import type { ProcessSpec } from '../model/process-spec.ts'

type ResumeInput = InputOf<'resume'>

/** Resumes a process. Errors: NOT_FOUND, PERMISSION, INVALID, NOT_RESUMABLE, CONFLICT, RESOURCE_EXHAUSTED. */
export function resumeProcess(draft: DecisionDraft, input: ResumeInput): void {
  const process = draft.get(input.uuid) ?? input.endedRow
  if (!process) throw new KernelError('NOT_FOUND', `no process ${input.uuid}`)
  checkResumer(draft, input.by, process, input.subtree)
  if (process.life.state === 'running' && process.life.stopping) throw new KernelError('INVALID', `process ${process.pid} is stopping`)
  if (input.message && isLiving(process)) checkTakesMessage(process, input)
  if (isSuspended(process)) resumeSuspended(draft, process, input)
  else if (isLiving(process)) resumeRunning(draft, process, input)
  else resumeEnded(draft, process, input)
}

/** Checks that a process can take a message. A command takes one only on its command line, when it resumes its session. Errors: INVALID. */
function checkTakesMessage(process: Process, { rerun }: ResumeInput): void {
  const { spec, life } = process
  if (takesMessages(spec)) return
  if (supervisesChildren(process)) throw new KernelError('INVALID', `a ${spec.driver} takes no messages`)
  if (isPlainCommand(spec)) throw new KernelError('INVALID', 'a plain command takes no messages')
  if (life.state === 'running' && life.attached) throw new KernelError('INVALID', `process ${process.pid} takes no message before its end`)
  if (rerun || resumeSource(process) === 'rerun')
    throw new KernelError('INVALID', `process ${process.pid} takes a message only if it continues its session`)
  if (process.queue.length > 0) throw new KernelError('INVALID', `process ${process.pid} already has a message for its next start`)
}

function resumeRunning(draft: DecisionDraft, process: Process, input: ResumeInput): void {
  if (input.message || input.spec)
    throw new KernelError('INVALID', `process ${process.pid} is running: it takes messages by \`send\`, and no overrides`)
  if (input.limits)
    throw new KernelError('INVALID', `process ${process.pid} is running: its limits can be changed when it is suspended or has ended`)
  let affected = releaseHolds(draft, process.uuid, input.by, (hold) => mayRelease(input.by, hold)) ? 1 : 0
  if (input.subtree) affected += releaseBelow(draft, process, input.by)
  affected += skipBackoff(draft, process)
  draft.replyDone(input.reply, process.uuid, { affected, note: affected === 0 ? 'it was not suspended' : null })
}

/** Starts a process that waits for the backoff of its restart. Returns the number of processes that it started. */
function skipBackoff(draft: DecisionDraft, { uuid }: Process): number {
  const process = draft.mustGet(uuid)
  if (!waitsForRestart(process)) return 0
  scheduleStart(draft, process, 0)
  return 1
}

function resumeSuspended(draft: DecisionDraft, process: Process, input: ResumeInput): void {
  if (input.spec) throw new KernelError('INVALID', 'overrides need an ended process: stop it first')
  const obstacle = input.rerun ? rerunObstacle(process) : null
  if (obstacle !== null) throw new KernelError('NOT_RESUMABLE', obstacle)
  if (input.message) enqueueMessage(draft, process.uuid, { id: input.message.id, from: input.by, text: input.message.text, urgent: true })
  let affected = raiseLimits(draft, process, input) ? 1 : 0
  if (releaseHolds(draft, process.uuid, input.by, (hold) => mayRelease(input.by, hold))) affected = 1
  if (input.by === 'user' && !input.only) affected += wakeAncestors(draft, process, input.by)
  if (input.subtree) affected += releaseBelow(draft, process, input.by)
  draft.replyDone(input.reply, process.uuid, { affected, note: heldText(draft, process) })
}

/**
 * Changes the limits, and releases the hold `budget` if there is room now; an ancestor's limit may have been raised, too.
 * Without room this hold stays. True if it was released.
 */
function raiseLimits(draft: DecisionDraft, { uuid }: Process, { limits, by }: ResumeInput): boolean {
  const before = draft.mustGet(uuid)
  if (limits) changeLimits(draft, before, limits, by)
  const after = draft.mustGet(uuid)
  if (by === 'user' && isHeldByBudget(after) && hasRoom(draft, after)) releaseHolds(draft, uuid, by, ({ reason }) => reason === 'budget')
  return isHeldByBudget(before) && !isHeldByBudget(draft.mustGet(uuid))
}

/** Releases the pauses of all ancestors. Returns the number of ancestors that had any. */
function wakeAncestors(draft: DecisionDraft, process: Process, by: Sender): number {
  return livingAncestors(draft, process).filter((ancestor) => releaseHolds(draft, ancestor.uuid, by, isPauseHold)).length
}

/**
 * Releases the holds that a pause of this root's subtree has added. Searches the whole table, because a process whose
 * parent ended during the pause is no longer below the root. Other pauses stay. Returns the number of processes.
 */
function releaseBelow(draft: DecisionDraft, root: Process, by: Sender): number {
  const isOfRoot = (hold: Hold): boolean => hold.reason === 'subtree' && hold.root === root.uuid && mayRelease(by, hold)
  const below = new Set([...livingSubtree(draft, root.uuid).map(({ uuid }) => uuid), ...draft.all()])
  below.delete(root.uuid)
  return [...below].filter((uuid) => releaseHolds(draft, uuid, by, isOfRoot)).length
}

/** A note about the remaining holds; null: there are none. */
export function heldText(draft: DecisionDraft, process: Process): string | null {
  const after = draft.mustGet(process.uuid)
  if (after.life.state !== 'running' || after.life.holds.length === 0) return null
  return `still suspended: ${after.life.holds.map((hold) => hold.reason).join(', ')}`
}

function resumeEnded(draft: DecisionDraft, process: Process, input: ResumeInput): void {
  const { uuid } = process
  const note = startNewIncarnation(draft, process, input)
  draft.followUps.push({ type: 'resumed', uuid })
  draft.replyDone(input.reply, process.uuid, { note })
  draft.addEffect({ type: 'start', uuid, pid: draft.mustGet(uuid).pid })
}

/**
 * Creates a new incarnation of an ended process; the caller starts it. Returns a note about permissions that were not
 * granted, or null. Errors: PERMISSION, NOT_RESUMABLE, INVALID, CONFLICT, RESOURCE_EXHAUSTED.
 */
export function startNewIncarnation(draft: DecisionDraft, process: Process, input: ResumeInput): string | null {
  if (input.message) checkTakesMessage(process, input)
  checkResumable(process, input)
  checkCrew(draft, process)
  if (process.life.state === 'zombie') throw new KernelError('CONFLICT', `process ${process.pid} is still being released`)
  checkTableHasRoom(draft)
  checkName(draft, (input.spec ?? process.spec).name)
  if (!draft.get(process.uuid)) draft.loadEnded(process)
  const pid = draft.takePid()
  const { uuid } = process
  const fromStep = process.progress.wholeStep
  const { spec, note } = authorizeSpec(draft, {
    by: input.by,
    spec: specOf(process, input),
    before: process.spec,
    parent: process.parentUuid,
  })
  draft.emit(uuid, {
    type: 'process.resumed',
    pid,
    by: input.by,
    fromStep,
    ...(spec === process.spec ? {} : { spec }),
    ...(input.rerun ? { rerun: true } : {}),
    ...(hasLostTask(draft, process) ? { endsTurn: true } : {}),
  })
  if (note !== null) draft.emit(uuid, { type: 'process.note', text: note })
  reattachToParent(draft, process)
  resetRestarts(draft, process)
  if (input.rerun) enqueueIntent(draft, draft.mustGet(uuid))
  if (input.message) enqueueMessage(draft, uuid, { id: input.message.id, from: input.by, text: input.message.text, urgent: true })
  return note
}

/** True for a crew member whose open turn was for a task that its crew has given to another member. */
function hasLostTask(draft: DecisionDraft, { spec: { member }, progress, retiredAt }: Process): boolean {
  if (!member || !progress.turnOpen) return false
  return retiredAt !== null || draft.get(member.crew)?.crew?.members.find(({ id }) => id === member.id)?.state === 'gone'
}

function specOf(process: Process, { spec, limits }: ResumeInput): ProcessSpec {
  const requested = spec ?? process.spec
  return limits ? { ...requested, limits: applyLimitChange(requested.limits, limits) } : requested
}

/** Errors: PERMISSION for a process that the user stopped, NOT_RESUMABLE. */
function checkResumable(process: Process, input: ResumeInput): void {
  if (wasStoppedByUser(process) && input.by !== 'user')
    throw new KernelError('PERMISSION', `process ${process.pid} was stopped by the user`)
  const obstacle = input.rerun ? rerunObstacle(process) : continueObstacle(process)
  if (obstacle === null) return
  const hint = process.spec.input ? 'Start another process with the same input: `CMD1 | reeve run -- CMD2`.' : undefined
  throw new KernelError('NOT_RESUMABLE', obstacle, undefined, hint)
}

/** Refuses a member that left at the end of its crew: it has no more work and no worktree. Errors: NOT_RESUMABLE. */
function checkCrew(draft: DecisionDraft, { pid, spec: { member }, retiredAt }: Process): void {
  const crew = member && draft.get(member.crew)
  if (!member || retiredAt === null || (crew && isLiving(crew))) return
  throw new KernelError(
    'NOT_RESUMABLE',
    `process ${pid} was ${member.id} of a crew, and left it when the crew ended`,
    { crew: member.crew },
    `\`reeve resume --fork --cwd DIR ${pid}\` continues its conversation in a directory of your choice; \`reeve crew up\` with the same name continues the tasks.`,
  )
}

function wasStoppedByUser({ life }: Process): boolean {
  return (life.state === 'zombie' || life.state === 'dead') && life.exit.cause === 'person'
}
