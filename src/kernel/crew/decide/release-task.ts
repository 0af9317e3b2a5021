// Takes tasks away from workers that retire, stop or are lost. Also requeues and closes tasks and ends reviews, and notifies the workers
// and the coordinator. Must never leave a worker in a phase that nothing ends.
// Test: test/tables/kernel/crew/state/transition-tables.test.ts.
import { currentImplementer } from '../state/queries.ts'
import { taskName } from '../text/task-text.ts'
import { isClosed } from '../state/task-states.ts'
import type { CrewDraft } from './draft.ts'
import type { Member, Task } from '../../model/crew/crew.ts'
import type { KeptFiles, MemberId, TaskId } from '../../model/crew/words.ts'

/**
 * Requeues the member's task, or ends its review. An approved task of a lost member stays approved, and reeve commits it from the member's
 * files. Only a loss counts as a failed attempt. `isByUser`: the user caused the release, so it is not a failed attempt.
 */
export function releaseHeldTask(
  draft: CrewDraft,
  member: Member,
  action: 'retire' | 'stop' | 'lose',
  reason: string,
  isByUser = false,
): void {
  const task = draft.findTask(member.task)
  if (!task) return
  if (task.reviewer === member.id && member.phase === 'reviewing') {
    endReview(draft, task, reason, isByUser)
    // The member's own task waited during its review.
    if (member.own) releaseHeldTask(draft, { ...member, phase: 'awaiting_review', task: member.own, own: null }, action, reason, isByUser)
    return
  }
  if (action === 'lose' && task.prepared && needsOnlyFiles(task)) return
  // If the member's files are not prepared yet, the task's files are still those of its predecessor.
  const filesOwner = task.prepared ? member.id : member.heirOf
  const counts = action === 'lose' && !isByUser
  requeueTask(draft, task, {
    reason,
    counts: counts && hadTurn(task),
    withoutNoticeTo: member.id,
    ...(counts && !hadTurn(task) ? { lost: true } : {}),
  })
  if (action === 'lose' && filesOwner !== null && draft.spec.git) draft.requestJob({ type: 'salvage', member: filesOwner, task: task.id })
}

/** Whether the worker had a turn for the task. Without a turn, there was no attempt. */
function hadTurn({ begun, prepared }: Task): boolean {
  return begun ?? prepared
}

/** Whether the task only waits for an approval or its commit, which needs the worker's files but not the worker. */
function needsOnlyFiles({ state }: Task): boolean {
  return state === 'approved' || state === 'waiting' || state === 'committing'
}

export interface RequeueOptions {
  readonly reason: string
  /** the attempt has failed */
  readonly counts: boolean
  /** a member that gets no message about the requeue */
  readonly withoutNoticeTo?: MemberId
  /** counts as a loss: the worker was lost before its first turn for the task, or its files were lost */
  readonly lost?: true
  readonly keeps?: KeptFiles
}

/** number of losses after which a task fails; `RequeueOptions.lost` defines a loss */
const MAX_LOSSES = 3

/** Names the failed attempts, as the subject of a sentence. */
export function failedAttemptsText({ attempts }: Pick<Task, 'attempts'>): string {
  return attempts === 1 ? 'its only attempt' : `all ${attempts} attempts`
}

/** Returns a task to the crew's queue. Fails it after its last attempt. */
export function requeueTask(draft: CrewDraft, task: Task, { reason, counts, withoutNoticeTo, lost, keeps }: RequeueOptions): void {
  withdrawTask(draft, task, `${taskName(task)} went back to the queue: ${reason}`, withoutNoticeTo)
  unmaskCommittingWorker(draft, task)
  draft.emit({ type: 'task.requeued', task: task.id, reason, counts, ...(lost ? { lost } : {}), ...(keeps ? { keeps } : {}) })
  const updatedTask = draft.requireTask(task.id)
  const { attempts, losses = 0 } = updatedTask
  if (lost && losses >= MAX_LOSSES)
    return failTask(draft, updatedTask, `${losses} workers were lost before it was done; the last reason: ${reason}`)
  if (counts && attempts >= draft.spec.maxAttempts)
    failTask(draft, updatedTask, `${failedAttemptsText(updatedTask)} failed; the last reason: ${reason}`)
  else
    draft.messageCoordinator(
      `${taskName(task)} is back in the queue (${attempts} of ${draft.spec.maxAttempts} attempts failed): ${reason}`,
      task,
    )
}

/** Fails a task. `need`: the needed task whose failure is the only cause; otherwise undefined. */
export function failTask(draft: CrewDraft, task: Task, reason: string, need?: TaskId): void {
  closeTask(
    draft,
    task,
    { type: 'task.failed', task: task.id, reason, ...(need === undefined ? {} : { need }) },
    `${taskName(task)} failed: ${reason}`,
  )
  draft.addAct({ type: 'notify', text: `${taskName(task)} failed: ${reason}` })
}

export function closeTask(
  draft: CrewDraft,
  task: Task,
  fact: Extract<Parameters<CrewDraft['emit']>[0], { type: 'task.done' | 'task.failed' | 'task.cancelled' }>,
  text: string,
): void {
  withdrawTask(draft, task, text)
  unmaskCommittingWorker(draft, task)
  draft.emit(fact)
  draft.messageCoordinator(text, task)
}

/** Ends the protection of a committing worker, which may now be stopped and paused again. */
export function unmaskCommittingWorker(draft: CrewDraft, task: Task): void {
  const worker = currentImplementer(draft.crew, task)
  if (task.state === 'committing' && worker?.state === 'on') draft.addAct({ type: 'mask', member: worker.id, on: false })
}

/** Notifies the task's workers that they must stop, and withdraws the open question to the user. */
function withdrawTask(draft: CrewDraft, task: Task, text: string, withoutNoticeTo?: MemberId): void {
  if (task.ask) draft.addAct({ type: 'unask', task: task.id, id: task.ask.id })
  // No worker has to stop if the task is being committed or merged, or is closed already.
  if (task.state === 'committing' || task.state === 'merging' || isClosed(task)) return
  for (const member of draft.crew.members) {
    if (member.task !== task.id || member.state !== 'on' || member.id === withoutNoticeTo) continue
    // The member has no instructions for the task, or nothing to do for it.
    if (member.phase === 'awaiting_review' || !(member.phase === 'reviewing' ? task.briefed : task.prepared)) continue
    if (member.turn.open !== null && member.turn.phase === member.phase) draft.addAct({ type: 'interrupt', member: member.id })
    draft.send(member.id, {
      from: 'system',
      task: task.id,
      text: `${text}. Stop working on it and call signal_ready. reeve saves your uncommitted changes and cleans your worktree for the next task.`,
    })
  }
}

/** Ends a review without a verdict. The reviewer becomes free, and the task awaits another review. */
export function endReview(draft: CrewDraft, task: Task, reason: string, isByUser = false): void {
  const member = task.reviewer
  if (member === null) return
  draft.emit({ type: 'task.unreviewed', task: task.id, member, reason, ...(isByUser ? { by: 'user' } : {}) })
  draft.messageCoordinator(`${taskName(task)} got no verdict from ${member}: ${reason}`, task)
}
