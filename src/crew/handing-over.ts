// The hand-over of a member whose context is nearly full: it is asked for a summary, and its successor goes on with that.
// Owns when that is; where an agent coordinates, that decides about workers. Test: test/tables/crew-turns.test.ts.
import { requeue, tell, unreview } from './effects.ts'
import { coordinatorToTell, isLiving } from './finding.ts'
import { dismiss, MAX_COORDINATORS, replace } from './leading.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Member, Task } from './types.ts'

/** times that a task is handed on, before that is a try that failed */
const MAX_SUCCESSORS = 4

export function memberFull(work: CrewWork, { member: id, share }: Extract<Command, { type: 'member_full' }>): string {
  const member = work.member(id)
  if (!member || member.full || member.state !== 'on' || !isLiving(member) || work.spec.handOver === null || work.crew.ending) return 'noted'
  work.emit({ type: 'crew.full', member: id, share })
  const used = `${Math.round(share * 100)} % of ${id}'s context is used`
  if (member.role === 'coordinator') {
    work.send(id, { from: 'system', text: `${used}. Call replace_worker with your own id "${id}" and a summary: what was decided, what is next. Your successor sees the tasks, and knows nothing else.` })
  } else if (coordinatorToTell(work.crew)) {
    tell(work, `${used}. Ask it for a summary, and call replace_worker with it.`, null)
  } else if (member.phase !== 'idle') {
    work.send(id, { from: 'system', text: `${used}. If you are not done in this turn, call post_message to "coordinator" with a summary for your successor: what is done, what is left, what you learned. It takes over your files as they are.` })
  }
  return used
}

/** Its context cannot be made to fit any more: it is paused, and can say nothing. */
export function memberStuck(work: CrewWork, member: Member): void {
  const { id, role, phase } = member
  if (work.spec.handOver === null || work.crew.ending || member.state !== 'on' || !isLiving(member)) return
  if (!member.full) work.emit({ type: 'crew.full', member: id, share: 1 })
  if (isReplaced(work, member)) giveOver(work, member, 'its context was full, and it could say nothing more: look at what it left')
  else if (role !== 'coordinator' && phase !== 'idle') tell(work, `${id}'s context is full, and it is paused: nothing more comes of it. Give its place to another: replace_worker.`, work.task(member.task) ?? null)
  const now = work.needMember(id)
  if (work.spec.coordinator === 'engine' && now.heir === null && now.phase === 'idle') dismiss(work, id, 'retired', 'its context is full')
}

/** With what it said last, once it was asked. */
export function handOverFull(work: CrewWork, member: Member, text: string): boolean {
  if (!member.full || member.told || !isReplaced(work, member) || !isLiving(member) || work.crew.ending) return false
  giveOver(work, member, text === '' ? 'it left no summary' : text)
  return true
}

/** Without anybody's word; nobody is in the middle of a commit. */
function isReplaced({ crew, spec }: CrewWork, { role, phase }: Member): boolean {
  if (role === 'coordinator') return crew.nextCoordinator <= MAX_COORDINATORS
  return spec.coordinator === 'engine' && phase !== 'idle' && phase !== 'committing'
}

function giveOver(work: CrewWork, member: Member, summary: string): void {
  const task = work.task(member.task)
  const before = predecessors(work, member)
  if (task && before >= MAX_SUCCESSORS) giveUp(work, member, task, `the contexts of ${before + 1} workers in a row were not enough for it`)
  else replace(work, member, summary)
}

function predecessors(work: CrewWork, { heirOf }: Member): number {
  let count = 0
  for (let id = heirOf; id !== null; id = work.member(id)?.heirOf ?? null) count += 1
  return count
}

/** It would be handed on for ever, and cost each time. */
function giveUp(work: CrewWork, member: Member, task: Task, reason: string): void {
  if (member.phase === 'reviewing') unreview(work, task, reason)
  else requeue(work, task, { reason, counts: true })
}
