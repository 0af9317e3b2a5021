// Handles the results of jobs: changes the task and its worker. Nothing changes if the job is not open, or if its task has changed
// meanwhile. Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { failTask, endReview } from './release-task.ts'
import { joinMember, removeLostMember } from './member-lifecycle.ts'
import { briefWorker } from './brief-job.ts'
import { handleConflictCheckResult, handleCommitResult, recordApprovedFiles } from './commit-task.ts'
import { handleLandResult, handleMergeResult } from './merge-task.ts'
import { haltCrew, diskFullReason } from './halt.ts'
import { dismissForLostFiles } from './lost-files.ts'
import { handleParkResult } from './park-task.ts'
import { areTextsStale } from '../text/task-text.ts'
import { assignmentText, continueTaskText, reviewRequestText, takeOverText } from '../text/messages.ts'
import { handleSetupResult } from './worktree-setup.ts'
import { handleVerifyResult } from './verify.ts'
import type { Command } from '../../model/crew/commands.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import type { CrewDraft } from './draft.ts'
import type { Member, Task } from '../../model/crew/crew.ts'
import type { Job, JobResult, JobOf } from '../../model/crew/facts.ts'

export function applyJobResult(draft: CrewDraft, { job: number, result }: Extract<Command, { type: 'job_done' }>): string {
  const job = draft.crew.jobs.find((job) => job.job === number)
  if (!job) return 'late: nothing was changed'
  const diskFull = draft.crew.ending?.ended || isObsolete(draft, job) ? null : diskFullReason(result)
  if (diskFull !== null) {
    haltCrew(draft, diskFull)
    return 'requested again when the disk has space'
  }
  draft.emit({ type: 'crew.job.done', job: number, result: withoutLongTexts(result) })
  handleResult(draft, job, result)
  return 'noted'
}

/** Whether the job prepared files for a member that has left meanwhile. Such a job must not be repeated. */
function isObsolete(draft: CrewDraft, job: Job): boolean {
  return (job.type === 'setup' || job.type === 'prepare') && draft.findMember(job.member)?.state === 'gone'
}

/** Removes long texts from a result before it is recorded, because other facts have them. */
function withoutLongTexts(result: JobResult): JobResult {
  if ((result.type === 'verified' || result.type === 'setUp') && result.ran) return { ...result, ran: { ...result.ran, output: '' } }
  return 'read' in result ? { ...result, read: [] } : result
}

function handleResult(draft: CrewDraft, job: Job, result: JobResult): void {
  switch (job.type) {
    case 'spawn':
      return handleSpawnResult(draft, job, result)
    case 'setup':
      return handleSetupResult(draft, job, result)
    case 'prepare':
      return handlePrepareResult(draft, job, result)
    case 'brief':
      return handleBriefResult(draft, job, result)
    case 'check':
      return handleConflictCheckResult(draft, job, result)
    case 'commit':
      return handleCommitResult(draft, job, result)
    case 'merge':
      return handleMergeResult(draft, job, result)
    case 'land':
      return handleLandResult(draft, job, result)
    case 'verify':
      return handleVerifyResult(draft, job, result)
    case 'park': {
      const error = handleParkResult(draft, job, result)
      return error === null ? undefined : dismissForLostFiles(draft, job.member, error)
    }
    case 'reset':
    case 'salvage':
      return handleCleanupResult(draft, job, result)
  }
}

function handleCleanupResult(draft: CrewDraft, { type, member }: JobOf<'reset' | 'salvage'>, result: JobResult): void {
  if (result.type !== 'error') return
  if (type === 'reset' && result.lost === member) dismissForLostFiles(draft, member, result.error)
  else draft.addAct({ type: 'warn', text: `the files of ${member} could not be cleaned up: ${result.error}` })
}

function handleSpawnResult(draft: CrewDraft, { member: id }: JobOf<'spawn'>, result: JobResult): void {
  const member = draft.findMember(id)
  if (member?.state !== 'starting') return
  if (result.type === 'spawned') joinMember(draft, member, result.uuid)
  else removeLostMember(draft, member, 'daemon', unexpectedResultText(result))
}

function handlePrepareResult(draft: CrewDraft, { member: id, task: taskId, read: readSeqs }: JobOf<'prepare'>, result: JobResult): void {
  const task = draft.findTask(taskId)
  const member = draft.findMember(id)
  if (!task || task.implementer !== id || !member || (member.task !== taskId && member.own !== taskId) || task.prepared) return
  if (result.type === 'error' && result.of === 'task') return failTask(draft, task, `its files could not be prepared: ${result.error}`)
  if (result.type !== 'prepared') return dismissForLostFiles(draft, id, unexpectedResultText(result))
  // Without an earlier attempt, the salvaged files may belong to another task.
  const salvagedRef = task.attempts > 0 && task.salvaged === null ? result.salvaged : undefined
  draft.emit({ type: 'task.prepared', task: taskId, base: result.base, ...(salvagedRef === undefined ? {} : { salvaged: salvagedRef }) })
  const updatedTask = draft.requireTask(taskId)
  // The task's texts have changed while its files were prepared, so they are read again.
  if (areTextsStale(updatedTask, readSeqs)) return briefWorker(draft, updatedTask, id)
  // A member that gets back an approved task receives the commit request next.
  if (updatedTask.state === 'approved') return
  const text =
    updatedTask.state === 'implementing'
      ? assignmentText(draft.spec, updatedTask, result.read, result)
      : takeOverText(draft.spec, updatedTask, result.read, result)
  draft.send(id, { from: 'coordinator', task: taskId, text })
}

function handleBriefResult(draft: CrewDraft, { member: id, task: taskId, read: readSeqs }: JobOf<'brief'>, result: JobResult): void {
  const task = draft.findTask(taskId)
  const member = draft.findMember(id)
  if (task?.state === 'committing' && task.implementer === id) return recordApprovedFiles(draft, task, result)
  if (task && member?.task === taskId && result.type === 'briefed' && areTextsStale(task, readSeqs)) return briefWorker(draft, task, id)
  if (task && member?.task === taskId && member.phase !== 'reviewing') return resendInstructions(draft, member, task, result)
  if (!task || task.reviewer !== id || task.state !== 'in_review') return
  if (result.type === 'error' && result.lost !== undefined) return dismissForLostFiles(draft, result.lost, result.error)
  if (result.type !== 'briefed') return endReview(draft, task, unexpectedResultText(result))
  if (!task.briefed || (result.head !== null && result.head !== task.viewed))
    draft.emit({ type: 'task.briefed', task: taskId, ...(result.head === null ? {} : { head: result.head }) })
  draft.send(id, { from: 'coordinator', task: taskId, text: reviewRequestText(draft.spec, task, { ...result, own: member?.own ?? null }) })
}

/** Repeats the instructions to an implementer whose messages were lost. */
function resendInstructions(draft: CrewDraft, { id, phase }: Member, task: Task, result: JobResult): void {
  if (phase !== 'implementing' && phase !== 'addressing_feedback') return
  if (result.type !== 'briefed') return dismissForLostFiles(draft, id, unexpectedResultText(result))
  draft.send(id, {
    from: 'coordinator',
    task: task.id,
    text: phase === 'implementing' ? assignmentText(draft.spec, task, result.read) : continueTaskText(draft.spec, task, result.read),
  })
}
