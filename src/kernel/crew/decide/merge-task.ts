// Merges a committed task into the crew's branch, by two jobs: `merge` makes a candidate, `land` moves the branch to it. The merged files
// are verified between the two, in `landCandidate`. Only a result of `land` proves that the branch has moved. Handles the results of these
// jobs. Must never count a conflict with other work as a failed attempt.
// Tests: test/tables/kernel/crew/decide/merge-task.test.ts, test/simulation/crew.test.ts.
import { failTask, requeueTask, failedAttemptsText } from './release-task.ts'
import { firstFileNames, shortCommit, taskBranchText, taskName } from '../text/task-text.ts'
import { isClosed } from '../state/task-states.ts'
import { conflictTaskText } from '../text/messages.ts'
import { isTreeVerified } from '../state/verify-rules.ts'
import { commandResultText, recordVerifyResult } from './verify-results.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import type { CrewDraft } from './draft.ts'
import type { CrewFact, JobResult, JobOf, JobResultOf } from '../../model/crew/facts.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'

/** after this many moves of the branch by other programs during one merge, the user is notified and the merge waits */
const MAX_FOREIGN_MOVES = 5
/** maximum number of landed tasks that a text names */
const MAX_NAMED_TASKS = 5

export function requestMerge(draft: CrewDraft, { id, commit, implementer }: Task, options: { readonly patient?: true } = {}): void {
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
function landedTasksText({ tasks }: Crew, { id, times: { started } }: Task): string {
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
  const landedTasks = landedTasksText(draft.crew, task)
  const reason = `the merged files failed verify${landedTasks === '' ? '' : ` (with ${landedTasks}, landed since)`}: ${commandResultText(result)}`
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

export function finishTask(draft: CrewDraft, task: Task, text: string): void {
  draft.emit({ type: 'task.done', task: task.id, reason: null })
  draft.messageCoordinator(text, task)
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
    draft.messageCoordinator(`${taskName(task)} is committed and waits to be merged: ${reason}`, task)
  }
  requestMerge(draft, task, { patient: true })
}

/** Closes a task whose commit stays on a separate branch, for the user to merge. */
function leaveUnmerged(draft: CrewDraft, task: Task, reason: string): void {
  draft.emit({ type: 'task.done', task: task.id, reason })
  draft.addAct({ type: 'notify', text: `${taskName(task)} is ${reason}` })
  draft.messageCoordinator(`${taskName(task)} is done, and ${reason}`, task)
}

/** Adds a task that resolves the conflict, because the author cannot. Conflict tasks land before all others. */
export function addConflictTask(draft: CrewDraft, task: Task, commit: string, { files, branch = commit }: JobResultOf<'conflict'>): void {
  const fileNames = firstFileNames(files)
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
  draft.messageCoordinator(
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
