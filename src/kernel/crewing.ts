// Crews: a command of a person, a member or the daemon becomes facts of the crew, and what follows of it outside of its row:
// messages into queues, signals, masks, asks, and jobs for the daemon, all in the same commit. What is decided stands in src/crew.
// Must never lose a message in silence, nor refuse a member's own report because of its crew. Tests: test/tables/crewing.test.ts, test/tables/crewing-members.test.ts.
import { decide } from '../crew/decide.ts'
import { NEW_CREW } from '../crew/fold.ts'
import { mayGoOn } from './children.ts'
import { bringOver, readerOf } from './crew-queues.ts'
import { byOf, crewSpecOf, interruptMember, lookAfter, maskMember, memberOf, stopMember } from './crewmates.ts'
import { membersOf } from './crew-jobs.ts'
import { KernelError } from './errors.ts'
import { keptFor } from './member-news.ts'
import { settle } from './pausing.ts'
import { isQueueFull } from './spawning.ts'
import { isLiving } from './status.ts'
import type { Act, By, Command, SystemCommand } from '../crew/commands.ts'
import type { MemberId } from '../crew/types.ts'
import type { InputOf } from './inputs.ts'
import type { ExitStatus, Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

type ActOf<T extends Act['type']> = Extract<Act, { type: T }>
/** `strict`: a person waits for an answer, and can be told that it could not be done; what a member reports is taken in any case. */
type Row<T extends Act['type']> = (work: Work, crew: Uuid, act: ActOf<T>, strict: boolean) => void

const ACTS: { readonly [T in Act['type']]: Row<T> } = {
  message,
  move: (work, uuid, { from, to }) => bringOver(work, uuid, { from, to }),
  job: (work, uuid, { job }) => work.effect({ type: 'crew.job', uuid, pid: work.need(uuid).pid, job }),
  stop: (work, uuid, { member, how, reason }) => stopMember(work, uuid, { member, how, reason }),
  interrupt: (work, uuid, { member }) => interruptMember(work, uuid, member),
  mask: (work, uuid, { member, on }) => maskMember(work, uuid, member, on),
  ask,
  unask: (work, uuid, { id }) => {
    if (work.need(uuid).asks?.some((open) => open.id === id)) work.emit(uuid, { type: 'process.unasked', id })
  },
  notify: (work, uuid, { text }) => {
    work.emit(uuid, { type: 'process.note', text })
  },
  warn: (work, uuid, { text }) => {
    work.emit(uuid, { type: 'process.error', message: text })
  },
  end,
}

/** Errors: those of a command, NOT_FOUND, LATE; nothing has changed then. */
export function crew(work: Work, input: InputOf<'crew'>): void {
  const { uuid, command, reply } = input
  const process = work.get(uuid)
  if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? uuid} has ended`)
  crewSpecOf(process)
  const note = say(work, uuid, command, { by: speaker(work, process, input), strict: input.by === 'user' })
  work.effect({ type: 'reply', to: reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note } })
}

/** Errors: PERMISSION for who is none of the crew, LATE for an incarnation that is over. */
function speaker(work: Work, { uuid: crewUuid, pid: crewPid }: Process, { by, call }: InputOf<'crew'>): By {
  if (by === 'user') return { type: 'person' }
  if (by === 'system') return { type: 'system' }
  const process = work.get(by.slice('agent:'.length))
  const { member } = process?.spec ?? {}
  if (!process || member?.crew !== crewUuid) throw new KernelError('PERMISSION', `${by} is no member of crew ${crewPid}`)
  if (call && call.pid !== process.pid) throw new KernelError('LATE', `incarnation ${call.pid} of ${member.id} is over`)
  return { type: 'member', id: member.id, turn: call?.turn ?? null, call: call?.id ?? null }
}

/** What the kernel has to tell: nobody could be told that it cannot be, so it is noted on the crew. */
export function tell(work: Work, uuid: Uuid, command: SystemCommand): void {
  const process = work.get(uuid)
  if (!process?.spec.crew || !isLiving(process)) return
  try {
    say(work, uuid, command, { by: { type: 'system' }, strict: false })
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    work.emit(uuid, { type: 'process.error', message: `${command.type}: ${error.message}` })
  }
}

/** An open ask of the crew was answered. */
export function answeredBy(work: Work, uuid: Uuid, { id, option, text }: { readonly id: string; readonly option: string | null; readonly text: string | null }): void {
  const task = work.get(uuid)?.crew?.tasks.find((one) => one.ask?.id === id)
  if (task) tell(work, uuid, { type: 'answered', task: task.id, id, option, text })
}

function say(work: Work, uuid: Uuid, command: Command, { by, strict }: { readonly by: By; readonly strict: boolean }): string {
  const process = work.need(uuid)
  const ctx = { by, at: work.now.wall, seq: process.seq, paused: !works(process) }
  const { facts, acts, note } = decide(process.crew ?? NEW_CREW, crewSpecOf(process), command, ctx)
  for (const fact of facts) work.emit(uuid, fact)
  for (const act of acts) (ACTS[act.type] as Row<Act['type']>)(work, uuid, act, strict)
  if (facts.some(({ type }) => type === 'crew.joined')) lookAfter(work, uuid)
  for (const id of membersOf(process.crew?.jobs ?? [], facts.flatMap((fact) => (fact.type === 'crew.job.done' ? [fact.job] : [])))) goOn(work, uuid, id)
  return note
}

/** Its files are as they should be: it reads what waits. */
function goOn(work: Work, uuid: Uuid, id: MemberId): void {
  const process = memberOf(work, uuid, id)
  if (process) settle(work, process.uuid)
}

/** It begins something new by itself. */
function works(process: Process): boolean {
  return mayGoOn(process) && process.life.state === 'running' && process.life.activity !== 'starting'
}

/** The queue is the receiver's own, durable with the fact that says so; who is paused is not woken. What cannot be read yet the crew keeps. */
function message(work: Work, uuid: Uuid, { to, id, from, text, first }: ActOf<'message'>, strict: boolean): void {
  const process = readerOf(work, uuid, to, first)
  const keeper = process ?? work.need(uuid)
  if (strict && isQueueFull(keeper)) throw new KernelError('RESOURCE_EXHAUSTED', `${keeper.queue.length} messages to ${to} wait already`)
  work.emit(keeper.uuid, { type: 'process.queue', id: process ? id : keptFor(to, id), from, text })
  if (process) settle(work, process.uuid)
}

function ask(work: Work, uuid: Uuid, { id, question, options }: ActOf<'ask'>): void {
  const choices = options.map((option) => ({ id: option, name: option, kind: 'choice' as const }))
  work.emit(uuid, { type: 'process.waiting', question, ask: { id, kind: 'question', text: question, options: choices, callId: null, at: work.now.wall } })
}

/** Its members are let go, the last one first, and then it ends by itself. */
function end(work: Work, uuid: Uuid, { outcome, summary }: ActOf<'end'>): void {
  const { life, pid, crew: row, progress } = work.need(uuid)
  if (life.state !== 'running' || life.stopping) return
  const members = (row?.members ?? []).flatMap(({ uuid: member }) => member ?? [])
  for (const process of members.flatMap((member) => work.get(member) ?? [])) {
    if (isLiving(process) && process.retiredAt === null) work.emit(process.uuid, { type: 'process.retired', by: byOf(uuid), reason: DONE })
  }
  const ended = members.filter((member) => !work.get(member))
  if (ended.length > 0) work.effect({ type: 'crew.retire', uuid, pid, members: ended })
  if (life.activity !== 'starting') work.emit(uuid, { type: 'process.ready', turn: progress.turn, outcome: outcome === 'completed' ? 'ok' : 'error', result: summary })
  work.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: 'system', at: work.now.wall, graceMs: END_GRACE_MS, exit: exitOf(outcome, summary) } })
  work.news.push({ type: 'stopping', uuid, signal: 'SIGTERM' })
}

function exitOf(outcome: ActOf<'end'>['outcome'], summary: string): ExitStatus {
  if (outcome === 'completed') return { code: 0, reason: 'completed', cause: 'agent' }
  const error = `the crew ${outcome === 'failed' ? 'has failed' : 'was called off'}: ${summary.split('\n', 1)[0]}`
  return { code: 1, reason: error, error, cause: 'agent' }
}

/** Why members are let go at the end of their crew. */
export const DONE = 'the crew is done'
/** What members have to clean up when their crew is done. */
const END_GRACE_MS = 10_000
