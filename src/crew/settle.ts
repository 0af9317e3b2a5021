// What follows of the state by itself, whoever coordinates: tasks whose needs failed, conflicts that are resolved, gates, the commit
// lock, files to prepare, the end. Owns the rules in their order; each does one thing or nothing, and
// they are asked until none has anything to do. Test: test/tables/crew-ways.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { ask, mayAsk } from './asking.ts'
import { brief, textsFor } from './briefing.ts'
import { close, fail, tell } from './effects.ts'
import { asksPerson, branchOf, commits, hasJobs, holderOf, isReady, named, openTasks } from './finding.ts'
import { commitRequest } from './texts.ts'
import { isClosed, isLanding } from './tasks.ts'
import { unstall } from './turns.ts'
import type { CrewWork } from './crew-work.ts'
import type { Crew, Member, MemberId, Task, TaskState } from './types.ts'

/** Does one thing, and says that it did. */
type Rule = (work: CrewWork) => boolean

const RULES: readonly Rule[] = [leftOver, needless, resolved, humanTasks, gates, commitNext, uncommittable, prepareNext, briefNext, tidyUp, endOfCrew]
const MAX_ROUNDS = 10_000

export function settle(work: CrewWork): void {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (RULES.some((rule) => rule(work))) continue
    return unstall(work)
  }
  throw new KernelError('INTERNAL', 'a crew does not settle')
}

/** What comes back to the queue of a crew that ends, as its commit failed, is not begun again. */
function leftOver(work: CrewWork): boolean {
  const task = work.crew.ending ? work.crew.tasks.find(({ state }) => state === 'queued') : undefined
  if (task) close(work, task, { type: 'task.cancelled', task: task.id, reason: `the crew ended${task.reason ? `; ${task.reason}` : ''}` }, `${named(task)} was cancelled`)
  return task !== undefined
}

/** What needs a task that came to nothing comes to nothing. */
function needless(work: CrewWork): boolean {
  for (const task of work.crew.tasks) {
    const need = task.state === 'queued' ? task.needs.map((id) => work.task(id)).find((one) => one?.state === 'failed' || one?.state === 'cancelled') : undefined
    if (!need) continue
    fail(work, task, `needs ${need.id}, which ${need.state === 'failed' ? 'failed' : 'was cancelled'}`)
    return true
  }
  return false
}

/** The conflict of a task is resolved, or will not be. */
function resolved(work: CrewWork): boolean {
  for (const task of work.crew.tasks) {
    const conflict = task.state === 'merging' ? work.task(task.conflict) : undefined
    if (!conflict || !isClosed(conflict)) continue
    const missed = unresolved(conflict)
    if (missed !== null) fail(work, task, `${task.commit} could not be merged: ${conflict.id} ${missed}; it is on ${branchOf(work.spec, task)}`)
    else {
      if (conflict.merged !== null) work.emit({ type: 'task.merged', task: task.id, merged: conflict.merged })
      work.emit({ type: 'task.done', task: task.id, reason: null })
      tell(work, `${named(task)} is done: ${conflict.id} resolved its conflict`, task)
    }
    return true
  }
  return false
}

/** What became of a conflict task that resolved nothing; null: it did, or somebody says so. */
function unresolved({ state, commit, reason }: Task): string | null {
  if (state === 'done') return commit === null && reason === null ? 'changed nothing' : null
  return state === 'failed' ? 'failed' : 'was cancelled'
}

function humanTasks(work: CrewWork): boolean {
  const task = mayAsk(work.crew) ? work.crew.tasks.find((one) => one.kind === 'human' && isReady(work.crew, one)) : undefined
  if (task) ask(work, task, 'human')
  return task !== undefined
}

/** Good, and not yet cleared: by itself, or by a person. A coordinator has been told. */
function gates(work: CrewWork): boolean {
  const { crew, spec } = work
  const task = crew.tasks.find((one) => !one.cleared && (one.state === 'approved' || (one.state === 'awaiting_review' && !one.reviews)) && (spec.gate === 'auto' || !commits(spec, one) || (asksPerson(spec) && mayAsk(crew))))
  if (!task) return false
  if (spec.gate === 'auto' || !commits(spec, task)) work.emit({ type: 'task.approved', task: task.id, by: null })
  else ask(work, task, 'gate')
  return true
}

/** One at a time; whose worker is gone is committed from its files. */
function commitNext(work: CrewWork): boolean {
  const { crew, spec } = work
  if (crew.tasks.some(({ state }) => state === 'committing')) return false
  const task = crew.tasks.find((one) => one.state === 'approved' && one.cleared && commits(spec, one) && mayCommit(crew, one))
  if (!task || task.implementer === null) return false
  const holder = holderOf(crew, task)
  work.emit({ type: 'task.committing', task: task.id })
  if (holder) {
    work.act({ type: 'mask', member: holder.id, on: true })
    work.send(holder.id, { from: 'coordinator', task: task.id, text: commitRequest(task) })
  } else {
    work.job({ type: 'commit', member: task.implementer, task: task.id, base: task.base, force: true })
  }
  return true
}

function mayCommit(crew: Crew, task: Task): boolean {
  const holder = holderOf(crew, task)
  return !holder || (holder.state === 'on' && holder.heir === null && !holder.held && task.prepared)
}

/** Good, and nothing of it is to be committed. */
function uncommittable(work: CrewWork): boolean {
  const task = work.crew.tasks.find((one) => one.state === 'approved' && one.cleared && !commits(work.spec, one))
  if (task) close(work, task, { type: 'task.done', task: task.id, reason: null }, `${named(task)} is done`)
  return task !== undefined
}

const PREPARED: ReadonlySet<TaskState> = new Set(['implementing', 'awaiting_review', 'in_review', 'addressing_feedback', 'approved', 'waiting'])

/** Not while it is in the middle of a turn, nor before its predecessor is gone: nobody's files change under its hands. */
function prepareNext(work: CrewWork): boolean {
  const { crew } = work
  for (const task of crew.tasks) {
    const holder = !task.prepared && PREPARED.has(task.state) ? holderOf(crew, task) : undefined
    if (!holder || !isQuiet(crew, holder) || isBeingSaved(crew, task)) continue
    const from = crew.members.find(({ id }) => id === holder.heirOf && task.implementers.includes(id))
    if (from && (from.state !== 'gone' || hasJobs(crew, from.id))) continue
    work.job({ type: 'prepare', member: holder.id, task: task.id, from: from?.id ?? null, read: textsFor(crew, task) })
    return true
  }
  return false
}

/** Where it was tried before is put on a ref, which the next one is told of. */
function isBeingSaved({ jobs }: Crew, { id }: Task): boolean {
  return jobs.some((job) => job.type === 'salvage' && job.task === id)
}

function isQuiet(crew: Crew, { state, turn, id }: Member): boolean {
  return state === 'on' && turn.open === null && !hasJobs(crew, id)
}

function briefNext(work: CrewWork): boolean {
  const { crew } = work
  const task = crew.tasks.find((one) => one.state === 'in_review' && !one.briefed && isQuietId(crew, one.reviewer))
  if (task?.reviewer) brief(work, task, task.reviewer)
  return task !== undefined
}

function isQuietId(crew: Crew, id: MemberId | null): boolean {
  const member = crew.members.find((one) => one.id === id)
  return member !== undefined && isQuiet(crew, member)
}

/** What a cancelled task left in the files of its worker. */
function tidyUp(work: CrewWork): boolean {
  const { crew } = work
  const member = crew.members.find((one) => one.cleanup !== null && one.phase === 'idle' && isQuiet(crew, one))
  if (!member || member.cleanup === null) return false
  work.job({ type: 'reset', member: member.id, task: member.cleanup })
  return true
}

function endOfCrew(work: CrewWork): boolean {
  const { ending } = work.crew
  if (!ending || ending.ended || openTasks(work.crew).some(isLanding)) return false
  work.emit({ type: 'crew.ended' })
  work.act({ type: 'end', outcome: ending.outcome, summary: ending.summary })
  return true
}

