// What workers say, each in a turn of theirs. Owns that a report belongs to the work that the turn began with: a worker that was
// given something else meanwhile says it again. Test: test/tables/crew-turns.test.ts.
import { refusal } from './crew-work.ts'
import { fail, tell } from './effects.ts'
import { handOverFull } from './handing-over.ts'
import { coordinatorToTell, named } from './finding.ts'
import { words } from './tasking.ts'
import { feedback } from './texts.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Member, MemberId, Task } from './types.ts'
import type { Sender } from '../kernel/types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>

const TEXT_CHARS = 64 * 1_024

function speaker(work: CrewWork): Member {
  const { by } = work.ctx
  if (by.type !== 'member') throw refusal('PERMISSION', 'a worker says this', 'Use send_message.')
  return work.needMember(by.id)
}

function senderOf({ uuid }: Member): Sender {
  return uuid === null ? 'system' : `agent:${uuid}`
}

function checkText(text: string, least: number): void {
  if (text.trim().length < least || text.length > TEXT_CHARS) throw refusal('INVALID', `the text has ${text.length} characters`, `Give it ${least} to ${TEXT_CHARS}.`)
}

/** To the coordinator, or into the thread of a task: whoever works on that hears it. Errors: INVALID, NOT_FOUND. */
export function postMessage(work: CrewWork, { to, text }: CommandOf<'post_message'>): string {
  const member = speaker(work)
  checkText(text, 1)
  const task = to === 'coordinator' ? (work.task(member.task) ?? null) : work.needTask(to)
  work.emit({ type: 'task.message', task: task?.id ?? null, from: member.id, to, text })
  const others = to === 'coordinator' ? [] : work.crew.members.filter((one) => one.id !== member.id && one.task === to && one.state === 'on')
  for (const { id } of others) work.send(id, { from: senderOf(member), task: to, text: `${member.id} about ${to}: ${text}` })
  tell(work, `${member.id}${task ? ` about ${named(task)}` : ''}: ${text}`, task, senderOf(member))
  if (handOverFull(work, work.needMember(member.id), text)) return 'noted; your successor takes over from here: end your turn'
  if (coordinatorToTell(work.crew)) return 'sent'
  return 'noted; a program coordinates this crew and does not answer: decide yourself, go on, and report when you are done'
}

/** Errors: INVALID, CONFLICT, LATE. */
export function reportComplete(work: CrewWork, { summary }: CommandOf<'report_implementation_complete'>): string {
  const member = speaker(work)
  checkText(summary, 1)
  const task = duty(work, member, ['implementing', 'addressing_feedback'], 'There is nothing to report: end your turn, or ask with post_message.')
  if (!task.prepared) throw late(member)
  work.emit({ type: 'task.reported', task: task.id, member: member.id, summary })
  tell(work, `${member.id} reports ${named(task)} complete: ${summary}`, task, senderOf(member))
  return task.reviews ? `${named(task)} awaits its review; end your turn` : `${named(task)} is reported; end your turn`
}

/** Errors: INVALID, CONFLICT, LATE. */
export function reportVerdict(work: CrewWork, { verdict, comments }: CommandOf<'report_review_verdict'>): string {
  const member = speaker(work)
  checkText(comments, verdict === 'DENIED' ? 1 : 0)
  const task = duty(work, member, ['reviewing'], 'You review nothing: end your turn, or ask with post_message.')
  if (!task.briefed) throw late(member)
  if (verdict === 'DENIED') deny(work, task, member.id, comments)
  else work.emit({ type: 'task.verdict', task: task.id, member: member.id, verdict, comments })
  tell(work, `${member.id} on ${named(task)}: ${verdict}. ${comments}`, work.needTask(task.id), senderOf(member))
  return `${named(task)} is ${verdict === 'APPROVED' ? 'approved' : 'sent back'}; end your turn`
}

/** Its implementer hears what is missing; after the last try it has failed. */
export function deny(work: CrewWork, task: Task, by: MemberId | null, comments: string): void {
  work.emit({ type: 'task.verdict', task: task.id, member: by, verdict: 'DENIED', comments })
  const now = work.needTask(task.id)
  if (now.attempts >= work.spec.maxAttempts) return fail(work, now, `${now.attempts === 1 ? 'its only try' : `all ${now.attempts} tries`} failed; the last was denied: ${comments}`)
  if (now.implementer) work.send(now.implementer, { from: 'coordinator', task: task.id, text: feedback(now, by, comments) })
}

export function signalReady(work: CrewWork): string {
  const { phase } = speaker(work)
  return phase === 'idle' ? 'noted; work comes as a message' : `noted; you are ${words(phase)}: go on with it`
}

/** What it works on, as it was when its turn began. */
function duty(work: CrewWork, member: Member, phases: readonly string[], hint: string): Task {
  const task = work.task(member.task)
  if (!task || !phases.includes(member.phase)) throw refusal('CONFLICT', `${member.id} is ${words(member.phase)}${task ? ` (${task.id})` : ''}`, hint)
  if (member.turn.phase !== member.phase) throw late(member)
  return task
}

function late(member: Member): Error {
  return refusal('LATE', `${member.id} was given ${member.task} in the middle of this turn`, 'Nothing was changed. End your turn: the message with what to do comes next.')
}
