// Starts and ends a crew. Guarantees that open jobs are requested again at each start, and that the end waits for commits in progress.
// Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { refusalError } from './refusal-error.ts'
import { closeTask } from './release-task.ts'
import { needsUnusedFiles, openTasks } from '../state/queries.ts'
import { endHalt } from './halt.ts'
import { startMember } from './commands/member-commands.ts'
import { notifyAllPaused } from './paused-members.ts'
import { isCommittingOrMerging } from '../state/task-states.ts'
import type { Command } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { Member } from '../../model/crew/crew.ts'
import type { MemberId } from '../../model/crew/words.ts'
import type { Job } from '../../model/crew/facts.ts'

const MAX_SUMMARY_CHARS = 16 * 1_024

/**
 * Requests open jobs again, because their results may have been lost while the crew was not running. Each job is safe to repeat. A job that
 * needs unused files waits for the end of its member's turn: see `requestDeferredJobs`.
 */
function requestOpenJobs(draft: CrewDraft): void {
  for (const job of draft.crew.jobs) if (!isBlockedByTurn(draft.findMember(job.member), job)) draft.addAct({ type: 'job', job })
}

/** Whether the member is in a turn although the job needs its files unused. */
function isBlockedByTurn(member: Member | undefined, job: Job): boolean {
  return member !== undefined && member.turn.open !== null && needsUnusedFiles(job)
}

/** Requests the jobs that had to wait until the member's turn ended. */
export function requestDeferredJobs(draft: CrewDraft, id: MemberId): void {
  for (const job of draft.crew.jobs) if (job.member === id && needsUnusedFiles(job)) draft.addAct({ type: 'job', job })
}

/** Continues a crew after a pause. */
export function unpauseCrew(draft: CrewDraft): string {
  endHalt(draft)
  requestOpenJobs(draft)
  notifyAllPaused(draft)
  return 'goes on'
}

/** Starts a crew, or continues it after a resume or a daemon restart. Open questions need nothing: the process keeps them. */
export function beginCrew(draft: CrewDraft): string {
  if (!draft.context.paused) endHalt(draft)
  requestOpenJobs(draft)
  if (draft.crew.begun) return 'goes on'
  draft.emit({ type: 'crew.begun' })
  if (draft.spec.coordinator === 'agent') startMember(draft, 'coordinator')
  for (const { role, count } of draft.spec.staff) for (let started = 0; started < count; started += 1) startMember(draft, role)
  return 'has begun'
}

/**
 * Ends the crew. Open tasks are cancelled, except commits in progress, which are completed first. Errors: CONFLICT if the crew is ending,
 * or if tasks are open and the outcome is `completed`; INVALID for a summary that is too long.
 */
export function completeCrew(draft: CrewDraft, { summary, outcome }: Extract<Command, { type: 'complete_crew' }>): string {
  if (draft.crew.ending) throw refusalError('CONFLICT', 'the crew is ending', 'Nothing to do.')
  if (summary.length > MAX_SUMMARY_CHARS)
    throw refusalError('INVALID', `the summary has ${summary.length} characters`, `Give it at most ${MAX_SUMMARY_CHARS} characters.`)
  const open = openTasks(draft.crew)
  if (outcome === 'completed' && open.length > 0) {
    throw refusalError(
      'CONFLICT',
      `${open.length === 1 ? 'a task is' : `${open.length} tasks are`} open: ${open
        .slice(0, 20)
        .map(({ id }) => id)
        .join(', ')}`,
      'Finish or cancel them first, or use the outcome `failed` or `cancelled`, which cancels them.',
    )
  }
  draft.emit({ type: 'crew.ending', outcome, summary })
  for (const task of open) {
    const current = draft.requireTask(task.id)
    if (!isCommittingOrMerging(current))
      closeTask(draft, current, { type: 'task.cancelled', task: current.id, reason: 'the crew ended' }, 'the crew ends')
  }
  return openTasks(draft.crew).length === 0 ? 'the crew ends' : 'the crew ends as soon as the commits in progress are done'
}
