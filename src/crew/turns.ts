// The turns of members, and what must have happened in one. Owns turn completion: a worker ends its turn with one of its four tools,
// else it is reminded, twice at most, then let through. Nobody is stuck in a phase: who owes something and has nothing to read is
// told, or its work goes to another. The end of another turn than the one that is on changes nothing.
// Test: test/tables/crew-turns.test.ts.
import { requeue, tell, unreview } from './effects.ts'
import { ask, mayAsk } from './asking.ts'
import { coordinatorOf, hasJobs, isBeyondReview, isLiving, isWorker, named, openTasks } from './finding.ts'
import { handOverFull } from './handing-over.ts'
import { askOf } from './starting.ts'
import { reminder, stalled } from './texts.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { TurnEnd } from './facts.ts'
import type { Member, Task } from './types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>
type Ended = Omit<CommandOf<'turn_ended'>, 'type' | 'member'>

const MAX_REMINDERS = 2
const MAX_STALLS = 2

export function turnBegun(work: CrewWork, { member: id, turn, from }: CommandOf<'turn_begun'>): string {
  const member = work.member(id)
  if (!member || member.state === 'gone' || member.turn.open === turn) return 'noted'
  if (member.turn.open !== null) endTurn(work, member, { turn: member.turn.open, outcome: 'interrupted', queued: 1 })
  work.emit({ type: 'crew.turn.begun', member: id, turn, resets: from.some((one) => one === 'user' || one === 'coordinator') })
  return 'noted'
}

export function turnEnded(work: CrewWork, command: CommandOf<'turn_ended'>): string {
  const member = work.member(command.member)
  if (!member || member.state === 'gone' || member.turn.open !== command.turn) return 'late: nothing was changed'
  endTurn(work, member, command)
  return 'noted'
}

export function endTurn(work: CrewWork, member: Member, ended: Ended): void {
  const { turn, outcome, queued = 0, spent, error } = ended
  const end = judge(work, member, ended)
  const task = work.task(member.task)
  work.emit({ type: 'crew.turn', member: member.id, turn, outcome, end, queued, ...(member.turn.task === null ? {} : { task: member.turn.task }), ...(spent ? { spent } : {}), ...(error === undefined ? {} : { error }) })
  askOf(work, member.id)
  const now = work.needMember(member.id)
  if (now.role === 'coordinator') afterCoordinator(work, now, ended)
  else if (task && now.phase === 'committing') lookForCommit(work, now, task)
  else follow(work, now, task, ended, end)
}

/** Something that its phase asks of it, and that it was told. */
function owes(work: CrewWork, { phase, task: id, turn }: Member): boolean {
  const task = work.task(id)
  if (!task || turn.phase !== phase) return false
  return phase === 'reviewing' ? task.briefed : (phase === 'implementing' || phase === 'addressing_feedback') && task.prepared
}

function judge(work: CrewWork, member: Member, { outcome, queued = 0 }: Ended): TurnEnd {
  if (outcome === 'error') return 'failed'
  if (!isWorker(member) || member.phase === 'committing') return 'complete'
  const owing = owes(work, member)
  // A program does not answer: who asked it something has to go on by itself.
  if (member.turn.answered && !(owing && work.spec.coordinator === 'engine')) return 'complete'
  if (member.state !== 'on' || !isLiving(member) || queued > 0 || member.told || hasJobs(work.crew, member.id)) return 'waits'
  if (member.phase !== 'idle' && !owing && member.phase !== 'awaiting_review') return 'waits'
  if (member.fresh || (outcome === 'interrupted' && member.phase === 'idle')) return 'exempt'
  return member.turn.reminders < MAX_REMINDERS ? 'reminded' : 'through'
}

function follow(work: CrewWork, member: Member, task: Task | undefined, { outcome, error, text = '' }: Ended, end: TurnEnd): void {
  if (end !== 'failed' && handOverFull(work, member, text)) return
  const told = outcome === 'interrupted' ? 'interrupted' : 'ok'
  switch (end) {
    case 'failed': return failed(work, member, task, `a turn of ${member.id} failed${error ? `: ${error}` : ''}`)
    case 'through': return letThrough(work, member, task)
    case 'reminded': return work.send(member.id, { from: 'system', task: task?.id ?? null, text: reminder(member, told, member.turn.answered) })
    // It counts for nothing, but nobody else would tell it to go on.
    case 'exempt': return owes(work, member) ? work.send(member.id, { from: 'system', task: task?.id ?? null, text: reminder(member, told, member.turn.answered) }) : undefined
    case 'complete':
    case 'waits':
  }
}

/** A try that came to nothing. Its later turns are not touched by it. */
function failed(work: CrewWork, { phase, id }: Member, task: Task | undefined, reason: string): void {
  if (task && phase === 'reviewing') unreview(work, task, reason)
  else if (task && (phase === 'implementing' || phase === 'addressing_feedback')) requeue(work, task, { reason, counts: true })
  else tell(work, reason, null)
  work.act({ type: 'warn', text: `${id}: ${reason}` })
}

function letThrough(work: CrewWork, member: Member, task: Task | undefined): void {
  const { id, turn } = member
  const reason = turn.answered ? `${id} was reminded ${MAX_REMINDERS} times, and reported nothing` : `${id} ended its turn without a word, after ${MAX_REMINDERS} reminders`
  if (work.spec.coordinator === 'engine' && owes(work, member)) return failed(work, member, task, reason)
  work.act({ type: 'warn', text: reason })
  tell(work, `${reason}${task ? `. It has ${named(task)}` : ''}.`, task ?? null)
}

/** The branch says whether it was committed, never the worker. Only a turn that began with the approval counts. */
function lookForCommit(work: CrewWork, { id, turn }: Member, { base, id: task }: Task): void {
  if (turn.phase !== 'committing' || work.crew.jobs.some((job) => job.type === 'commit' && job.task === task)) return
  work.job({ type: 'commit', member: id, task, base, force: false })
}

function afterCoordinator(work: CrewWork, member: Member, { outcome, text = '', error }: Ended): void {
  if (outcome === 'error') work.act({ type: 'warn', text: `a turn of ${member.id} failed${error ? `: ${error}` : ''}` })
  if (outcome === 'ok') handOverFull(work, member, text)
}

/** The coordinator has nothing to read and nothing else goes on, though there is work: it is told, twice at most, then a person. */
export function unstall(work: CrewWork): void {
  const { crew, spec } = work
  const coordinator = coordinatorOf(crew)
  const idle = coordinator && isLiving(coordinator) && !coordinator.held && !coordinator.told && coordinator.turn.open === null && !coordinator.fresh
  const open = openTasks(crew)
  if (!idle || crew.ending || crew.stalls > MAX_STALLS || crew.tasks.length === 0 || (open.length === 0 && spec.stay)) return
  if (crew.jobs.length > 0 || crew.members.some(moves) || open.some(({ state }) => state === 'waiting')) return
  const text = stalled(crew, spec)
  work.emit({ type: 'crew.stalled' })
  if (work.crew.stalls <= MAX_STALLS) return work.send(coordinator.id, { from: 'system', text })
  work.act({ type: 'notify', text: `The coordinator does nothing. ${text}` })
  for (const task of open) if (isBeyondReview(crew, task) && mayAsk(work.crew)) ask(work, task, 'review')
}

/** Something will come of it without the coordinator: a start, a turn, or a person who paused it. */
function moves(member: Member): boolean {
  if (!isWorker(member) || member.state === 'gone') return false
  return member.state !== 'on' || member.turn.open !== null || member.told || (member.held && member.phase !== 'idle')
}
