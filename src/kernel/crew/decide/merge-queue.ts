// The merge queue: takes a task from the approval of its commit until the commit is on the crew's branch. One task lands at a time, by
// priority and order of approval. The other tasks wait until this task is done, failed or sent back.
// A merge has two jobs: `merge` makes the candidate, `land` moves the branch to it. The merged files are verified between the two, in
// `landCandidate`. Only a result of `land` proves that the branch has moved. Owns the consequences of each git result.
// Must never count a conflict with other work as a failed attempt. Tests: test/tables/kernel/crew/decide/merge-queue.test.ts,
// test/simulation/crew.test.ts.
import { closeTask, failTask, requeueTask, messageCoordinator, failedAttemptsText, unmaskCommittingWorker } from './release-task.ts'
import { isGatedByUser, canRoleReview, needsCommit, currentImplementer, priorityOf, workersOf } from '../state/queries.ts'
import { taskBranchText, taskName } from '../state/task-text.ts'
import { handleLostFiles } from './lost-files.ts'
import { isClosed, isLanding } from '../state/task-states.ts'
import { mergeInstructionText, commitReminderText, commitRequestText, conflictTaskText } from '../text/messages.ts'
import { isTreeVerified } from '../state/verify-rules.ts'
import { canImplement } from '../state/eligible-workers.ts'
import { commandResultText, recordVerifyResult } from './verify-results.ts'
import { unexpectedResultText } from './draft.ts'
import type { CrewDraft } from './draft.ts'
import type { CrewFact, Job, JobResult, JobOf, JobResultOf } from '../../model/crew/facts.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/**
 * The number of turns without a commit after which reeve commits itself.
 * `refused`: git or a hook refused the commit. `undone`: the worker did not try to commit.
 */
const COMMIT_TRIES = { refused: 2, undone: 1 }
/** maximum number of conflicting files that a text names */
const MAX_NAMED_FILES = 20
/** after this many moves of the branch by other programs during one merge, the user is notified and the merge waits */
const MAX_FOREIGN_MOVES = 5
/** maximum number of landed tasks that a text names */
const MAX_NAMED_TASKS = 5

/** The next task to land. Undefined while a commit or merge is in progress, or if no task may be committed. */
function nextTaskToLand(crew: Crew, canLand: (task: Task) => boolean): Task | undefined {
  const landing = crew.tasks.filter(isLanding)
  if (landing.some(({ conflict }) => conflict === null)) return undefined
  const conflicts = crew.tasks.filter(({ id }) => landing.some(({ conflict }) => conflict === id))
  const blocking = crew.tasks.filter((task) => task.landing?.holds && !isClosed(task))
  const queueBlockers = [...blocking, ...conflicts].filter((task) => !mustLetOthersPass(crew, task))
  const candidates = queueBlockers.length > 0 ? queueBlockers : crew.tasks
  return candidates
    .filter((task) => task.state === 'approved' && task.cleared && canLand(task))
    .toSorted((a, b) => priorityOf(b) - priorityOf(a) || (a.landing?.since ?? 0) - (b.landing?.since ?? 0))[0]
}

/**
 * Whether a task that blocks the queue must let others pass, because the crew would deadlock otherwise. True if the task waits for the
 * user, or if every worker that could continue it waits for the queue.
 */
function mustLetOthersPass(crew: Crew, task: Task): boolean {
  if (task.state === 'waiting') return true
  const isAble =
    task.state === 'queued'
      ? (member: Member) => canImplement(member, task)
      : (member: Member) => canRoleReview(member.role) && member.id !== task.implementer
  const needsWorker = task.state === 'queued' || task.state === 'awaiting_review'
  return (
    needsWorker &&
    !workersOf(crew).some(
      (member) => isAble(member) && !member.held && (member.phase !== 'awaiting_review' || task.state === 'awaiting_review'),
    )
  )
}

/** Starts the commit of the next task. If its worker has left, reeve commits the reviewed files. Returns whether a commit was started. */
export function landNextTask(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  const task = nextTaskToLand(crew, (task) => needsCommit(spec, task) && canCommit(crew, task))
  if (!task || task.implementer === null) return false
  const worker = currentImplementer(crew, task)
  draft.emit({ type: 'task.committing', task: task.id })
  if (worker) draft.addAct({ type: 'mask', member: worker.id, on: true })
  // The user approved without a review, so no commit of the approved files exists yet. `brief` makes one.
  if (isApprovedByUserOnly(spec, task))
    draft.requestJob({ type: 'brief', member: task.implementer, task: task.id, implementer: task.implementer, read: [] })
  else if (!worker) requestCommitCheck(draft, task.implementer, task, true)
  // A change with a second review is committed already.
  else if (task.landing?.differs) requestCommitCheck(draft, worker.id, task, false)
  else askForCommit(draft, task, worker.id)
  return true
}

function isApprovedByUserOnly(spec: CrewSpec, { viewed: viewedCommit = null, verdict, reviews }: Task): boolean {
  return viewedCommit === null && (reviews || verdict === 'APPROVED' || isGatedByUser(spec))
}

/** Records a commit with the approved files. From then on, only these files may be committed. */
export function recordApprovedFiles(draft: CrewDraft, task: Task, result: JobResult): void {
  const worker = currentImplementer(draft.crew, task)
  if (result.type === 'error' && result.lost !== undefined && result.lost === worker?.id)
    return handleLostFiles(draft, worker.id, result.error)
  if (result.type === 'briefed' && result.head !== null) draft.emit({ type: 'task.briefed', task: task.id, head: result.head })
  const updatedTask = draft.requireTask(task.id)
  if (worker?.state === 'on') askForCommit(draft, updatedTask, worker.id)
  else if (updatedTask.implementer !== null) requestCommitCheck(draft, updatedTask.implementer, updatedTask, true)
}

/** Asks the author to commit. If reeve merges, it first looks for conflicts. */
function askForCommit(draft: CrewDraft, task: Task, member: Member['id']): void {
  if (draft.spec.merge === 'auto') draft.requestJob({ type: 'check', member, task: task.id, reviewed: task.viewed ?? null })
  else draft.send(member, { from: 'coordinator', task: task.id, text: commitRequestText(task) })
}

function canCommit(crew: Crew, task: Task): boolean {
  if (task.parked) return false
  const worker = currentImplementer(crew, task)
  return !worker || (worker.state === 'on' && worker.heir === null && !worker.held && worker.task === task.id && task.prepared)
}

/** Asks the author to commit, and to resolve a conflict if there is one. */
export function handleCheckResult(draft: CrewDraft, { task: id }: JobOf<'check'>, result: JobResult): void {
  const task = draft.findTask(id)
  if (!task || task.state !== 'committing') return
  const worker = currentImplementer(draft.crew, task)
  if (worker?.state !== 'on') return void (task.implementer !== null && requestCommitCheck(draft, task.implementer, task, true))
  const { files, tasks } = result.type === 'checked' ? result : { files: [], tasks: [] }
  if (files.length > 0) draft.emit({ type: 'task.resolving', task: id, files, tasks })
  draft.send(worker.id, { from: 'coordinator', task: id, text: commitRequestText(task, conflictInstruction(draft, files, tasks)) })
}

function conflictInstruction({ spec }: CrewDraft, files: readonly string[], tasks: readonly string[]): string | null {
  return files.length > 0 && spec.git ? mergeInstructionText({ branch: spec.git.branch, files, tasks }) : null
}

/**
 * Requests a check of the task's branch: only git proves that a commit exists and equals the approved files. `force`: reeve commits the
 * files itself.
 */
export function requestCommitCheck(draft: CrewDraft, member: Member['id'], task: Task, force: boolean): true {
  const { id, base, viewed = null } = task
  // A `brief` job concerns the commit only if it is for the implementer.
  const concernsCommit = (job: Job): boolean =>
    job.type === 'commit' || job.type === 'check' || (job.type === 'brief' && job.member === task.implementer)
  if (draft.crew.jobs.some((job) => 'task' in job && job.task === id && concernsCommit(job))) return true
  const mustContain = draft.crew.tasks.find(({ conflict }) => conflict === id)?.commit ?? null
  const hasNoAuthor = currentImplementer(draft.crew, task)?.state !== 'on'
  draft.requestJob({
    type: 'commit',
    member,
    task: id,
    base,
    force,
    ...(viewed === null ? {} : { reviewed: viewed }),
    ...(mustContain === null ? {} : { merges: mustContain }),
    ...(hasNoAuthor ? { instead: hasNoAuthor } : {}),
  })
  return true
}

export function handleCommitResult(draft: CrewDraft, { task: id, force }: JobOf<'commit'>, result: JobResult): void {
  const task = draft.findTask(id)
  if (!task || task.state !== 'committing') return
  if (result.type === 'error' && result.lost !== undefined && currentImplementer(draft.crew, task)?.id === result.lost)
    return handleLostFiles(draft, result.lost, result.error)
  if (result.type === 'differs') return requireNewReview(draft, task, result)
  if (result.type === 'conflict') return handleConflictingCommit(draft, task, result)
  if (result.type === 'committed' && result.commit !== null) return mergeCommit(draft, task, result.commit, result.output)
  if (result.type === 'committed' && !result.dirty)
    return closeTask(draft, task, { type: 'task.done', task: id, reason: null }, `${taskName(task)} is done; it changed nothing`)
  handleMissingCommit(draft, task, { force, refused: result.type === 'committed' ? (result.output ?? null) : unexpectedResultText(result) })
}

/** Handles a commit that differs from the approved files: it is reviewed again, and the queue waits. */
function requireNewReview(draft: CrewDraft, task: Task, { commit, from, files }: JobResultOf<'differs'>): void {
  const worker = currentImplementer(draft.crew, task)
  if (worker?.state !== 'on') return void (task.implementer !== null && requestCommitCheck(draft, task.implementer, task, true))
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.differs', task: task.id, commit, from, files })
  messageCoordinator(
    draft,
    `${taskName(task)} is committed as ${commit}, which differs from the approved change in ${files.slice(0, MAX_NAMED_FILES).join(', ')}. It needs a new review.`,
    task,
  )
}

/** Handles a commit that conflicts with the crew's branch. The author resolves the conflict; without an author, a conflict task does. */
function handleConflictingCommit(draft: CrewDraft, task: Task, { commit, files, branch }: JobResultOf<'conflict'>): void {
  const worker = currentImplementer(draft.crew, task)
  if (commit === undefined) return
  if (worker?.state === 'on' && task.commitTries < COMMIT_TRIES.refused)
    return remindToCommit(draft, task, worker, conflictInstruction(draft, files, []) ?? '')
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.committed', task: task.id, commit })
  addConflictTask(draft, draft.requireTask(task.id), commit, { type: 'conflict', files, ...(branch === undefined ? {} : { branch }) })
}

function remindToCommit(draft: CrewDraft, task: Task, { id }: Member, reason: string): void {
  draft.emit({ type: 'task.uncommitted', task: task.id, reason })
  draft.send(id, { from: 'system', task: task.id, text: commitReminderText(task, reason) })
}

/** Handles a task without a commit: first the worker is reminded, then reeve commits. If that fails, the task is requeued. */
function handleMissingCommit(
  draft: CrewDraft,
  task: Task,
  { force, refused }: { readonly force: boolean; readonly refused: string | null },
): void {
  const worker = currentImplementer(draft.crew, task)
  const reason = refused ?? 'its files have changes and its branch has no new commit'
  if (worker?.state === 'on' && task.commitTries < (refused === null ? COMMIT_TRIES.undone : COMMIT_TRIES.refused))
    remindToCommit(draft, task, worker, reason)
  else if (!force && task.implementer !== null) requestCommitCheck(draft, task.implementer, task, true)
  else requeueTask(draft, task, { reason: `it could not be committed: ${reason}`, counts: true })
}

function mergeCommit(draft: CrewDraft, task: Task, commit: string, note?: string): void {
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.committed', task: task.id, commit, ...(note === undefined ? {} : { note }) })
  if (draft.spec.merge === 'auto') requestMerge(draft, draft.requireTask(task.id))
  else finishTask(draft, task, `${taskName(task)} is committed (${shortCommit(commit)}), and waits on ${taskBranchText(draft.spec, task)}`)
}

function requestMerge(draft: CrewDraft, { id, commit, implementer }: Task, options: { readonly patient?: true } = {}): void {
  if (commit !== null && implementer !== null) draft.requestJob({ type: 'merge', member: implementer, task: id, commit, ...options })
}

export function handleMergeResult(draft: CrewDraft, { task: id, commit }: JobOf<'merge'>, result: JobResult): void {
  const task = draft.findTask(id)
  if (!task || task.state !== 'merging' || task.conflict !== null || task.commit !== commit) return
  switch (result.type) {
    case 'candidate':
      return landCandidate(draft, task, commit, result)
    case 'merged':
      return recordMerged(draft, task, commit, result)
    case 'conflict':
      return addConflictTask(draft, task, commit, result)
    case 'occupied':
      return waitForBranch(draft, task, commit, result)
    case 'left':
      return leaveUnmerged(draft, task, `not merged: ${result.reason}; it is on branch ${result.branch}`)
    default:
      return failTask(
        draft,
        task,
        `${shortCommit(commit)} could not be merged: ${unexpectedResultText(result)}; it is on ${taskBranchText(draft.spec, task)}`,
      )
  }
}

/** Lands the merge candidate, to which no branch points yet. Unverified merged files are verified first. */
function landCandidate(
  draft: CrewDraft,
  task: Task,
  commit: string,
  { candidate: candidateCommit, head, tree }: JobResultOf<'candidate'>,
): void {
  const { id, implementer } = task
  if (implementer === null) return
  const merge = { commit, candidate: candidateCommit, head }
  if (isTreeVerified(draft.crew, draft.spec, task, tree)) draft.requestJob({ type: 'land', member: implementer, task: id, ...merge })
  else draft.requestJob({ type: 'verify', member: implementer, task: id, read: task.verify === 'own' ? [task.seqs.text] : [], merge })
}

/** The names of the tasks that landed while the worker had this task. */
function namesOfLandedTasks({ tasks }: Crew, { id, times: { started } }: Task): string {
  const landedIds = tasks
    .filter((task) => task.id !== id && task.merged !== null && (task.times.ended ?? 0) >= (started ?? 0))
    .map((task) => task.id)
  return `${landedIds.slice(-MAX_NAMED_TASKS).join(', ')}${landedIds.length > MAX_NAMED_TASKS ? ` and ${landedIds.length - MAX_NAMED_TASKS} more` : ''}`
}

/** Handles the result of the verify command on the merged files. */
export function handleMergeVerifyResult(
  draft: CrewDraft,
  { task: id, merge: candidate, member }: JobOf<'verify'>,
  result: JobResult,
): void {
  const task = draft.findTask(id)
  if (!candidate || !task || task.state !== 'merging' || task.conflict !== null || task.commit !== candidate.commit) return
  if (result.type !== 'verified')
    return failTask(
      draft,
      task,
      `${shortCommit(candidate.commit)} could not be verified after the merge: ${unexpectedResultText(result)}; it is on ${taskBranchText(draft.spec, task)}`,
    )
  if (recordVerifyResult(draft, { task: id, member, stage: 'merge' }, result))
    return draft.requestJob({ type: 'land', member, task: id, ...candidate })
  const updatedTask = draft.requireTask(id)
  const landedNames = namesOfLandedTasks(draft.crew, task)
  const reason = `the merged files failed verify${landedNames === '' ? '' : ` (with ${landedNames}, landed since)`}: ${commandResultText(result)}`
  if (draft.crew.ending) return failTask(draft, updatedTask, `${reason}, and the crew ends; it is on ${taskBranchText(draft.spec, task)}`)
  if (updatedTask.attempts >= draft.spec.maxAttempts)
    return failTask(
      draft,
      updatedTask,
      `${failedAttemptsText(updatedTask)} failed; the last reason: ${reason}; it is on ${taskBranchText(draft.spec, task)}`,
    )
  requeueTask(draft, updatedTask, { reason, counts: false, keeps: 'review' })
}

export function handleLandResult(draft: CrewDraft, { task: id, commit }: JobOf<'land'>, result: JobResult): void {
  const task = draft.findTask(id)
  if (!task || task.state !== 'merging' || task.conflict !== null || task.commit !== commit) return
  switch (result.type) {
    case 'merged':
      return recordMerged(draft, task, commit, result)
    case 'moved':
      return handleBranchMove(draft, task, commit, result)
    case 'occupied':
      return waitForBranch(draft, task, commit, result)
    default:
      return failTask(
        draft,
        task,
        `${shortCommit(commit)} could not be merged: ${unexpectedResultText(result)}; it is on ${taskBranchText(draft.spec, task)}`,
      )
  }
}

function recordMerged(draft: CrewDraft, task: Task, commit: string, { merged: mergedAt }: JobResultOf<'merged'>): void {
  draft.emit({ type: 'task.merged', task: task.id, merged: mergedAt })
  finishTask(draft, task, `${taskName(task)} is done: ${shortCommit(commit)} is merged`)
}

function finishTask(draft: CrewDraft, task: Task, text: string): void {
  draft.emit({ type: 'task.done', task: task.id, reason: null })
  messageCoordinator(draft, text, task)
}

/** Merges again, because the branch moved after the candidate was made. After too many moves, the user is notified and the merge waits. */
function handleBranchMove(draft: CrewDraft, task: Task, commit: string, { by = 'another program' }: JobResultOf<'moved'>): void {
  if ((task.landing?.moves ?? 0) < MAX_FOREIGN_MOVES) return requestMerge(draft, task)
  const branch = draft.spec.git?.branch ?? 'its branch'
  waitForBranch(draft, task, commit, { reason: `${by} moves ${branch} repeatedly; leave the branch alone until the task has landed` })
}

/**
 * Lets the merge wait until the crew's branch is free: it is checked out, or other programs move it. In an ending crew, the task fails
 * instead.
 */
function waitForBranch(draft: CrewDraft, task: Task, commit: string, { reason }: Pick<JobResultOf<'occupied'>, 'reason'>): void {
  if (draft.crew.ending)
    return failTask(draft, task, `${shortCommit(commit)} is not merged: ${reason}; it is on ${taskBranchText(draft.spec, task)}`)
  if (task.landing?.blocked !== reason) {
    draft.emit({ type: 'task.blocked', task: task.id, reason })
    draft.addAct({ type: 'notify', text: `${taskName(task)} is committed and waits to be merged: ${reason}` })
    messageCoordinator(draft, `${taskName(task)} is committed and waits to be merged: ${reason}`, task)
  }
  requestMerge(draft, task, { patient: true })
}

/** Closes a task whose commit stays on a branch of its own, for the user to merge. */
function leaveUnmerged(draft: CrewDraft, task: Task, reason: string): void {
  draft.emit({ type: 'task.done', task: task.id, reason })
  draft.addAct({ type: 'notify', text: `${taskName(task)} is ${reason}` })
  messageCoordinator(draft, `${taskName(task)} is done, and ${reason}`, task)
}

/** Adds a task that resolves the conflict, because the author cannot. Conflict tasks land before all others. */
function addConflictTask(draft: CrewDraft, task: Task, commit: string, { files, branch = commit }: JobResultOf<'conflict'>): void {
  const fileNames = files.slice(0, MAX_NAMED_FILES).join(', ')
  if (draft.crew.ending)
    return failTask(
      draft,
      task,
      `${shortCommit(commit)} conflicts in ${fileNames}, and the crew ends; it is on ${taskBranchText(draft.spec, task)}`,
    )
  if (task.landing?.unresolved !== undefined)
    return failTask(
      draft,
      task,
      `${shortCommit(commit)} could not be merged: ${task.landing.unresolved} did not resolve its conflict in ${fileNames}; it is on ${taskBranchText(draft.spec, task)}`,
    )
  const id = unusedTaskId(draft)
  const fact: CrewFact = {
    type: 'task.added',
    task: id,
    kind: 'conflict',
    title: `merge ${task.id}`.slice(0, 200),
    needs: [],
    role: null,
    reviews: task.reviews,
    by: 'system',
    text: conflictTaskText(draft.spec, { commit, branch, where: fileNames, task: taskName(task) }),
    acceptance: 'The changes of both sides are present and work together.',
  }
  draft.emit(fact)
  draft.emit({ type: 'task.conflict', task: task.id, conflict: id, files })
  messageCoordinator(
    draft,
    `${taskName(task)} is committed and conflicts in ${fileNames}. Assign ${id}, which resolves the conflict.`,
    draft.requireTask(id),
  )
}

/** Merges a task again when its conflict task is closed: only git proves whether the commit is on the branch. */
export function resumeMergeAfterConflict(draft: CrewDraft): boolean {
  for (const task of draft.crew.tasks) {
    const conflict = task.state === 'merging' ? draft.findTask(task.conflict) : undefined
    if (!conflict || !isClosed(conflict)) continue
    if (conflict.state === 'done') {
      draft.emit({ type: 'task.resolved', task: task.id, conflict: conflict.id, ...(conflict.merged === null ? { unmerged: true } : {}) })
      requestMerge(draft, draft.requireTask(task.id))
    } else {
      failTask(
        draft,
        task,
        `${shortCommit(task.commit)} could not be merged: ${conflict.id} ${conflict.state === 'failed' ? 'failed' : 'was cancelled'}; it is on ${taskBranchText(draft.spec, task)}`,
      )
    }
    return true
  }
  return false
}

function unusedTaskId({ crew }: CrewDraft): string {
  const usedIds = new Set(crew.tasks.map(({ id }) => id))
  let number = crew.nextTask
  while (usedIds.has(`task-${number}`)) number += 1
  return `task-${number}`
}

/** The short form of a commit id. */
function shortCommit(commit: string | null): string {
  return (commit ?? '').slice(0, 10)
}
