// Handles members that join, leave or are lost. Decides what happens to a lost member's work, and who succeeds a coordinator. Must never
// bring back a member that the user killed; only the user may do that.
// Tests: test/tables/kernel/decide/crew-process/members.test.ts, test/tables/kernel/crew/decide/lost-workers.test.ts.
import { isDiskFullError } from '../../util/disk-full-error.ts'
import { releaseHeldTask } from './release-task.ts'
import { briefWorker } from './brief-job.ts'
import { haltCrew } from './halt.ts'
import { hasJobsThatNeedMember, isWorker, predecessorsOf, lastSuccessorOf } from '../state/queries.ts'
import { requestCommitJob } from './commit-task.ts'
import { needsSetup } from './worktree-setup.ts'
import { dismissMember, MAX_COORDINATORS, replaceMember } from './commands/member-commands.ts'
import { briefingText } from '../text/messages.ts'
import { endTurn } from './member-turns.ts'
import type { CommandOf } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { Member } from '../../model/crew/crew.ts'
import type { Uuid } from '../../model/ids.ts'
import type { Cause } from '../../model/words.ts'
import type { Leave, MemberId } from '../../model/crew/words.ts'

export function handleMemberRunning(draft: CrewDraft, { member: id, uuid, turn, queued = 0 }: CommandOf<'member_running'>): string {
  const member = draft.findMember(id)
  if (!member || (member.state === 'gone' && isBarred(member))) return 'noted'
  closeSpawnJob(draft, id, uuid)
  const isJoining = member.state === 'starting' || member.state === 'gone'
  if (isJoining) joinMember(draft, member, uuid)
  else if (member.state === 'on') handleReturnedMember(draft, member, { uuid, turn, queued })
  // The turn continues, or began while the crew was not running. Until it ends, no job may change the member's files.
  if (turn !== null && (isJoining || (member.state === 'on' && member.turn.open !== turn)))
    draft.emit({ type: 'crew.turn.begun', member: id, turn, resets: false })
  return 'noted'
}

/** Handles a member that is back after a resume or a daemon restart. Its turn may have been interrupted, and its messages lost. */
function handleReturnedMember(
  draft: CrewDraft,
  member: Member,
  { uuid, turn, queued }: { readonly uuid: Uuid; readonly turn: number | null; readonly queued: number },
): void {
  const { open } = member.turn
  const hasLostMessages = member.told && turn === null && queued === 0
  if (open !== null && open !== turn) endTurn(draft, member, { turn: open, outcome: 'interrupted', queued })
  if (hasLostMessages) resendInstructions(draft, draft.requireMember(member.id), uuid)
}

/** Whether the member may not return to the crew: it was retired, or it has a successor. */
function isBarred({ leave, heir }: Member): boolean {
  return heir !== null || leave?.how === 'retired' || leave?.how === 'replaced'
}

function closeSpawnJob(draft: CrewDraft, id: MemberId, uuid: Uuid): void {
  const spawn = draft.crew.jobs.find((job) => job.type === 'spawn' && job.member === id)
  if (spawn) draft.emit({ type: 'crew.job.done', job: spawn.job, result: { type: 'spawned', uuid } })
}

export function joinMember(draft: CrewDraft, member: Member, uuid: Uuid): void {
  const { id, summary } = member
  const predecessors = predecessorsOf(draft.crew, id)
  const predecessorIds = predecessors.filter(({ uuid: process }) => process !== null).map((member) => member.id)
  draft.emit({ type: 'crew.joined', member: id, process: uuid, ...(predecessorIds.length > 0 ? { inherits: true } : {}) })
  if (predecessorIds.length > 0) draft.addAct({ type: 'move', from: predecessorIds, to: id })
  if (draft.crew.ending) return dismissMember(draft, id, 'retired', 'the crew is ending')
  if (needsSetup(draft.spec, member)) draft.requestJob({ type: 'setup', member: id })
  const handover = summary === null ? '' : `${takeOverIntro(predecessors.at(-1), summary)}\n\n`
  if (!isWorker(member)) draft.send(id, { from: 'system', isFirst: true, text: `${handover}${briefingText(draft.crew)}` })
  else if (handover !== '') draft.send(id, { from: 'system', isFirst: true, text: `${handover}Call signal_ready, and wait for work.` })
  const lastPredecessor = predecessors.at(-1)
  if (lastPredecessor?.state === 'on') dismissMember(draft, lastPredecessor.id, 'replaced', `${id} took over`)
}

function takeOverIntro(predecessor: Member | undefined, summary: string): string {
  const intro = `You take over from ${predecessor?.id ?? 'another'}`
  if (predecessor?.leave?.how !== 'lost' && predecessor?.leave?.how !== 'stopped') return `${intro}. It wrote: ${summary}`
  return `${intro}, which was ${predecessor.leave.how}: ${predecessor.leave.reason}. Its unread messages come next.${summary === '' ? '' : ` The user wrote: ${summary}`}`
}

/** Repeats the instructions to a member whose messages were lost. Its files stay unchanged. */
function resendInstructions(draft: CrewDraft, member: Member, uuid: Uuid): void {
  const { id, phase } = member
  draft.emit({ type: 'crew.joined', member: id, process: uuid })
  const task = draft.findTask(member.task)
  if (!isWorker(member)) draft.send(id, { from: 'system', text: briefingText(draft.crew) })
  else if (!task || hasJobsThatNeedMember(draft.crew, id)) return
  else if (phase === 'committing') requestCommitJob(draft, id, task, false)
  else if (phase !== 'awaiting_review' && (phase === 'reviewing' ? task.briefed : task.prepared)) briefWorker(draft, task, id)
}

export function handleMemberGone(draft: CrewDraft, { member: id, cause, reason }: CommandOf<'member_gone'>): string {
  const member = draft.findMember(id)
  if (!member || member.state === 'gone') return 'noted'
  removeLostMember(draft, member, cause, reason)
  return 'noted'
}

/** Records the end of a member that will not be restarted, and decides what happens to its work. */
export function removeLostMember(draft: CrewDraft, member: Member, cause: Cause, exitReason: string): void {
  const { id, state, phase, task, leave } = member
  // If the member was dismissed as lost, the reason of the dismissal counts.
  const reason = state === 'leaving' && leave?.how === 'lost' ? leave.reason : exitReason
  const isByUser = cause === 'person'
  const leaveKind = leaveKindOf(draft, member)
  const how = leaveKind === 'lost' && isByUser ? 'stopped' : leaveKind
  const isLost = leaveKind === 'lost'
  const eventText = isByUser ? 'was stopped by the user' : `was lost${state === 'starting' ? ' before it started' : ''}`
  const spawn = draft.crew.jobs.find((job) => job.type === 'spawn' && job.member === id)
  if (spawn) draft.emit({ type: 'crew.job.done', job: spawn.job, result: { type: 'error', error: reason } })
  draft.emit({ type: 'crew.left', member: id, how, reason, ...(isByUser ? { by: 'user' } : {}) })
  if (isLost) releaseHeldTask(draft, member, 'lose', `${id} ${eventText}: ${reason}`, isByUser)
  if (phase === 'committing') commitForLostMember(draft, id, task)
  if (!isLost) return
  draft.addAct({ type: 'warn', text: `${id} ${eventText}: ${reason}` })
  if (isDiskFullError(reason)) haltCrew(draft, `the disk is full: ${reason}`)
  keepPredecessor(draft, member, reason)
  if (isWorker(member)) draft.messageCoordinator(`${id} ${eventText}: ${reason}`, null)
  else replaceLostCoordinator(draft, member, cause)
}

/**
 * Keeps the predecessor of a successor that was lost before it took over. If the predecessor has left, its unread messages go back to their
 * senders.
 */
function keepPredecessor(draft: CrewDraft, { id, uuid, role }: Member, reason: string): void {
  const predecessors = predecessorsOf(draft.crew, id)
  const lastPredecessor = predecessors.at(-1)
  if (lastPredecessor?.state === 'on') {
    draft.emit({ type: 'crew.kept', member: lastPredecessor.id })
    draft.send(lastPredecessor.id, {
      from: 'system',
      text: `${id} was started as your successor, but was lost: ${reason}. You stay in the crew${role === 'coordinator' ? ' and coordinate it' : ': call signal_ready, and wait for work'}.`,
    })
  } else if (uuid === null && role !== 'coordinator') {
    const predecessorIds = predecessors.filter((member) => member.uuid !== null).map((member) => member.id)
    if (predecessorIds.length > 0) draft.addAct({ type: 'move', from: predecessorIds, to: null })
  }
}

/** How the member left. A member whose successor left first counts as lost, not as replaced. */
function leaveKindOf({ crew }: CrewDraft, { id, state, leave, heir }: Member): Leave {
  if (state === 'leaving' && leave) return leave.how
  if (heir !== null && lastSuccessorOf(crew, id)?.state !== 'gone') return 'replaced'
  return crew.ending?.ended ? 'retired' : 'lost'
}

/** Checks the branch of a member that was lost while it committed. Its change was approved, so reeve commits the files that are there. */
function commitForLostMember(draft: CrewDraft, member: MemberId, id: string | null): void {
  const task = draft.findTask(id)
  if (task?.state === 'committing') requestCommitJob(draft, member, task, true)
}

function replaceLostCoordinator(draft: CrewDraft, member: Member, cause: Cause): void {
  const hasAnother = draft.crew.members.some(({ role, state }) => role === 'coordinator' && (state === 'starting' || state === 'on'))
  if (draft.crew.ending || hasAnother) return
  const text = `${member.id} is gone, and the crew has no coordinator: resume it, replace it, or stop the crew.`
  if (cause === 'person') draft.addAct({ type: 'notify', text })
  else if (draft.crew.nextCoordinator <= MAX_COORDINATORS) replaceMember(draft, draft.requireMember(member.id), '')
  else draft.notifyUser(text)
}
