// Parks a task that waits for the user, so that its worker can do another task meanwhile. The files move to the review ref, and come back
// after the answer. Must never leave an approved task without a worker: the author gets it back when idle. If the author has left, another
// worker gets it. Test: test/tables/kernel/crew/decide/park-task.test.ts.
import { needsCommit, currentImplementer, blocksQueue, isFree, isActive, hasUnusedFiles, isReady, workersOf } from '../state/queries.ts'
import { takeBackTask } from './lost-files.ts'
import { canImplement } from '../state/eligible-workers.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import type { CrewDraft } from './draft.ts'
import type { Crew, Member } from '../../model/crew/crew.ts'
import type { Job, JobResult } from '../../model/crew/facts.ts'

/** Parks one task whose worker is needed for another. A task that blocks the merge queue is never parked. */
export function parkNextTask(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  for (const task of crew.tasks) {
    const worker = task.state === 'waiting' && task.prepared && !blocksQueue(task) ? currentImplementer(crew, task) : undefined
    if (!worker || worker.held || worker.full || worker.heir !== null || !hasUnusedFiles(crew, worker) || !isNeededElsewhere(crew, worker))
      continue
    if (spec.git === null) draft.emit({ type: 'task.parked', task: task.id })
    else draft.requestJob({ type: 'park', member: worker.id, task: task.id })
    return true
  }
  return false
}

/** Whether a ready task exists that this member could do and no free worker could. */
function isNeededElsewhere(crew: Crew, member: Member): boolean {
  const readyTasks = crew.tasks.filter((task) => task.kind !== 'human' && isReady(crew, task))
  return readyTasks.some(
    (task) => canImplement(member, task) && !workersOf(crew).some((other) => canImplement(other, task) && isFree(crew, other)),
  )
}

/** Returns the error if the files could not be stored on the ref. Null if they were stored, or if the task no longer waits. */
export function handleParkResult(draft: CrewDraft, { member, task: id }: Extract<Job, { type: 'park' }>, result: JobResult): string | null {
  const task = draft.findTask(id)
  const worker = task && currentImplementer(draft.crew, task)
  if (task?.state !== 'waiting' || worker?.id !== member) return null
  if (result.type !== 'parked') return unexpectedResultText(result)
  draft.emit({ type: 'task.parked', task: id })
  return null
}

/** Returns one approved parked task to its author, or to the queue when the author has left. */
export function resumeParkedTask(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  for (const task of crew.tasks) {
    if (task.state !== 'approved' || !task.cleared || !task.parked || !needsCommit(spec, task)) continue
    const author = draft.findMember(task.implementer)
    if (!author || !isActive(author))
      takeBackTask(draft, task, { reason: `its commit is approved, but ${task.implementer} is gone`, keeps: 'review' })
    else if (isFree(crew, author)) draft.emit({ type: 'task.resumed', task: task.id, member: author.id })
    else continue
    return true
  }
  return false
}
