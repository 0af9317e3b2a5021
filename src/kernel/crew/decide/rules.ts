// The rules of a crew, in their order; they are the same for every kind of coordinator. They fail tasks whose needs failed, pass gates,
// land commits, prepare files, brief reviewers and end the crew. Each rule makes at most one change. After each change the first rule is
// tried again, so that every rule sees the result of the rules before it. When no rule makes a change, a stalled coordinator is reminded.
// Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { KernelError } from '../../model/errors.ts'
import { askUser, canAskUser } from './user-questions.ts'
import { briefWorker, seqsToRead } from './brief-job.ts'
import { closeTask, failTask } from './release-task.ts'
import {
  isGatedByUser,
  needsCommit,
  hasJobsThatNeedMember,
  currentImplementer,
  hasUnusedFiles,
  isReady,
  openTasks,
} from '../state/queries.ts'
import { taskName } from '../text/task-text.ts'
import { startNextCommit } from './merge-queue.ts'
import { resumeMergeAfterConflict } from './merge-task.ts'
import { parkNextTask, resumeParkedTask } from './park-task.ts'
import { isCommittingOrMerging } from '../state/task-states.ts'
import { remindStalledCoordinator } from './stalled-coordinator.ts'
import { awaitsVerify } from '../state/verify-rules.ts'
import { verifyNextTask } from './verify.ts'
import type { CrewDraft } from './draft.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'
import type { MemberId, TaskState } from '../../model/crew/words.ts'

/** Makes at most one change. Returns whether it made one. */
type Rule = (draft: CrewDraft) => boolean

const RULES: readonly Rule[] = [
  cancelRequeuedTask,
  failTaskWithFailedNeed,
  resumeMergeAfterConflict,
  askHumanTask,
  passGate,
  resumeParkedTask,
  startNextCommit,
  closeTaskWithoutCommit,
  prepareNextTask,
  verifyNextTask,
  briefNextReviewer,
  deliverUnreadComments,
  resetNextWorktree,
  parkNextTask,
  endCrew,
]
/** maximum number of rule changes per decision; more than that is a defect of the rules */
const MAX_RULE_CHANGES = 10_000

export function applyRules(draft: CrewDraft): void {
  for (let count = 0; count < MAX_RULE_CHANGES; count += 1) {
    if (RULES.some((rule) => rule(draft))) continue
    return remindStalledCoordinator(draft)
  }
  throw new KernelError('INTERNAL', 'the rules of a crew do not come to an end')
}

/** Cancels a task that came back to the queue of an ending crew because its commit failed. */
function cancelRequeuedTask(draft: CrewDraft): boolean {
  const task = draft.crew.ending ? draft.crew.tasks.find(({ state }) => state === 'queued') : undefined
  if (task)
    closeTask(
      draft,
      task,
      { type: 'task.cancelled', task: task.id, reason: `the crew ended${task.reason ? `; ${task.reason}` : ''}` },
      `${taskName(task)} was cancelled`,
    )
  return task !== undefined
}

/** Fails a queued task that needs a failed or cancelled one. */
function failTaskWithFailedNeed(draft: CrewDraft): boolean {
  for (const task of draft.crew.tasks) {
    const need =
      task.state === 'queued'
        ? task.needs.map((id) => draft.findTask(id)).find((needed) => needed?.state === 'failed' || needed?.state === 'cancelled')
        : undefined
    if (!need) continue
    failTask(draft, task, `needs ${need.id}, which ${need.state === 'failed' ? 'failed' : 'was cancelled'}`, need.id)
    return true
  }
  return false
}

/** Asks the user for the result of a task of the kind `human`. */
function askHumanTask(draft: CrewDraft): boolean {
  const task = canAskUser(draft.crew) ? draft.crew.tasks.find((task) => task.kind === 'human' && isReady(draft.crew, task)) : undefined
  if (task) askUser(draft, task, 'human')
  return task !== undefined
}

/** Approves a commit to which no gate applies, or asks the user. The gate of a coordinator agent needs no rule: the agent was notified. */
function passGate(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  const task = crew.tasks.find(
    (task) =>
      !task.cleared &&
      !awaitsVerify(crew, spec, task) &&
      (task.state === 'approved' || (task.state === 'awaiting_review' && !task.reviews)) &&
      (spec.gate === 'auto' || !needsCommit(spec, task) || (isGatedByUser(spec) && canAskUser(crew))),
  )
  if (!task) return false
  if (spec.gate === 'auto' || !needsCommit(spec, task)) draft.emit({ type: 'task.approved', task: task.id, by: null })
  else askUser(draft, task, 'gate')
  return true
}

/** Closes an approved task that has nothing to commit. */
function closeTaskWithoutCommit(draft: CrewDraft): boolean {
  const task = draft.crew.tasks.find((task) => task.state === 'approved' && task.cleared && !needsCommit(draft.spec, task))
  if (task) closeTask(draft, task, { type: 'task.done', task: task.id, reason: null }, `${taskName(task)} is done`)
  return task !== undefined
}

/** The states in which the task's implementer needs files of the task. */
const STATES_WITH_FILES: ReadonlySet<TaskState> = new Set([
  'implementing',
  'awaiting_review',
  'in_review',
  'addressing_feedback',
  'approved',
  'waiting',
])

/**
 * Requests the files of a worker's task. The worker must not be in a turn, and its predecessor must have left: files in use never change.
 */
function prepareNextTask(draft: CrewDraft): boolean {
  const { crew } = draft
  for (const task of crew.tasks) {
    const worker = !task.prepared && STATES_WITH_FILES.has(task.state) ? currentImplementer(crew, task) : undefined
    if (!worker || !hasUnusedFiles(crew, worker) || isBeingSalvaged(crew, task)) continue
    const predecessor = crew.members.find(({ id }) => id === worker.heirOf && task.implementers.includes(id))
    if (predecessor && (predecessor.state !== 'gone' || hasJobsThatNeedMember(crew, predecessor.id))) continue
    draft.requestJob({
      type: 'prepare',
      member: worker.id,
      task: task.id,
      from: predecessor?.id ?? null,
      read: seqsToRead(crew, task),
      ...(task.keeps ? { keeps: task.keeps } : {}),
    })
    return true
  }
  return false
}

/** Whether files of an earlier attempt are being salvaged. The next implementer needs the ref of these files. */
function isBeingSalvaged({ jobs }: Crew, { id }: Task): boolean {
  return jobs.some((job) => job.type === 'salvage' && job.task === id)
}

function briefNextReviewer(draft: CrewDraft): boolean {
  const { crew } = draft
  const task = crew.tasks.find((task) => task.state === 'in_review' && !task.briefed && areFilesUnused(crew, task.reviewer))
  if (task?.reviewer) briefWorker(draft, task, task.reviewer)
  return task !== undefined
}

function areFilesUnused(crew: Crew, id: MemberId | null): boolean {
  const member = crew.members.find((member) => member.id === id)
  return member !== undefined && hasUnusedFiles(crew, member)
}

/** Delivers the comments to a member whose own task was sent back while the member reviewed another task. */
function deliverUnreadComments(draft: CrewDraft): boolean {
  const member = draft.crew.members.find(
    (member) => member.unheard && member.phase === 'addressing_feedback' && hasUnusedFiles(draft.crew, member),
  )
  const task = draft.findTask(member?.task ?? null)
  if (member && task) briefWorker(draft, task, member.id)
  return member !== undefined
}

/** Resets the files that a cancelled task left in its worker's worktree. */
function resetNextWorktree(draft: CrewDraft): boolean {
  const { crew } = draft
  const member = crew.members.find((member) => member.cleanup !== null && member.phase === 'idle' && hasUnusedFiles(crew, member))
  if (!member || member.cleanup === null) return false
  draft.requestJob({ type: 'reset', member: member.id, task: member.cleanup })
  return true
}

function endCrew(draft: CrewDraft): boolean {
  const { ending } = draft.crew
  if (!ending || ending.ended || openTasks(draft.crew).some(isCommittingOrMerging)) return false
  draft.emit({ type: 'crew.ended' })
  draft.addAct({ type: 'end', outcome: ending.outcome, summary: ending.summary })
  return true
}
