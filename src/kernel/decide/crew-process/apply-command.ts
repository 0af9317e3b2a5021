// Applies commands of the user, a member or the daemon to a crew. The decisions are in src/kernel/crew; this file turns
// them into facts of the crew and into acts outside its row, in one commit. These acts are queued messages, signals,
// masks, questions, and jobs for the daemon. Must never drop a message silently, nor refuse a member's report. Tests:
// test/tables/kernel/decide/crew-process/apply-command.test.ts, test/tables/kernel/decide/crew-process/members.test.ts.
import { decideCrew } from '../../crew/decide/decide.ts'
import { NEW_CREW } from '../../crew/state/fold.ts'
import { canSupervise } from '../children.ts'
import { requestMove, readerOf } from './message-moves.ts'
import {
  crewSender,
  crewSpecOf,
  interruptMember,
  superviseMembers,
  maskMember,
  memberOf,
  retireEnded,
  stopMember,
} from './member-process.ts'
import { membersWithFinishedFileJobs } from './file-jobs.ts'
import { KernelError } from '../../model/errors.ts'
import { addHold } from '../holds/add-hold.ts'
import { keptMessageId } from '../../crew/state/kept-messages.ts'
import { startNextTurn } from '../turns.ts'
import { isQueueFull } from '../message-queue.ts'
import { isLiving } from '../../model/status.ts'
import type { Act, Issuer, Command, SystemCommand } from '../../model/crew/commands.ts'
import type { InputOf } from '../../model/inputs.ts'
import type { ExitStatus, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Uuid } from '../../model/ids.ts'
import type { MemberId } from '../../model/crew/words.ts'
import { STOP_GRACE_MS } from '../../model/signals.ts'

type ActOf<T extends Act['type']> = Extract<Act, { type: T }>
/** `strict`: the issuer is the user, who gets an error when a queue is full; reports of members are always accepted. */
type ActHandler<T extends Act['type']> = (draft: DecisionDraft, crew: Uuid, act: ActOf<T>, strict: boolean) => void

const ACT_HANDLERS: { readonly [T in Act['type']]: ActHandler<T> } = {
  message: queueMessage,
  move: (draft, uuid, { from, to }) => requestMove(draft, uuid, { from, to }),
  job: (draft, uuid, { job }) => draft.addEffect({ type: 'crew.job', uuid, pid: draft.mustGet(uuid).pid, job }),
  stop: (draft, uuid, { member, how, reason }) => stopMember(draft, uuid, { member, how, reason }),
  retire: (draft, uuid, { member, reason }) => retireEnded(draft, uuid, { member, reason }),
  interrupt: (draft, uuid, { member }) => interruptMember(draft, uuid, member),
  mask: (draft, uuid, { member, on }) => maskMember(draft, uuid, member, on),
  ask: recordQuestion,
  unask: (draft, uuid, { id }) => {
    if (draft.mustGet(uuid).asks?.some((open) => open.id === id)) draft.emit(uuid, { type: 'process.unasked', id })
  },
  notify: (draft, uuid, { text }) => {
    draft.emit(uuid, { type: 'process.note', text })
  },
  warn: (draft, uuid, { text }) => {
    draft.emit(uuid, { type: 'process.error', message: text })
  },
  // The reason of the hold is in the crew's row. A stopping process needs no hold.
  hold: (draft, uuid) => {
    const { life } = draft.mustGet(uuid)
    if (life.state === 'running' && !life.stopping) addHold(draft, uuid, { reason: 'supervisor', by: 'system', at: draft.now.wall }, false)
  },
  end: endCrew,
}

/** Applies a command, and replies with its note. Errors: NOT_FOUND, LATE, and those of the command; an error changes nothing. */
export function applyCrewCommand(draft: DecisionDraft, input: InputOf<'crew'>): void {
  const { uuid, command, reply } = input
  const process = draft.requireLiving(uuid)
  crewSpecOf(process)
  const note = decideAndApply(draft, uuid, command, { by: issuerOf(draft, process, input), strict: input.by === 'user' })
  draft.replyDone(reply, uuid, { note })
}

/** The issuer of a command. Errors: PERMISSION for a process that is not a member of the crew, LATE for an incarnation that has ended. */
function issuerOf(draft: DecisionDraft, { uuid: crewUuid, pid: crewPid }: Process, { by, call }: InputOf<'crew'>): Issuer {
  if (by === 'user') return { type: 'user' }
  if (by === 'system') return { type: 'system' }
  const process = draft.sendingProcess(by)
  const { member } = process?.spec ?? {}
  if (!process || member?.crew !== crewUuid) throw new KernelError('PERMISSION', `${by} is not a member of crew ${crewPid}`)
  if (call && call.pid !== process.pid) throw new KernelError('LATE', `incarnation ${call.pid} of ${member.id} is over`)
  return { type: 'member', id: member.id, turn: call?.turn ?? null, call: call?.id ?? null }
}

/** Applies a command of the kernel. An error becomes a note on the crew, because no sender waits for a reply. */
export function applySystemCommand(draft: DecisionDraft, uuid: Uuid, command: SystemCommand): void {
  const process = draft.get(uuid)
  if (!process?.spec.crew || !isLiving(process)) return
  try {
    decideAndApply(draft, uuid, command, { by: { type: 'system' }, strict: false })
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    draft.emit(uuid, { type: 'process.error', message: `${command.type}: ${error.message}` })
  }
}

/** Applies the user's answer to an open question of the crew. */
export function applyAnswer(
  draft: DecisionDraft,
  uuid: Uuid,
  { id, option, text }: { readonly id: string; readonly option: string | null; readonly text: string | null },
): void {
  const task = draft.get(uuid)?.crew?.tasks.find((candidate) => candidate.ask?.id === id)
  if (task) applySystemCommand(draft, uuid, { type: 'answered', task: task.id, id, option, text })
}

function decideAndApply(
  draft: DecisionDraft,
  uuid: Uuid,
  command: Command,
  { by, strict }: { readonly by: Issuer; readonly strict: boolean },
): string {
  const process = draft.mustGet(uuid)
  const context = { by, at: draft.now.wall, seq: process.seq, paused: !mayStartWork(process) }
  const { facts, acts, note, directCount } = decideCrew(process.crew ?? NEW_CREW, crewSpecOf(process), command, context)
  for (const [index, fact] of facts.entries()) draft.emit(uuid, fact, by.type === 'user' && index < directCount)
  for (const act of acts) (ACT_HANDLERS[act.type] as ActHandler<Act['type']>)(draft, uuid, act, strict)
  if (facts.some(({ type }) => type === 'crew.joined')) superviseMembers(draft, uuid)
  for (const id of membersWithFinishedFileJobs(
    process.crew?.jobs ?? [],
    facts.flatMap((fact) => (fact.type === 'crew.job.done' ? [fact.job] : [])),
  ))
    startMemberTurn(draft, uuid, id)
  return note
}

/** Starts the member's next turn, because the job in its files is done. */
function startMemberTurn(draft: DecisionDraft, uuid: Uuid, id: MemberId): void {
  const process = memberOf(draft, uuid, id)
  if (process) startNextTurn(draft, process.uuid)
}

/** True when the crew's rules may start new work now. */
function mayStartWork(process: Process): boolean {
  return canSupervise(process) && process.life.state === 'running' && process.life.activity !== 'starting'
}

/** Queues a message for a member, or keeps it in the crew's queue while no process can read it. A paused receiver is not resumed. */
function queueMessage(draft: DecisionDraft, uuid: Uuid, { to, id, from, text, first, urgent }: ActOf<'message'>, strict: boolean): void {
  const process = readerOf(draft, uuid, to, first)
  const keeper = process ?? draft.mustGet(uuid)
  if (strict && isQueueFull(keeper))
    throw new KernelError('RESOURCE_EXHAUSTED', `${keeper.queue.length} messages to ${to} are already queued`)
  draft.emit(keeper.uuid, {
    type: 'process.queue',
    id: process ? id : keptMessageId(to, id),
    from,
    text,
    ...(process && urgent ? { urgent } : {}),
  })
  if (process) startNextTurn(draft, process.uuid)
}

function recordQuestion(draft: DecisionDraft, uuid: Uuid, { id, question, options }: ActOf<'ask'>): void {
  const choices = options.map((option) => ({ id: option, name: option, kind: 'choice' as const }))
  draft.emit(uuid, {
    type: 'process.waiting',
    question,
    ask: { id, kind: 'question', text: question, options: choices, callId: null, at: draft.now.wall },
  })
}

/** Retires all members, then stops the crew's process after them, the last member first. */
function endCrew(draft: DecisionDraft, uuid: Uuid, { outcome, summary }: ActOf<'end'>): void {
  const { life, pid, crew: row, progress } = draft.mustGet(uuid)
  if (life.state !== 'running' || life.stopping) return
  const members = (row?.members ?? []).flatMap(({ uuid: member }) => member ?? [])
  for (const process of members.flatMap((member) => draft.get(member) ?? [])) {
    if (isLiving(process) && process.retiredAt === null)
      draft.emit(process.uuid, { type: 'process.retired', by: crewSender(uuid), reason: END_REASON })
  }
  const endedMembers = members.filter((member) => !draft.get(member))
  if (endedMembers.length > 0) draft.addEffect({ type: 'crew.retire', uuid, pid, members: endedMembers, reason: END_REASON })
  if (life.activity !== 'starting')
    draft.emit(uuid, { type: 'process.ready', turn: progress.turn, outcome: outcome === 'completed' ? 'ok' : 'error', result: summary })
  draft.emit(uuid, {
    type: 'process.stopping',
    stopping: { signal: 'SIGTERM', by: 'system', at: draft.now.wall, graceMs: STOP_GRACE_MS, exit: exitOf(outcome, summary) },
  })
  draft.followUps.push({ type: 'stopWithChildren', uuid, signal: 'SIGTERM' })
}

function exitOf(outcome: ActOf<'end'>['outcome'], summary: string): ExitStatus {
  if (outcome === 'completed') return { code: 0, reason: 'completed', cause: 'agent' }
  const error = `the crew ${outcome === 'failed' ? 'has failed' : 'was cancelled'}: ${summary.split('\n', 1)[0]}`
  return { code: 1, reason: error, error, cause: 'agent' }
}

/** the reason for which members retire at the end of their crew */
const END_REASON = 'the crew is done'
