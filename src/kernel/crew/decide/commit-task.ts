// Commits an approved task: looks for conflicts, asks the author to commit, and checks by git that the commit equals the approved files.
// Reeve commits the files itself if the author has left or does not commit. Handles the results of the jobs `check` and `commit`. Must
// never count a conflict with other work as a failed attempt.
// Tests: test/tables/kernel/crew/decide/task-lifecycle.test.ts, test/simulation/crew.test.ts.
import { closeTask, requeueTask, unmaskCommittingWorker } from './release-task.ts'
import { addConflictTask, finishTask, requestMerge } from './merge-task.ts'
import { dismissForLostFiles } from './lost-files.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import { currentImplementer } from '../state/queries.ts'
import { firstFileNames, shortCommit, taskBranchText, taskName } from '../text/task-text.ts'
import { mergeInstructionText, commitReminderText, commitRequestText } from '../text/messages.ts'
import type { CrewDraft } from './draft.ts'
import type { Job, JobResult, JobOf, JobResultOf } from '../../model/crew/facts.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'

/**
 * The number of turns without a commit after which reeve commits the files itself.
 * `refused`: git or a hook refused the commit. `undone`: the worker did not try to commit.
 */
const COMMIT_TRIES = { refused: 2, undone: 1 }

/** Records a commit with the approved files. From then on, only these files may be committed. */
export function recordApprovedFiles(draft: CrewDraft, task: Task, result: JobResult): void {
  const worker = currentImplementer(draft.crew, task)
  if (result.type === 'error' && result.lost !== undefined && result.lost === worker?.id)
    return dismissForLostFiles(draft, worker.id, result.error)
  if (result.type === 'briefed' && result.head !== null) draft.emit({ type: 'task.briefed', task: task.id, head: result.head })
  const updatedTask = draft.requireTask(task.id)
  if (worker?.state === 'on') askForCommit(draft, updatedTask, worker.id)
  else if (updatedTask.implementer !== null) requestCommitJob(draft, updatedTask.implementer, updatedTask, true)
}

/** Asks the author to commit. If reeve merges, it first looks for conflicts. */
export function askForCommit(draft: CrewDraft, task: Task, member: Member['id']): void {
  if (draft.spec.merge === 'auto') draft.requestJob({ type: 'check', member, task: task.id, reviewed: task.viewed ?? null })
  else draft.send(member, { from: 'coordinator', task: task.id, text: commitRequestText(task) })
}

export function canCommit(crew: Crew, task: Task): boolean {
  if (task.parked) return false
  const worker = currentImplementer(crew, task)
  return !worker || (worker.state === 'on' && worker.heir === null && !worker.held && worker.task === task.id && task.prepared)
}

/** Asks the author to commit, and to resolve a conflict if there is one. */
export function handleConflictCheckResult(draft: CrewDraft, { task: id }: JobOf<'check'>, result: JobResult): void {
  const task = draft.findTask(id)
  if (!task || task.state !== 'committing') return
  const worker = currentImplementer(draft.crew, task)
  if (worker?.state !== 'on') return void (task.implementer !== null && requestCommitJob(draft, task.implementer, task, true))
  const { files, tasks } = result.type === 'checked' ? result : { files: [], tasks: [] }
  if (files.length > 0) draft.emit({ type: 'task.resolving', task: id, files, tasks })
  draft.send(worker.id, { from: 'coordinator', task: id, text: commitRequestText(task, conflictInstruction(draft, files, tasks)) })
}

function conflictInstruction({ spec }: CrewDraft, files: readonly string[], tasks: readonly string[]): string | null {
  return files.length > 0 && spec.git ? mergeInstructionText({ branch: spec.git.branch, files, tasks }) : null
}

/**
 * Requests the job `commit` for a task: only git proves that a commit exists and equals the approved files. `force`: reeve commits the
 * files itself.
 */
export function requestCommitJob(draft: CrewDraft, member: Member['id'], task: Task, force: boolean): true {
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
    return dismissForLostFiles(draft, result.lost, result.error)
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
  if (worker?.state !== 'on') return void (task.implementer !== null && requestCommitJob(draft, task.implementer, task, true))
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.differs', task: task.id, commit, from, files })
  draft.messageCoordinator(
    `${taskName(task)} is committed as ${commit}, which differs from the approved change in ${firstFileNames(files)}. It needs a new review.`,
    task,
  )
}

/** Handles a commit that conflicts with the crew's branch. The author resolves the conflict; without an author, a conflict task does. */
function handleConflictingCommit(draft: CrewDraft, task: Task, { commit, files, branch }: JobResultOf<'conflict'>): void {
  const worker = currentImplementer(draft.crew, task)
  if (commit === undefined) return
  if (worker?.state === 'on' && task.commitTries < COMMIT_TRIES.refused)
    return remindToCommit(draft, task, worker, `the commit ${conflictInstruction(draft, files, []) ?? 'conflicts'}`)
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
  else if (!force && task.implementer !== null) requestCommitJob(draft, task.implementer, task, true)
  else requeueTask(draft, task, { reason: `it could not be committed: ${reason}`, counts: true })
}

function mergeCommit(draft: CrewDraft, task: Task, commit: string, note?: string): void {
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.committed', task: task.id, commit, ...(note === undefined ? {} : { note }) })
  if (draft.spec.merge === 'auto') requestMerge(draft, draft.requireTask(task.id))
  else finishTask(draft, task, `${taskName(task)} is committed (${shortCommit(commit)}), and waits on ${taskBranchText(draft.spec, task)}`)
}
