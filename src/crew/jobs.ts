// The answers of the daemon to what it was asked to do. Owns what each result means for the task and its worker; an answer to a job
// that is not open, or whose task has gone on without it, changes nothing. Test: test/tables/crew-ways.test.ts.
import { close, fail, requeue, tell, uncommit, unreview } from './effects.ts'
import { branchOf, holderOf, named } from './finding.ts'
import { join, lose } from './joining.ts'
import { assignment, commitReminder, conflictText, reviewRequest, takeOver } from './texts.ts'
import type { Command } from './commands.ts'
import type { CrewFact } from './facts.ts'
import type { CrewWork } from './crew-work.ts'
import type { Job, JobResult, Member, Task } from './types.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>
type ResultOf<T extends JobResult['type']> = Extract<JobResult, { type: T }>

/** turns in which a worker may fail to commit, before it is done for it: there may be something to repair, or it may not be able to */
const COMMIT_TRIES = { refused: 2, undone: 1 }
/** files of a conflict that are named */
const MAX_NAMED = 20

export function jobDone(work: CrewWork, { job: number, result }: Extract<Command, { type: 'job_done' }>): string {
  const job = work.crew.jobs.find((one) => one.job === number)
  if (!job) return 'late: nothing was changed'
  work.emit({ type: 'crew.job.done', job: number, result: 'read' in result ? { ...result, read: [] } : result })
  follow(work, job, result)
  return 'noted'
}

function follow(work: CrewWork, job: Job, result: JobResult): void {
  switch (job.type) {
    case 'spawn': return spawned(work, job, result)
    case 'prepare': return prepared(work, job, result)
    case 'brief': return briefed(work, job, result)
    case 'commit': return committed(work, job, result)
    case 'merge': return merged(work, job, result)
    case 'reset':
    case 'salvage': return result.type === 'error' ? work.act({ type: 'warn', text: `the files of ${job.member} could not be tidied up: ${result.error}` }) : undefined
  }
}

function wrong(result: JobResult): string {
  return result.type === 'error' ? result.error : `the daemon answered ${result.type}`
}

function spawned(work: CrewWork, { member: id }: JobOf<'spawn'>, result: JobResult): void {
  const member = work.member(id)
  if (member?.state !== 'starting') return
  if (result.type === 'spawned') join(work, member, result.uuid)
  else lose(work, member, 'daemon', wrong(result))
}

function prepared(work: CrewWork, { member: id, task: taskId }: JobOf<'prepare'>, result: JobResult): void {
  const task = work.task(taskId)
  const member = work.member(id)
  if (!task || task.implementer !== id || member?.task !== taskId || task.prepared) return
  if (result.type !== 'prepared') return requeue(work, task, { reason: `the files of ${id} could not be prepared: ${wrong(result)}`, counts: true })
  // What lies there may be of another task, unless this one was tried before.
  const ref = task.attempts > 0 && task.salvaged === null ? result.salvaged : undefined
  work.emit({ type: 'task.prepared', task: taskId, base: result.base, ...(ref === undefined ? {} : { salvaged: ref }) })
  const now = work.needTask(taskId)
  const text = now.state === 'implementing' ? assignment(work.spec, now, result.read) : takeOver(work.spec, now, result.read)
  work.send(id, { from: 'coordinator', task: taskId, text })
}

function briefed(work: CrewWork, { member: id, task: taskId }: JobOf<'brief'>, result: JobResult): void {
  const task = work.task(taskId)
  const member = work.member(id)
  if (task && member?.task === taskId && member.phase !== 'reviewing') return again(work, member, task, result)
  if (!task || task.reviewer !== id || task.state !== 'in_review') return
  if (result.type !== 'briefed') return unreview(work, task, wrong(result))
  if (!task.briefed) work.emit({ type: 'task.briefed', task: taskId })
  work.send(id, { from: 'coordinator', task: taskId, text: reviewRequest(work.spec, task, result) })
}

/** An implementer whose messages were lost. */
function again(work: CrewWork, { id, phase }: Member, task: Task, result: JobResult): void {
  if (phase !== 'implementing' && phase !== 'addressing_feedback') return
  if (result.type !== 'briefed') return requeue(work, task, { reason: `${id} could not be told what to do: ${wrong(result)}`, counts: true })
  work.send(id, { from: 'coordinator', task: task.id, text: phase === 'implementing' ? assignment(work.spec, task, result.read) : takeOver(work.spec, task, result.read) })
}

function committed(work: CrewWork, { task: id, force }: JobOf<'commit'>, result: JobResult): void {
  const task = work.task(id)
  if (!task || task.state !== 'committing') return
  if (result.type === 'committed' && result.commit !== null) return land(work, task, result.commit)
  if (result.type === 'committed' && !result.dirty) return close(work, task, { type: 'task.done', task: id, reason: null }, `${named(task)} is done, and changed nothing`)
  uncommitted(work, task, { force, refused: result.type === 'committed' ? (result.output ?? null) : wrong(result) })
}

/** Its worker is reminded; then it is done for it; what cannot be committed at all goes back. */
function uncommitted(work: CrewWork, task: Task, { force, refused }: { readonly force: boolean; readonly refused: string | null }): void {
  const holder = holderOf(work.crew, task)
  const reason = refused ?? 'its files are changed and its branch has not moved'
  if (holder?.state === 'on' && task.commitTries < (refused === null ? COMMIT_TRIES.undone : COMMIT_TRIES.refused)) {
    work.emit({ type: 'task.uncommitted', task: task.id, reason })
    work.send(holder.id, { from: 'system', task: task.id, text: commitReminder(task, reason) })
  } else if (!force && task.implementer !== null) {
    work.job({ type: 'commit', member: task.implementer, task: task.id, base: task.base, force: true })
  } else {
    requeue(work, task, { reason: `it could not be committed: ${reason}`, counts: true })
  }
}

function land(work: CrewWork, task: Task, commit: string): void {
  uncommit(work, task)
  work.emit({ type: 'task.committed', task: task.id, commit })
  if (work.spec.merge === 'auto' && task.implementer !== null) work.job({ type: 'merge', member: task.implementer, task: task.id, commit })
  else finish(work, task, `${named(task)} is committed (${commit}), and waits on ${branchOf(work.spec, task)}`)
}

function finish(work: CrewWork, task: Task, text: string): void {
  work.emit({ type: 'task.done', task: task.id, reason: null })
  tell(work, text, task)
}

function merged(work: CrewWork, { task: id, commit }: JobOf<'merge'>, result: JobResult): void {
  const task = work.task(id)
  if (!task || task.state !== 'merging' || task.conflict !== null) return
  if (result.type === 'merged') {
    work.emit({ type: 'task.merged', task: id, merged: result.merged })
    return finish(work, task, `${named(task)} is done: ${commit} is merged`)
  }
  if (result.type === 'conflict') conflicts(work, task, commit, result)
  else if (result.type === 'left') leave(work, task, `not merged: ${result.reason}; it is on branch ${result.branch}`)
  else fail(work, task, `${commit} could not be merged: ${wrong(result)}; it is on ${branchOf(work.spec, task)}`)
}

/** Its commit is good: what needs it goes on from there, and a person merges it. */
function leave(work: CrewWork, task: Task, reason: string): void {
  work.emit({ type: 'task.done', task: task.id, reason })
  work.act({ type: 'notify', text: `${named(task)} is ${reason}` })
  tell(work, `${named(task)} is done, and ${reason}`, task)
}

/** A conflict becomes a task of its own; one that was to resolve a conflict is tried again. */
function conflicts(work: CrewWork, task: Task, commit: string, { files, branch = commit }: ResultOf<'conflict'>): void {
  const where = files.slice(0, MAX_NAMED).join(', ')
  if (task.kind === 'conflict') return requeue(work, task, { reason: `it conflicts again, in ${where}`, counts: true })
  if (work.crew.ending) return fail(work, task, `${commit} conflicts in ${where}, and the crew ends; it is on ${branchOf(work.spec, task)}`)
  const id = freeId(work)
  const fact: CrewFact = {
    type: 'task.added', task: id, kind: 'conflict', title: `merge ${task.id}`.slice(0, 200), needs: [], role: null, reviews: task.reviews, by: 'system',
    text: conflictText(work.spec, { commit, branch, where, task: named(task) }), acceptance: 'The changes of both sides are there, and work together.',
  }
  work.emit(fact)
  work.emit({ type: 'task.conflict', task: task.id, conflict: id, files })
  tell(work, `${named(task)} is committed, and conflicts in ${where}: ${id} is the task to resolve it. Assign it.`, work.needTask(id))
}

function freeId({ crew }: CrewWork): string {
  const known = new Set(crew.tasks.map(({ id }) => id))
  let next = crew.nextTask
  while (known.has(`task-${next}`)) next += 1
  return `task-${next}`
}
