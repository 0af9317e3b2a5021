// Members that come and go: joined, paused, lost. Owns what becomes of what a lost one held, and who coordinates after a coordinator.
// Must never bring back who was killed by a person: that is the person's to do. Test: test/tables/crew-turns.test.ts.
import { giveBack, tell } from './effects.ts'
import { brief } from './briefing.ts'
import { hasJobs, isWorker, predecessorsOf, successorOf } from './finding.ts'
import { memberStuck } from './handing-over.ts'
import { dismiss, MAX_COORDINATORS, replace } from './leading.ts'
import { briefing } from './texts.ts'
import { endTurn } from './turns.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Leave, Member, MemberId } from './types.ts'
import type { Cause, Uuid } from '../kernel/types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>

export function memberOn(work: CrewWork, { member: id, uuid, turn, queued = 0 }: CommandOf<'member_on'>): string {
  const member = work.member(id)
  if (!member || (member.state === 'gone' && mayNotReturn(member))) return 'noted'
  closeSpawn(work, id, uuid)
  const comes = member.state === 'starting' || member.state === 'gone'
  if (comes) join(work, member, uuid)
  else if (member.state === 'on') isBack(work, member, { uuid, turn, queued })
  // A turn that was cut off goes on, or began while the crew did not run: nobody changes its files before that has ended.
  if (turn !== null && (comes || (member.state === 'on' && member.turn.open !== turn))) work.emit({ type: 'crew.turn.begun', member: id, turn, resets: false })
  return 'noted'
}

/** Its process is another, or its daemon: the turn that was on may be cut off, and what it was told lost. */
function isBack(work: CrewWork, member: Member, { uuid, turn, queued }: { readonly uuid: Uuid; readonly turn: number | null; readonly queued: number }): void {
  const { open } = member.turn
  const isLost = member.told && turn === null && queued === 0
  if (open !== null && open !== turn) endTurn(work, member, { turn: open, outcome: 'interrupted', queued })
  if (isLost) tellAgain(work, work.needMember(member.id), uuid)
}

/** Those that were let go, or have a successor, get no new work. */
function mayNotReturn({ leave, heir }: Member): boolean {
  return heir !== null || leave?.how === 'retired' || leave?.how === 'replaced'
}

function closeSpawn(work: CrewWork, id: MemberId, uuid: Uuid): void {
  const spawn = work.crew.jobs.find((job) => job.type === 'spawn' && job.member === id)
  if (spawn) work.emit({ type: 'crew.job.done', job: spawn.job, result: { type: 'spawned', uuid } })
}

export function join(work: CrewWork, member: Member, uuid: Uuid): void {
  const { id, summary } = member
  const before = predecessorsOf(work.crew, id)
  const left = before.filter((one) => one.uuid !== null).map((one) => one.id)
  work.emit({ type: 'crew.joined', member: id, process: uuid, ...(left.length > 0 ? { inherits: true } : {}) })
  if (left.length > 0) work.act({ type: 'move', from: left, to: id })
  if (work.crew.ending) return dismiss(work, id, 'retired', 'the crew is ending')
  const took = summary === null ? '' : `${tookOver(before.at(-1), summary)}\n\n`
  if (!isWorker(member)) work.send(id, { from: 'system', first: true, text: `${took}${briefing(work.crew)}` })
  else if (took !== '') work.send(id, { from: 'system', first: true, text: `${took}Call signal_ready, and wait for work.` })
  const old = before.at(-1)
  if (old?.state === 'on') dismiss(work, old.id, 'replaced', `${id} took over`)
}

function tookOver(before: Member | undefined, summary: string): string {
  const words = `You take over from ${before?.id ?? 'another'}`
  if (before?.leave?.how !== 'lost') return `${words}. It wrote: ${summary}`
  return `${words}, which was lost: ${before.leave.reason}. What it never read comes next.${summary === '' ? '' : ` A person wrote: ${summary}`}`
}

/** What it was told is neither read nor waits for it: it was lost. Who works hears again what there is to do; its files stay as they are. */
function tellAgain(work: CrewWork, member: Member, uuid: Uuid): void {
  const { id, phase } = member
  work.emit({ type: 'crew.joined', member: id, process: uuid })
  const task = work.task(member.task)
  if (!isWorker(member)) work.send(id, { from: 'system', text: briefing(work.crew) })
  else if (!task || hasJobs(work.crew, id)) return
  else if (phase === 'committing') work.job({ type: 'commit', member: id, task: task.id, base: task.base, force: false })
  else if (phase !== 'awaiting_review' && (phase === 'reviewing' ? task.briefed : task.prepared)) brief(work, task, id)
}

export function memberHeld(work: CrewWork, { member: id, held, reason }: CommandOf<'member_held'>): string {
  const member = work.member(id)
  if (!member || member.state === 'gone' || member.held === held) return 'noted'
  work.emit({ type: 'crew.held', member: id, held, ...(reason === undefined ? {} : { reason }) })
  if (held && reason === 'context-full') memberStuck(work, work.needMember(id))
  return 'noted'
}

export function memberGone(work: CrewWork, { member: id, cause, reason }: CommandOf<'member_gone'>): string {
  const member = work.member(id)
  if (!member || member.state === 'gone') return 'noted'
  lose(work, member, cause, reason)
  return 'noted'
}

/** It is gone, and does not come back by itself. */
export function lose(work: CrewWork, member: Member, cause: Cause, reason: string): void {
  const { id, state, phase, task } = member
  const how = howGone(work, member)
  const byPerson = cause === 'person'
  const spawn = work.crew.jobs.find((job) => job.type === 'spawn' && job.member === id)
  if (spawn) work.emit({ type: 'crew.job.done', job: spawn.job, result: { type: 'error', error: reason } })
  work.emit({ type: 'crew.left', member: id, how, reason, ...(byPerson ? { by: 'user' } : {}) })
  if (how === 'lost') giveBack(work, member, 'lose', `${id} was lost: ${reason}`, byPerson)
  if (phase === 'committing') commitForIt(work, id, task)
  if (how !== 'lost') return
  work.act({ type: 'warn', text: `${id} was lost${state === 'starting' ? ' before it began' : ''}: ${reason}` })
  stays(work, member, reason)
  if (isWorker(member)) tell(work, `${id} was lost: ${reason}`, null)
  else succeed(work, member, cause)
}

/** It was to take another's place, and will not: that one stays; one that has gone meanwhile can never read what waits for it. */
function stays(work: CrewWork, { id, uuid, role }: Member, reason: string): void {
  const before = predecessorsOf(work.crew, id)
  const old = before.at(-1)
  if (old?.state === 'on') {
    work.emit({ type: 'crew.kept', member: old.id })
    work.send(old.id, { from: 'system', text: `${id} was to take your place, and could not begin: ${reason}. You stay${role === 'coordinator' ? ', and coordinate' : ': call signal_ready, and wait for work'}.` })
  } else if (uuid === null && role !== 'coordinator') {
    const left = before.filter((one) => one.uuid !== null).map((one) => one.id)
    if (left.length > 0) work.act({ type: 'move', from: left, to: null })
  }
}

/** One whose successor has gone before it has nobody to go on with what it did. */
function howGone({ crew }: CrewWork, { id, state, leave, heir }: Member): Leave {
  if (state === 'leaving' && leave) return leave.how
  if (heir !== null && successorOf(crew, id)?.state !== 'gone') return 'replaced'
  return crew.ending?.ended ? 'retired' : 'lost'
}

/** It may have committed before it was lost, and what it had was approved: the branch is looked at, and what is there is committed. */
function commitForIt(work: CrewWork, member: MemberId, id: string | null): void {
  const task = work.task(id)
  if (!task || task.state !== 'committing' || work.crew.jobs.some((job) => job.type === 'commit' && job.task === id)) return
  work.job({ type: 'commit', member, task: task.id, base: task.base, force: true })
}

function succeed(work: CrewWork, member: Member, cause: Cause): void {
  const kept = work.crew.members.some(({ role, state }) => role === 'coordinator' && (state === 'starting' || state === 'on'))
  if (work.crew.ending || kept) return
  if (cause !== 'person' && work.crew.nextCoordinator <= MAX_COORDINATORS) replace(work, work.needMember(member.id), '')
  else work.act({ type: 'notify', text: `${member.id} is gone, and nobody coordinates the crew: resume it, replace it, or stop the crew.` })
}
