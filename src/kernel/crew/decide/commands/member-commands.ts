// Commands about members from the user, coordinators and the engine: spawn, send, replace, retire, stop. Also the notice of a coordinator
// to the user. No member leaves while it commits. A replaced member is dismissed in member-lifecycle.ts, when its successor has joined.
// Test: test/tables/kernel/crew/decide/engine.test.ts.
import { refusalError } from '../refusal-error.ts'
import { releaseHeldTask } from '../release-task.ts'
import { stateText } from '../../state/phases.ts'
import { coordinatorOf, coordinatorRecipient, isActive, isWorker, MAX_LOSSES_IN_ROW, workersOf } from '../../state/queries.ts'
import { senderOfIssuer } from './task-commands.ts'
import { taskAgentText } from '../../state/eligible-workers.ts'
import type { CommandOf } from '../../../model/crew/commands.ts'
import type { CrewDraft } from '../draft.ts'
import type { Member } from '../../../model/crew/crew.ts'
import type { Leave, MemberId, Role, TaskAgent } from '../../../model/crew/words.ts'

const MAX_MESSAGE_CHARS = 64 * 1_024

/** Errors: NOT_FOUND, CONFLICT, RESOURCE_EXHAUSTED, INVALID. */
export function spawnWorker(draft: CrewDraft, { role, task }: CommandOf<'spawn_worker'>): string {
  const { crew, spec } = draft
  if (crew.ending) throw refusalError('CONFLICT', 'the crew is ending', 'It takes no new work.')
  if (workersOf(crew).length >= spec.maxWorkers)
    throw refusalError('RESOURCE_EXHAUSTED', `the crew has ${spec.maxWorkers} workers, its maximum`, 'Retire one first with retire_worker.')
  if (draft.context.by.type === 'member' && crew.fruitless >= MAX_LOSSES_IN_ROW)
    throw refusalError(
      'RESOURCE_EXHAUSTED',
      `${crew.fruitless} workers in a row were lost without a report: no more are started`,
      'Notify the user of the reason with notify_user, and mark tasks that no worker can do with mark_task_failed.',
    )
  const who = task === undefined ? undefined : draft.requireTask(task).who
  return `${startMember(draft, role, who)} is being started${who ? `, with ${taskAgentText(who)}` : ''}; a task can be assigned to it already`
}

/** Errors: INVALID. */
export function startMember(draft: CrewDraft, role: Role, who?: TaskAgent): MemberId {
  if (!draft.spec.roles[role])
    throw refusalError(
      'INVALID',
      `the crew has no ${role}`,
      `It has ${
        Object.keys(draft.spec.roles)
          .filter((known) => known !== 'coordinator')
          .join(', ') || 'no roles'
      }.`,
    )
  const { nextWorker, nextCoordinator } = draft.crew
  const member: MemberId =
    role !== 'coordinator' ? `worker-${nextWorker}` : nextCoordinator === 1 ? 'coordinator' : `coordinator-${nextCoordinator}`
  draft.emit({ type: 'crew.member', member, role, ...(who === undefined ? {} : { who }) })
  draft.requestJob({ type: 'spawn', member })
  return member
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function sendMessage(draft: CrewDraft, { to, text, task, now }: CommandOf<'send_message'>): string {
  if (text.trim() === '' || text.length > MAX_MESSAGE_CHARS)
    throw refusalError('INVALID', `the message has ${text.length} characters`, `Give it 1 to ${MAX_MESSAGE_CHARS} characters.`)
  if (task !== undefined) draft.requireTask(task)
  const members = to === 'all' ? workersOf(draft.crew).filter(({ state }) => state === 'on') : [requireReachable(draft, to)]
  if (members.length === 0) throw refusalError('CONFLICT', 'the crew has no running worker', 'spawn_worker starts one.')
  for (const { id } of members)
    draft.send(id, { from: senderOfIssuer(draft), text, task: task ?? null, ...(now ? { isUrgent: true } : {}) })
  return `sent to ${members.map(({ id }) => id).join(', ')}`
}

function requireReachable(draft: CrewDraft, id: MemberId): Member {
  const member = id === 'coordinator' ? (coordinatorOf(draft.crew) ?? draft.findMember(id)) : draft.requireMember(id)
  if (!member) throw refusalError('INVALID', 'a program coordinates this crew and reads no messages', 'Add a task, or write to a worker.')
  if (member.state === 'on') return member
  if (member.state === 'starting')
    throw refusalError('CONFLICT', `${id} is being started`, 'Send it again in a moment; a task can be assigned already.')
  throw refusalError('CONFLICT', `${id} has left the crew`, member.heir ? `${member.heir} took over.` : 'Write to another member.')
}

/**
 * Replaces a member. The successor gets the task at once, and starts on it when its predecessor has left. Errors: NOT_FOUND, CONFLICT,
 * INVALID.
 */
export function replaceWorker(draft: CrewDraft, { member: id, summary }: CommandOf<'replace_worker'>): string {
  const { by } = draft.context
  const lastCoordinator = hasNoCoordinator(draft) ? coordinatorRecipient(draft.crew) : undefined
  if (lastCoordinator && (id === 'coordinator' || id === lastCoordinator.id))
    return `${replaceMember(draft, lastCoordinator, summary)} is being started; it sees the tasks and gets the unread messages of ${lastCoordinator.id}`
  // The user means the current coordinator by `coordinator`. An agent means the first one, which has that id.
  const member = requireDismissible(draft, id === 'coordinator' && by.type !== 'member' ? (coordinatorOf(draft.crew)?.id ?? id) : id)
  if (summary.trim() === '' || summary.length > MAX_MESSAGE_CHARS)
    throw refusalError(
      'INVALID',
      `the summary has ${summary.length} characters`,
      'Write what was done and what is next: the successor knows nothing else.',
    )
  const successor = replaceMember(draft, member, summary)
  return `${successor} takes over from ${member.id}, which leaves as soon as ${successor} is running`
}

/** Whether all coordinators have left, and none is about to start. */
function hasNoCoordinator({ crew, spec }: CrewDraft): boolean {
  return (
    spec.coordinator === 'agent' &&
    crew.begun &&
    !crew.ending &&
    crew.members.every(({ role, state }) => role !== 'coordinator' || state === 'gone')
  )
}

export function replaceMember(draft: CrewDraft, member: Member, summary: string): MemberId {
  const successor = startMember(draft, member.role, member.who)
  draft.emit({ type: 'crew.replaced', member: member.id, heir: successor, summary })
  return successor
}

/** Errors: NOT_FOUND, CONFLICT; INVALID for a coordinator. */
export function retireWorker(draft: CrewDraft, { member: id, reason }: CommandOf<'retire_worker'>): string {
  const member = draft.requireMember(id)
  if (isStopped(member)) retireStopped(draft, member, reason)
  else releaseAndDismiss(draft, requireDismissible(draft, id), 'retire', reason)
  return `${id} is retired`
}

/** Whether the worker's process has ended and could be resumed. */
function isStopped(member: Member): boolean {
  const { state, leave, heir, uuid } = member
  return isWorker(member) && state === 'gone' && heir === null && uuid !== null && (leave?.how === 'stopped' || leave?.how === 'lost')
}

/** Retires a stopped worker. Its unread messages go back to their senders, and its files may be removed. */
function retireStopped(draft: CrewDraft, { id }: Member, reason: string): void {
  draft.emit({ type: 'crew.left', member: id, how: 'retired', reason })
  draft.addAct({ type: 'retire', member: id, reason })
  draft.addAct({ type: 'move', from: [id], to: null })
}

/** Errors: NOT_FOUND, CONFLICT; INVALID for a coordinator. */
export function stopWorker(draft: CrewDraft, { member, reason }: CommandOf<'stop_worker'>): string {
  releaseAndDismiss(draft, requireDismissible(draft, member), 'stop', reason)
  return `${member} is stopped`
}

function releaseAndDismiss(draft: CrewDraft, member: Member, action: 'retire' | 'stop', reason: string): void {
  if (!isWorker(member))
    throw refusalError('INVALID', `${member.id} coordinates`, 'replace_worker gives it a successor; complete_crew ends the crew.')
  releaseHeldTask(draft, member, action, `${member.id} was ${action === 'retire' ? 'retired' : 'stopped'}: ${reason}`)
  dismissMember(draft, member.id, action === 'retire' ? 'retired' : 'stopped', reason)
}

/** Asks a member to leave. */
export function dismissMember(draft: CrewDraft, id: MemberId, leave: Leave, reason: string): void {
  draft.emit({ type: 'crew.leaving', member: id, how: leave, reason })
  draft.addAct({ type: 'stop', member: id, how: leave === 'stopped' ? 'stop' : 'retire', reason })
}

function requireDismissible(draft: CrewDraft, id: MemberId): Member {
  const member = draft.requireMember(id)
  if (member.state === 'starting') throw refusalError('CONFLICT', `${id} is being started`, 'Try again in a moment.')
  if (!isActive(member))
    throw refusalError('CONFLICT', `${id} has left the crew`, member.heir ? `${member.heir} took over.` : 'Nothing to do.')
  if (member.phase === 'committing')
    throw refusalError('CONFLICT', `${id} is ${stateText(member.phase)} ${member.task}`, 'Wait until it is done.')
  return member
}

export function notifyUser(draft: CrewDraft, { text }: CommandOf<'notify_user'>): string {
  if (text.trim() === '' || text.length > MAX_MESSAGE_CHARS)
    throw refusalError('INVALID', `the text has ${text.length} characters`, `Give it 1 to ${MAX_MESSAGE_CHARS} characters.`)
  draft.notifyUser(text)
  return 'the user is notified'
}

/** maximum number of coordinators that a crew starts automatically */
export const MAX_COORDINATORS = 5
