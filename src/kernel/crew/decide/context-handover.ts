// Hands the work of a member whose context is nearly full to a successor. The member is asked for a summary, with which its successor
// continues. If an agent coordinates, that agent decides about workers. Test: test/tables/kernel/crew/decide/member-turns.test.ts.
import { requeueTask, endReview } from './release-task.ts'
import { coordinatorRecipient, isActive } from '../state/queries.ts'
import { dismissMember, MAX_COORDINATORS, replaceMember } from './commands/member-commands.ts'
import type { Command } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { Member, Task } from '../../model/crew/crew.ts'

/** number of handovers in a row after which the attempt has failed */
const MAX_SUCCESSORS = 4

export function requestHandover(draft: CrewDraft, { member: id, share }: Extract<Command, { type: 'member_context_full' }>): string {
  const member = draft.findMember(id)
  if (!member || member.full || member.state !== 'on' || !isActive(member) || draft.spec.handOver === null || draft.crew.ending)
    return 'noted'
  draft.emit({ type: 'crew.full', member: id, share })
  const usedText = `${Math.round(share * 100)} % of ${id}'s context is used`
  if (member.role === 'coordinator') {
    draft.send(id, {
      from: 'system',
      text: `${usedText}. Call replace_worker with your own id "${id}" and a summary: what was decided and what is next. Your successor sees the tasks and knows nothing else.`,
    })
  } else if (coordinatorRecipient(draft.crew)) {
    draft.messageCoordinator(`${usedText}. Ask it for a summary, then call replace_worker with that summary.`, null)
  } else if (member.phase !== 'idle') {
    draft.send(id, {
      from: 'system',
      text: `${usedText}. If you cannot finish in this turn, call post_message to "coordinator" with a summary for your successor. It needs: what is done, what is left, and what you learned. Your successor takes over your files as they are.`,
    })
  }
  return usedText
}

/** Handles a member that is paused because its context is full and cannot be compacted. */
export function handOverPaused(draft: CrewDraft, member: Member): void {
  const { id, role, phase } = member
  if (draft.spec.handOver === null || draft.crew.ending || member.state !== 'on' || !isActive(member)) return
  if (!member.full) draft.emit({ type: 'crew.full', member: id, share: 1 })
  if (isReplacedAutomatically(draft, member))
    replaceOrGiveUp(draft, member, 'it left no summary, because its context was full: check the files that it left')
  else if (role !== 'coordinator' && phase !== 'idle')
    draft.messageCoordinator(
      `${id} is paused (context-full): its context is full. replace_worker gives its task to a successor.`,
      draft.findTask(member.task) ?? null,
    )
  const updatedMember = draft.requireMember(id)
  if (draft.spec.coordinator === 'engine' && updatedMember.heir === null && updatedMember.phase === 'idle')
    dismissMember(draft, id, 'retired', 'its context is full')
}

/** Replaces a member that was asked for a summary, with its last text as that summary. Returns whether it was replaced. */
export function handOverIfFull(draft: CrewDraft, member: Member, text: string): boolean {
  if (!member.full || member.told || !isReplacedAutomatically(draft, member) || !isActive(member) || draft.crew.ending) return false
  replaceOrGiveUp(draft, member, text === '' ? 'it left no summary' : text)
  return true
}

/** Whether the member gets a successor without a command: a coordinator, or under the engine a worker that implements or reviews. */
function isReplacedAutomatically({ crew, spec }: CrewDraft, { role, phase }: Member): boolean {
  if (role === 'coordinator') return crew.nextCoordinator <= MAX_COORDINATORS
  return spec.coordinator === 'engine' && phase !== 'idle' && phase !== 'committing'
}

function replaceOrGiveUp(draft: CrewDraft, member: Member, summary: string): void {
  const task = draft.findTask(member.task)
  const predecessors = countPredecessors(draft, member)
  if (task && predecessors >= MAX_SUCCESSORS)
    giveUpAttempt(draft, member, task, `the contexts of ${predecessors + 1} workers in a row were too small for it`)
  else replaceMember(draft, member, summary)
}

function countPredecessors(draft: CrewDraft, { heirOf }: Member): number {
  let count = 0
  for (let id = heirOf; id !== null; id = draft.findMember(id)?.heirOf ?? null) count += 1
  return count
}

/** Ends the attempt, because further handovers would cost tokens without end. */
function giveUpAttempt(draft: CrewDraft, member: Member, task: Task, reason: string): void {
  if (member.phase === 'reviewing') endReview(draft, task, reason)
  else requeueTask(draft, task, { reason, counts: true })
}
