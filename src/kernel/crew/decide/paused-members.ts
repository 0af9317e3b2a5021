// Handles pauses of members. Sends the notices about a pause and about its end. Under the engine, a member that is paused in a loop loses
// its task. A pause by the user, or for a cause that would affect the next worker too, keeps the task. Must never end a pause itself.
// Test: test/tables/kernel/crew/decide/paused-members.test.ts.
import { releaseHeldTask } from './release-task.ts'
import { coordinatorOf, isLooping, isActive, isWorker } from '../state/queries.ts'
import { handOverPaused } from './context-handover.ts'
import { requestCommitJob } from './commit-task.ts'
import { dismissMember } from './commands/member-commands.ts'
import { resumedText, pausedText } from '../text/status-text.ts'
import type { Command } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { Member } from '../../model/crew/crew.ts'

type MemberHeld = Extract<Command, { type: 'member_held' }>

export function handleMemberHeld(draft: CrewDraft, { member: id, held, reason, wakes, note }: MemberHeld): string {
  const before = draft.findMember(id)
  if (!before || before.state === 'gone' || (before.held === held && before.heldFor === reason)) return 'noted'
  draft.emit({ type: 'crew.held', member: id, held, ...(reason === undefined ? {} : { reason }), ...(wakes ? { wakes } : {}) })
  const member = draft.requireMember(id)
  if (!held) notifyResumed(draft, before, member)
  else if (reason === 'context-full' && draft.spec.handOver !== null) handOverPaused(draft, member)
  else if (reason !== undefined && isLooping(member) && draft.spec.coordinator === 'engine') stopLooping(draft, member, reason, note)
  else notifyPaused(draft, member, note)
  return 'noted'
}

/** Reports the end of a pause, unless the pause ended automatically or was a pause of the whole crew. */
function notifyResumed(draft: CrewDraft, before: Member, member: Member): void {
  if (!isWorker(member)) notifyAllPaused(draft)
  else if (before.wakes !== true && isNotified(draft, before))
    draft.messageCoordinator(resumedText(draft.crew, member), draft.findTask(member.task) ?? null)
}

/** Notifies the coordinator of all paused members, after the coordinator or the crew was resumed. */
export function notifyAllPaused(draft: CrewDraft): void {
  for (const member of draft.crew.members) if (member.held) notifyPaused(draft, member)
}

function notifyPaused(draft: CrewDraft, member: Member, note?: string): void {
  if (isWorker(member) && isActive(member) && isNotified(draft, member))
    draft.messageCoordinator(pausedText(draft.crew, member, note), draft.findTask(member.task) ?? null)
}

/** Whether the coordinator is notified of this pause now. A paused coordinator is notified when it resumes. */
function isNotified({ crew, context }: CrewDraft, { heldFor }: Member): boolean {
  return heldFor !== 'subtree' && context.paused !== true && coordinatorOf(crew)?.held === false
}

/** Stops a member that is paused in a loop. The attempt has failed, and the files are salvaged. */
function stopLooping(draft: CrewDraft, member: Member, cause: string, note?: string): void {
  if (!isWorker(member) || member.state !== 'on' || !isActive(member) || draft.crew.ending) return
  const task = draft.findTask(member.task)
  // The change is approved, so reeve first commits the member's files. The engine stops the member afterwards.
  if (task && member.phase === 'committing') {
    requestCommitJob(draft, member.id, task, true)
    return
  }
  const reason = `${member.id} was stopped because it was paused in a loop (${cause})${note === undefined ? '' : `: ${note}`}`
  releaseHeldTask(draft, member, 'lose', reason)
  dismissMember(draft, member.id, 'stopped', reason)
  draft.addAct({ type: 'warn', text: reason })
}
