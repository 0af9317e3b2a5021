// Reminds a coordinator that is an agent and does nothing while tasks are open and no one else makes progress. After two notices, the user
// is notified, and asked for the reviews that no worker can do. Test: test/tables/kernel/crew/decide/stalled-coordinator.test.ts.
import { askUser, canAskUser } from './user-questions.ts'
import { coordinatorOf, hasNoReviewer, isActive, isWorker, openTasks } from '../state/queries.ts'
import { isReviewable } from '../state/reviewers.ts'
import { describeWaits } from '../text/describe-waits.ts'
import { stalledText } from '../text/status-text.ts'
import type { CrewDraft } from './draft.ts'
import type { Job } from '../../model/crew/facts.ts'
import type { Member } from '../../model/crew/crew.ts'

/** number of stall notices to a coordinator after which the user is notified */
const MAX_STALL_NOTICES = 2
/** maximum number of reasons that one notification names */
const MAX_NAMED_WAITS = 5

/** Sends a stall notice to an idle coordinator if tasks are open and nothing makes progress. After two notices, the user is notified. */
export function remindStalledCoordinator(draft: CrewDraft): void {
  const { crew, spec } = draft
  const coordinator = coordinatorOf(crew)
  const isIdle =
    coordinator && isActive(coordinator) && !coordinator.held && !coordinator.told && coordinator.turn.open === null && !coordinator.fresh
  const open = openTasks(crew)
  if (!isIdle || crew.ending || crew.stalls > MAX_STALL_NOTICES || crew.tasks.length === 0 || (open.length === 0 && spec.stay)) return
  if (
    crew.jobs.some(isAwaited) ||
    crew.members.some(isProgressing) ||
    open.some((task) => task.state === 'waiting' && !isReviewable(crew, spec, task))
  )
    return
  const text = stalledText(crew, spec)
  if (text === null) return
  draft.emit({ type: 'crew.stalled' })
  if (draft.crew.stalls <= MAX_STALL_NOTICES) return draft.send(coordinator.id, { from: 'system', text })
  const waits = describeWaits(crew, spec)
  const more = waits.length > MAX_NAMED_WAITS ? `; and ${waits.length - MAX_NAMED_WAITS} more` : ''
  draft.notifyUser(`The coordinator is idle while tasks wait: ${waits.slice(0, MAX_NAMED_WAITS).join('; ')}${more}`)
  for (const task of open)
    if (task.state === 'awaiting_review' && hasNoReviewer(crew, task) && canAskUser(draft.crew)) askUser(draft, task, 'review')
}

/** Whether the job ends without the user. A patient merge may wait until the user checks out another branch. */
function isAwaited(job: Job): boolean {
  return !(job.type === 'merge' && job.patient)
}

/** Whether the member continues without the coordinator: it starts, has a turn, or is paused until the user or a timer resumes it. */
function isProgressing(member: Member): boolean {
  const { state, held, heldFor, wakes, phase, turn, told } = member
  if (!isWorker(member) || state === 'gone') return false
  if (held && state === 'on') return phase !== 'idle' && (wakes === true || heldFor === 'user' || heldFor === 'subtree')
  return state !== 'on' || turn.open !== null || told
}
