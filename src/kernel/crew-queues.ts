// What waits for members of a crew, and for those who come after them: it is brought over in order, kept while nobody can read it,
// or given back to who wrote it. The texts stand in journals, which the daemon has to read (`crew.move`); it may be asked again.
// Must never bring a message twice, nor lose one. Tests: test/tables/crew-succession.test.ts, test/tables/crew-moving.test.ts.
import { coordinatorToTell, predecessorsOf, successorOf } from '../crew/finding.ts'
import { keptFor, keptOf } from './member-news.ts'
import { settle } from './pausing.ts'
import { enqueue, isQueueFull } from './spawning.ts'
import { isLiving } from './status.ts'
import type { Member, MemberId } from '../crew/types.ts'
import type { Effect } from './effects.ts'
import type { InputOf, Waiting } from './inputs.ts'
import type { Process, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** In no turn: it was not the agent that read it. */
const TAKEN_AWAY = 0

function memberIn(work: Work, crew: Uuid, id: MemberId): Member | undefined {
  return work.last(crew)?.crew?.members.find((one) => one.id === id)
}

/** Who reads now what is written to a member; with `first` whatever is on its way to it. Undefined: it is not there, or something that is older is on its way to it. */
export function readerOf(work: Work, crew: Uuid, id: MemberId, first = false): Process | undefined {
  const member = memberIn(work, crew, id)
  const process = member?.uuid ? work.last(member.uuid) : undefined
  const waits = !first && (member?.inherits === true || keptOf(work.last(crew), id).length > 0)
  return process && process.life.state !== 'dead' && !waits ? process : undefined
}

/** What these never read goes to a member, and then what was kept for it; with `to` null back to who wrote it. */
export function bringOver(work: Work, crew: Uuid, { from, to }: { readonly from: readonly MemberId[]; readonly to: MemberId | null }): void {
  const receiver = to === null ? null : memberIn(work, crew, to)?.uuid
  if (receiver === undefined || (to !== null && receiver === null)) return
  const sources = from.flatMap((id) => memberIn(work, crew, id)?.uuid ?? [])
  move(work, crew, { from: receiver === null ? sources : [...sources, crew], to: receiver, all: true })
}

function move(work: Work, crew: Uuid, asked: Pick<Extract<Effect, { type: 'crew.move' }>, 'from' | 'to' | 'all'>): void {
  const known = work.effects.some((effect) => effect.type === 'crew.move' && effect.to === asked.to && asked.from.every((one) => effect.from.includes(one)))
  if (!known) work.effect({ type: 'crew.move', uuid: crew, pid: work.need(crew).pid, ...asked })
}

/** A member is there: what was on its way to it, or was kept for it, is asked for again. */
export function giveKept(work: Work, crew: Uuid, id: MemberId): void {
  const row = work.get(crew)
  const member = memberIn(work, crew, id)
  const process = member?.uuid ? work.get(member.uuid) : undefined
  if (!row?.crew || !process || !isLiving(process)) return
  if (member?.inherits) bringOver(work, crew, { from: predecessorsOf(row.crew, id).map((one) => one.id), to: id })
  else if (keptOf(row, id).length > 0) move(work, crew, { from: [crew], to: process.uuid, all: false })
}

/** What one that is let go never read. A successor that is not there yet takes it when it is. */
export function leaveQueue(work: Work, crew: Uuid, { uuid, spec, retiredAt, queue }: Pick<Process, 'uuid' | 'spec' | 'retiredAt' | 'queue'>): void {
  const to = receiverOf(work, crew, spec.childId as MemberId, retiredAt !== null)
  if (queue.length > 0 && to !== undefined) move(work, crew, { from: [uuid], to, all: false })
}

/** The daemon may have died before it had read what waited for those that left: it is asked again. What has gone over is not there any more. */
export function moveLeft(work: Work, crew: Uuid): void {
  const members = work.need(crew).crew?.members ?? []
  for (const { id } of members) giveKept(work, crew, id)
  for (const { id, uuid, state, leave } of members) {
    const to = uuid !== null && state === 'gone' ? receiverOf(work, crew, id, leave?.how === 'retired') : undefined
    if (uuid !== null && to !== undefined) move(work, crew, { from: [uuid], to, all: false })
  }
}

/** Who gets what a member never read; null: who wrote it; undefined: it waits. */
function receiverOf(work: Work, crew: Uuid, id: MemberId, isRetired: boolean): Uuid | null | undefined {
  const row = work.need(crew).crew
  const heir = row ? successorOf(row, id) : undefined
  if (!heir || heir.id === id) return isRetired ? null : undefined
  if (heir.uuid !== null) return heir.uuid
  // Whoever coordinates next is its successor.
  return heir.state === 'gone' && heir.role !== 'coordinator' ? null : undefined
}

/** What waited was read: it goes on to who is to have it, all of it in one commit. What has gone over before is left out. */
export function moved(work: Work, { uuid: crew, from, to, all }: InputOf<'crewMoved'>): void {
  const receiver = to === null ? null : work.get(to)
  if (to !== null && (!receiver || !isLiving(receiver))) return
  for (const waiting of from) takeAway(work, crew, waiting, receiver ?? null)
  if (!receiver) return
  const kept = from.find(({ process }) => process.uuid === crew)
  if (kept) arrived(work, crew, receiver, { all, known: kept.process.queue })
  settle(work, receiver.uuid)
}

function takeAway(work: Work, crew: Uuid, { process: { uuid, spec }, process, messages }: Waiting, receiver: Process | null): void {
  if (!work.last(uuid)) work.bring(process)
  const isKept = uuid === crew
  const row = work.need(uuid)
  const waiting = new Set((isKept ? keptOf(row, idOf(receiver)) : row.queue).map(({ id }) => id))
  for (const { id, from, text } of messages) {
    if (!waiting.has(id)) continue
    work.emit(uuid, { type: 'message.taken', id, turn: TAKEN_AWAY })
    // However many wait for it already: they have been taken.
    if (receiver) work.emit(receiver.uuid, { type: 'process.queue', id: isKept ? id.slice(id.indexOf('/') + 1) : id, from, text })
    else giveBack(work, crew, { from, who: spec.member?.id ?? uuid, id, text })
  }
}

function idOf(process: Process | null): MemberId {
  return process?.spec.member?.id ?? 'coordinator'
}

/** It has all that was written before it came; what was kept since then follows. */
function arrived(work: Work, crew: Uuid, receiver: Process, { all, known }: { readonly all: boolean; readonly known: Process['queue'] }): void {
  const row = work.get(crew)
  const id = idOf(receiver)
  if (!row || !isLiving(row)) return
  if (all && memberIn(work, crew, id)?.inherits) work.emit(crew, { type: 'crew.inherited', member: id })
  if (keptOf(row, id).some((kept) => !known.some((one) => one.id === kept.id))) giveKept(work, crew, id)
}

function giveBack(work: Work, crew: Uuid, { from, who, id, text }: { readonly from: Sender; readonly who: string; readonly id: string; readonly text: string }): void {
  const words = `${who} was let go before it read this: ${text}`
  const row = work.get(crew)
  const back = { id: `back-${who}-${id}`, from: 'system', text: words } as const
  const lead = from === 'coordinator' && row?.crew ? coordinatorToTell(row.crew)?.id : undefined
  const process = lead ? readerOf(work, crew, lead) : from.startsWith('agent:') ? work.get(from.slice('agent:'.length)) : undefined
  if (process && isLiving(process) && !isQueueFull(process)) {
    enqueue(work, process.uuid, back)
    settle(work, process.uuid)
  } else if (lead && row && isLiving(row)) work.emit(crew, { type: 'process.queue', ...back, id: keptFor(lead, back.id) })
  else if (from === 'user' && row) work.emit(crew, { type: 'crew.notified', text: words })
}
