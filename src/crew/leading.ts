// What people, coordinators and the engine say about members: start, tell, replace, retire, stop. Owns who may be let go and when:
// never who is committing, and never before a successor is there. Test: test/tables/crew-engine.test.ts.
import { refusal } from './crew-work.ts'
import { giveBack } from './effects.ts'
import { coordinatorOf, coordinatorToTell, hasRoom, isLiving, isWorker, workersOf } from './finding.ts'
import { byOf, words } from './tasking.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Crew, CrewSpec, Member, MemberId, Role } from './types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>

const MESSAGE_CHARS = 64 * 1_024

/** Errors: CONFLICT, RESOURCE_EXHAUSTED, INVALID. */
export function spawnWorker(work: CrewWork, { role }: CommandOf<'spawn_worker'>): string {
  const { crew, spec } = work
  if (crew.ending) throw refusal('CONFLICT', 'the crew is ending', 'Nothing new is begun.')
  if (workersOf(crew).length >= spec.maxWorkers) throw refusal('RESOURCE_EXHAUSTED', `${spec.maxWorkers} workers live, and no more may`, 'Retire one first: retire_worker.')
  if (work.ctx.by.type === 'member' && crew.fruitless >= MAX_FRUITLESS) throw refusal('RESOURCE_EXHAUSTED', `${crew.fruitless} workers in a row were lost, and none reported anything: no more are started`, 'Tell the person why (notify_user), and mark as failed what nobody can do: mark_task_failed.')
  return `${newMember(work, role)} is being started; what it is assigned waits for it`
}

/** Errors: INVALID. */
export function newMember(work: CrewWork, role: Role): MemberId {
  if (!work.spec.roles[role]) throw refusal('INVALID', `the crew has no ${role}`, `It has ${Object.keys(work.spec.roles).filter((one) => one !== 'coordinator').join(', ') || 'no roles'}.`)
  const { nextWorker, nextCoordinator } = work.crew
  const member: MemberId = role !== 'coordinator' ? `worker-${nextWorker}` : nextCoordinator === 1 ? 'coordinator' : `coordinator-${nextCoordinator}`
  work.emit({ type: 'crew.member', member, role })
  work.job({ type: 'spawn', member })
  return member
}

/** Errors: NOT_FOUND, CONFLICT, INVALID. */
export function sendMessage(work: CrewWork, { to, text, task }: CommandOf<'send_message'>): string {
  if (text.trim() === '' || text.length > MESSAGE_CHARS) throw refusal('INVALID', `the message has ${text.length} characters`, `Give it 1 to ${MESSAGE_CHARS}.`)
  if (task !== undefined) work.needTask(task)
  const members = to === 'all' ? workersOf(work.crew).filter(({ state }) => state === 'on') : [needReachable(work, to)]
  if (members.length === 0) throw refusal('CONFLICT', 'nobody is there', 'spawn_worker starts one.')
  for (const { id } of members) work.send(id, { from: byOf(work), text, task: task ?? null })
  return `sent to ${members.map(({ id }) => id).join(', ')}`
}

function needReachable(work: CrewWork, id: MemberId): Member {
  const member = id === 'coordinator' ? (coordinatorOf(work.crew) ?? work.member(id)) : work.needMember(id)
  if (!member) throw refusal('INVALID', 'a program coordinates this crew, and reads nothing', 'Add a task, or write to a worker.')
  if (member.state === 'on') return member
  if (member.state === 'starting') throw refusal('CONFLICT', `${id} is being started`, 'Say it again in a moment; a task can be assigned already.')
  throw refusal('CONFLICT', `${id} is no longer there`, member.heir ? `${member.heir} took over.` : 'Write to another member.')
}

/** The successor has the task at once, and begins when the old one is gone. Errors: NOT_FOUND, CONFLICT. */
export function replaceWorker(work: CrewWork, { member: id, summary }: CommandOf<'replace_worker'>): string {
  const { by } = work.ctx
  const deserted = isDeserted(work) ? coordinatorToTell(work.crew) : undefined
  if (deserted && (id === 'coordinator' || id === deserted.id)) return `${replace(work, deserted, summary)} is being started, sees the tasks, and gets what ${deserted.id} never read`
  // To a person it is whoever coordinates; an agent that says another's name does not mean itself.
  const member = needGoing(work, id === 'coordinator' && by.type !== 'member' ? (coordinatorOf(work.crew)?.id ?? id) : id)
  if (summary.trim() === '' || summary.length > MESSAGE_CHARS) throw refusal('INVALID', `the summary has ${summary.length} characters`, 'Say what was done and what is next: the successor knows nothing else.')
  const heir = replace(work, member, summary)
  return `${heir} takes over from ${member.id}, which goes as soon as ${heir} is there`
}

/** All its coordinators are gone: there is nobody to take over from. */
function isDeserted({ crew, spec }: CrewWork): boolean {
  return spec.coordinator === 'agent' && crew.begun && !crew.ending && crew.members.every(({ role, state }) => role !== 'coordinator' || state === 'gone')
}

export function replace(work: CrewWork, member: Member, summary: string): MemberId {
  const heir = newMember(work, member.role)
  work.emit({ type: 'crew.replaced', member: member.id, heir, summary })
  return heir
}

/** Errors: NOT_FOUND, CONFLICT. */
export function retireWorker(work: CrewWork, { member, reason }: CommandOf<'retire_worker'>): string {
  letLeave(work, needGoing(work, member), 'retire', reason)
  return `${member} is retired`
}

/** Errors: NOT_FOUND, CONFLICT. */
export function stopWorker(work: CrewWork, { member, reason }: CommandOf<'stop_worker'>): string {
  letLeave(work, needGoing(work, member), 'stop', reason)
  return `${member} is stopped`
}

function letLeave(work: CrewWork, member: Member, action: 'retire' | 'stop', reason: string): void {
  if (!isWorker(member)) throw refusal('INVALID', `${member.id} coordinates`, 'replace_worker gives it a successor; complete_crew ends the crew.')
  giveBack(work, member, action, `${member.id} was ${action === 'retire' ? 'retired' : 'stopped'}: ${reason}`)
  dismiss(work, member.id, action === 'retire' ? 'retired' : 'stopped', reason)
}

/** It is told to go, once. */
export function dismiss(work: CrewWork, id: MemberId, how: 'retired' | 'stopped' | 'replaced', reason: string): void {
  work.emit({ type: 'crew.leaving', member: id, how, reason })
  work.act({ type: 'stop', member: id, how: how === 'stopped' ? 'stop' : 'retire', reason })
}

function needGoing(work: CrewWork, id: MemberId): Member {
  const member = work.needMember(id)
  if (member.state === 'starting') throw refusal('CONFLICT', `${id} is being started`, 'Say it again in a moment.')
  if (!isLiving(member)) throw refusal('CONFLICT', `${id} is no longer there`, member.heir ? `${member.heir} took over.` : 'Nothing to do.')
  if (member.phase === 'committing') throw refusal('CONFLICT', `${id} is ${words(member.phase)} ${member.task}`, 'Wait until that is done.')
  return member
}

export function notifyUser(work: CrewWork, { text }: CommandOf<'notify_user'>): string {
  if (text.trim() === '' || text.length > MESSAGE_CHARS) throw refusal('INVALID', `the text has ${text.length} characters`, `Give it 1 to ${MESSAGE_CHARS}.`)
  work.emit({ type: 'crew.notified', text })
  work.act({ type: 'notify', text })
  return 'the user is told'
}

/** coordinators that a crew uses up by itself */
export const MAX_COORDINATORS = 5

/** Workers in a row that came to nothing, after which no coordinator starts more; a person may. */
export const MAX_FRUITLESS = 5

/** Whether the engine may start another worker of a role. */
export function maySpawn(crew: Crew, spec: CrewSpec): boolean {
  return crew.fruitless < MAX_FRUITLESS && hasRoom(crew, spec)
}
