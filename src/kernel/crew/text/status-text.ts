// Status texts for a coordinator agent: paused members, and tasks that make no progress. Each text names the tool that helps. Must never
// decide. Test: test/tables/kernel/crew/decide/paused-members.test.ts.
import { needsCommit, hasRoom, currentImplementer, hasNoReviewer, isReady, openTasks } from '../state/queries.ts'
import { taskName } from './task-text.ts'
import { stateText } from '../state/phases.ts'
import { isReviewable } from '../state/reviewers.ts'
import { isCommittingOrMerging } from '../state/task-states.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { HoldReason } from '../../model/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** maximum number of tasks that one text names */
const MAX_NAMED_TASKS = 20

const ENDS_BY_SUCCESSOR =
  'It does not resume by itself. replace_worker gives its task to a successor. stop_worker puts the task back into the queue.'
const ENDS_BY_USER = 'Only the user can resume it: call notify_user. Or give its task to a successor with replace_worker.'

/** How a pause ends, by its reason. */
const ENDING_BY_REASON: { readonly [R in HoldReason]: string } = {
  user: 'The user paused it. Wait until the user resumes it.',
  subtree: 'The user paused it. Wait until the user resumes it.',
  loop: ENDS_BY_SUCCESSOR,
  breaker: ENDS_BY_SUCCESSOR,
  'context-full': ENDS_BY_SUCCESSOR,
  'rate-limit':
    'It can continue when its provider accepts calls again and the user resumes it: call notify_user. Or use replace_worker for a successor.',
  budget: 'Only the user can raise the budget: call notify_user.',
  credentials: 'Only the user can provide a valid key: call notify_user.',
  'disk-full': 'It resumes by itself when the disk has free space: call notify_user.',
  supervisor: ENDS_BY_USER,
  'daemon-shutdown': ENDS_BY_USER,
  'daemon-crash': ENDS_BY_USER,
}

/** The notice of a pause: the member, its task, and how the pause ends. */
export function pausedText(crew: Crew, member: Member, note?: string): string {
  const { heldFor, wakes } = member
  const nextText = wakes ? 'It resumes by itself. Wait for that.' : (ENDING_BY_REASON[heldFor as HoldReason] ?? ENDS_BY_USER)
  return `${member.id} is paused (${heldFor ?? 'reason unknown'})${note === undefined ? '' : `: ${note}`}. ${heldTaskText(crew, member)} ${nextText}`
}

export function resumedText(crew: Crew, member: Member): string {
  return `${member.id} continues. ${heldTaskText(crew, member)}`
}

function heldTaskText(crew: Crew, { task: id, phase }: Member): string {
  const task = crew.tasks.find((task) => task.id === id)
  return task ? `It holds ${taskName(task)} (${stateText(phase)}).` : 'It holds no task.'
}

/** The notice about a worker that called signal_ready again after its reminders, although it holds a task. */
export function readyButHoldingText(task: Task, { id, phase }: Member, times: number): string {
  return `${id} called signal_ready, but still holds ${taskName(task)} (${stateText(phase)}). It was reminded ${times} times. Send it instructions with send_message, or take the task back with cancel_task and requeue.`
}

/** The stall notice; null when no open task waits for the coordinator. */
export function stalledText(crew: Crew, spec: CrewSpec): string | null {
  const open = openTasks(crew)
  if (open.length === 0) return 'All tasks are closed. Call complete_crew with a summary, or add tasks.'
  const lines = open.flatMap((task) => taskStatusText(crew, spec, task) ?? [])
  if (lines.length === 0) return null
  const more = lines.length > MAX_NAMED_TASKS ? `\n- and ${lines.length - MAX_NAMED_TASKS} more: list_tasks shows them` : ''
  return `No task makes progress:\n${lines
    .slice(0, MAX_NAMED_TASKS)
    .map((line) => `- ${line}`)
    .join('\n')}${more}\n\nCall a tool that resolves this. cancel_task gives up a task that cannot be done; complete_crew ends the crew.`
}

/** The task's state and the tool that helps; null when the coordinator can do nothing for it now. */
function taskStatusText(crew: Crew, spec: CrewSpec, task: Task): string | null {
  const { state } = task
  if (state === 'queued')
    return isReady(crew, task)
      ? `${taskName(task)} is queued. assign_task gives it to an idle worker${hasRoom(crew, spec) ? '; spawn_worker starts another' : ''}.`
      : null
  if (
    isCommittingOrMerging(task) ||
    (state === 'approved' && task.cleared && needsCommit(spec, task) && !currentImplementer(crew, task)?.held)
  )
    return null
  if (state === 'waiting')
    return isReviewable(crew, spec, task)
      ? `${taskName(task)} waits for the user, because no worker could review it. Now assign_review can give it to a worker.`
      : null
  const worker = crew.members.find(
    (member) => member.task === task.id && member.id === (state === 'in_review' ? task.reviewer : task.implementer),
  )
  if (worker?.held && state !== 'awaiting_review')
    return `${worker.id} holds ${taskName(task)} (${stateText(worker.phase)}), and is paused (${worker.heldFor ?? 'reason unknown'}). ${ENDING_BY_REASON[worker.heldFor as HoldReason] ?? ENDS_BY_USER}`
  if (state === 'approved' || (state === 'awaiting_review' && !task.reviews))
    return `${taskName(task)} waits for your approval. approve_commit lets it be committed.`
  if (state === 'awaiting_review')
    return `${taskName(task)} awaits its review. ${hasNoReviewer(crew, task) ? noReviewerText(crew, spec) : 'assign_review gives it to a worker that did not implement it. The worker must be idle or await its own review.'}`
  return worker
    ? `${worker.id} holds ${taskName(task)} (${stateText(worker.phase)}), and ended its turn without a report. send_message gives it instructions; cancel_task with requeue takes the task back.`
    : `${taskName(task)} is ${stateText(state)}.`
}

/** The advice when no worker of the crew can review the task now or later. */
function noReviewerText(crew: Crew, spec: CrewSpec): string {
  return `No worker of the crew can review it: ${hasRoom(crew, spec) ? 'spawn_worker starts one that can.' : 'requeue a task that awaits its review with cancel_task, so that its worker can review another.'}`
}
