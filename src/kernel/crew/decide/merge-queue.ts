// The merge queue: decides which approved task is committed and merged next. One task is in progress at a time, until its commit is on the
// crew's branch. The others wait until it is done, failed or sent back. The next task is chosen by priority, then by order of approval.
// commit-task.ts and merge-task.ts have the two parts of the work.
// Tests: test/tables/kernel/crew/decide/task-lifecycle.test.ts, test/simulation/crew.test.ts.
import { isGatedByUser, mayReview, needsCommit, currentImplementer, priorityOf, workersOf } from '../state/queries.ts'
import { isClosed, isCommittingOrMerging } from '../state/task-states.ts'
import { canImplement } from '../state/eligible-workers.ts'
import { askForCommit, canCommit, requestCommitJob } from './commit-task.ts'
import type { CrewDraft } from './draft.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/**
 * The next task to commit. Undefined if no task may be committed, or while a commit or merge is in progress, unless that merge waits for a
 * conflict task. Conflict tasks, and tasks that block the queue (`landing.holds`), come before all others.
 */
function nextTaskToCommit(crew: Crew, canBeCommitted: (task: Task) => boolean): Task | undefined {
  const landing = crew.tasks.filter(isCommittingOrMerging)
  if (landing.some(({ conflict }) => conflict === null)) return undefined
  const conflicts = crew.tasks.filter(({ id }) => landing.some(({ conflict }) => conflict === id))
  const blocking = crew.tasks.filter((task) => task.landing?.holds && !isClosed(task))
  const queueBlockers = [...blocking, ...conflicts].filter((task) => !mustLetOthersPass(crew, task))
  const candidates = queueBlockers.length > 0 ? queueBlockers : crew.tasks
  return candidates
    .filter((task) => task.state === 'approved' && task.cleared && canBeCommitted(task))
    .toSorted((a, b) => priorityOf(b) - priorityOf(a) || (a.landing?.since ?? 0) - (b.landing?.since ?? 0))[0]
}

/**
 * Whether a task that blocks the queue must let others pass, because the crew would deadlock otherwise. True if the task waits for the
 * user, or if every worker that could continue it waits for the queue.
 */
function mustLetOthersPass(crew: Crew, task: Task): boolean {
  if (task.state === 'waiting') return true
  const isAble = task.state === 'queued' ? (member: Member) => canImplement(member, task) : (member: Member) => mayReview(member, task)
  const needsWorker = task.state === 'queued' || task.state === 'awaiting_review'
  return (
    needsWorker &&
    !workersOf(crew).some(
      (member) => isAble(member) && !member.held && (member.phase !== 'awaiting_review' || task.state === 'awaiting_review'),
    )
  )
}

/** Starts the commit of the next task. If its worker has left, reeve commits the reviewed files. Returns whether a commit was started. */
export function startNextCommit(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  const task = nextTaskToCommit(crew, (task) => needsCommit(spec, task) && canCommit(crew, task))
  if (!task || task.implementer === null) return false
  const worker = currentImplementer(crew, task)
  draft.emit({ type: 'task.committing', task: task.id })
  if (worker) draft.addAct({ type: 'mask', member: worker.id, on: true })
  // The user approved without a review, so no commit of the approved files exists yet. `brief` makes one.
  if (isApprovedByUserOnly(spec, task))
    draft.requestJob({ type: 'brief', member: task.implementer, task: task.id, implementer: task.implementer, read: [] })
  else if (!worker) requestCommitJob(draft, task.implementer, task, true)
  // A change with a second review is committed already.
  else if (task.landing?.differs) requestCommitJob(draft, worker.id, task, false)
  else askForCommit(draft, task, worker.id)
  return true
}

function isApprovedByUserOnly(spec: CrewSpec, { viewed: viewedCommit = null, verdict, reviews }: Task): boolean {
  return viewedCommit === null && (reviews || verdict === 'APPROVED' || isGatedByUser(spec))
}
