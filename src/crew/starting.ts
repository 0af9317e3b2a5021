// The beginning and the end of a crew. Owns that open jobs are asked again at each start, and that nothing which is being committed
// is cut off at the end. Test: test/tables/crew-ways.test.ts.
import { refusal } from './crew-work.ts'
import { close } from './effects.ts'
import { openTasks } from './finding.ts'
import { newMember } from './leading.ts'
import { isLanding } from './tasks.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Job, Member, MemberId } from './types.ts'

const SUMMARY_CHARS = 16 * 1_024

/** An answer may not have come in while it did not run: each job can be repeated, and is done once at a time. */
function askAgain(work: CrewWork): void {
  for (const job of work.crew.jobs) if (!isInItsWay(work.member(job.member), job)) work.act({ type: 'job', job })
}

/** A turn that began while the crew did not run: nobody's files change in one. */
function isInItsWay(member: Member | undefined, { type }: Job): boolean {
  return member !== undefined && member.turn.open !== null && (type === 'prepare' || type === 'reset')
}

/** What could not be asked again in a turn that has ended now. */
export function askOf(work: CrewWork, id: MemberId): void {
  for (const job of work.crew.jobs) if (job.member === id && (job.type === 'prepare' || job.type === 'reset')) work.act({ type: 'job', job })
}

export function woken(work: CrewWork): string {
  askAgain(work)
  return 'goes on'
}

/** What a person is asked is the process's own, and outlives its daemon. */
export function begin(work: CrewWork): string {
  askAgain(work)
  if (work.crew.begun) return 'goes on'
  work.emit({ type: 'crew.begun' })
  if (work.spec.coordinator === 'agent') newMember(work, 'coordinator')
  for (const { role, count } of work.spec.staff) for (let made = 0; made < count; made += 1) newMember(work, role)
  return 'has begun'
}

/** Open tasks are cancelled; what is being committed is waited for. Errors: CONFLICT, INVALID. */
export function completeCrew(work: CrewWork, { summary, outcome }: Extract<Command, { type: 'complete_crew' }>): string {
  if (work.crew.ending) throw refusal('CONFLICT', 'the crew is ending', 'Nothing to do.')
  if (summary.length > SUMMARY_CHARS) throw refusal('INVALID', `the summary has ${summary.length} characters`, `Give it at most ${SUMMARY_CHARS}.`)
  const open = openTasks(work.crew)
  if (outcome === 'completed' && open.length > 0) {
    throw refusal('CONFLICT', `${open.length === 1 ? 'a task is' : `${open.length} tasks are`} open: ${open.slice(0, 20).map(({ id }) => id).join(', ')}`, 'Finish or cancel them first, or say that it `failed` or is `cancelled`: then they are cancelled.')
  }
  work.emit({ type: 'crew.ending', outcome, summary })
  for (const task of open) {
    const now = work.needTask(task.id)
    if (!isLanding(now)) close(work, now, { type: 'task.cancelled', task: now.id, reason: 'the crew ended' }, 'the crew ends')
  }
  return open.length === 0 ? 'the crew ends' : 'the crew ends as soon as what is being committed is done'
}
