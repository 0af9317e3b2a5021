// Handles a member whose files cannot be opened or prepared: the member leaves, and its task goes to another worker. This counts as a loss,
// not as a failed attempt. Chooses the ref that keeps reported files. Must never give such a member another task.
// Test: test/tables/kernel/crew/decide/lost-files.test.ts.
import { requeueTask, endReview } from './release-task.ts'
import { isActive } from '../state/queries.ts'
import { dismissMember } from './commands/member-commands.ts'
import { isClosed } from '../state/task-states.ts'
import type { CrewDraft } from './draft.ts'
import type { RequeueOptions } from './release-task.ts'
import type { Task } from '../../model/crew/crew.ts'
import type { KeptFiles, MemberId } from '../../model/crew/words.ts'

/** Dismisses the member and requeues its task. Readable files are salvaged. The member may have left already. */
export function dismissForLostFiles(
  draft: CrewDraft,
  id: MemberId,
  error: string,
  reason = `the files of ${id} cannot be used: ${error}`,
): void {
  const member = draft.findMember(id)
  if (!member) return
  const reviewed = member.phase === 'reviewing' ? draft.findTask(member.task) : undefined
  if (reviewed) endReview(draft, reviewed, reason)
  const task = draft.crew.tasks.find((task) => task.implementer === id && !isClosed(task) && task.state !== 'merging')
  if (task) takeBackTask(draft, task, { reason, keeps: keptFilesOf(task), withoutNoticeTo: id, lost: true })
  if (member.state === 'on' && isActive(member)) dismissMember(draft, id, 'lost', reason)
}

/** Requeues a task without a failed attempt. Salvages the worker's files, unless the review ref has them. */
export function takeBackTask(
  draft: CrewDraft,
  task: Task,
  { keeps, ...options }: Pick<RequeueOptions, 'reason' | 'withoutNoticeTo' | 'lost'> & { readonly keeps: KeptFiles | null },
): void {
  const filesOwner = task.prepared ? task.implementer : (draft.findMember(task.implementer)?.heirOf ?? null)
  if (filesOwner !== null && draft.spec.git && keeps !== 'review') draft.requestJob({ type: 'salvage', member: filesOwner, task: task.id })
  requeueTask(draft, task, { ...options, counts: false, ...(keeps ? { keeps } : {}) })
}

/** The ref that keeps the reported files: the review ref if a reviewer has seen them, else the salvage ref. Null before a report. */
export function keptFilesOf({ state, briefed, parked }: Task): KeptFiles | null {
  if (parked) return 'review'
  if (state === 'approved' || state === 'waiting' || state === 'committing' || (state === 'in_review' && briefed))
    return briefed ? 'review' : 'salvage'
  return state === 'awaiting_review' || state === 'in_review' ? 'salvage' : null
}
