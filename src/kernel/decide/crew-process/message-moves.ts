// Moves queued messages of crew members to their successors, in order, or returns them to their senders. Without a
// process that can read them, messages stay where they are. Their texts are in journals, which the daemon reads for
// each move (effect `crew.move`); a move may be requested again. Must never deliver a message twice, nor lose one.
// Tests: test/tables/kernel/decide/crew-process/succession.test.ts, test/tables/kernel/decide/crew-process/message-moves.test.ts.
import { coordinatorRecipient, predecessorsOf, lastSuccessorOf } from '../../crew/state/queries.ts'
import { keptMessageId, keptMessages } from '../../crew/state/kept-messages.ts'
import { startNextTurn } from '../turns.ts'
import { enqueueMessage, isQueueFull } from '../message-queue.ts'
import { isLiving } from '../../model/status.ts'
import type { Member } from '../../model/crew/crew.ts'
import type { Effect } from '../../model/effects.ts'
import type { InputOf, PendingMessages } from '../../model/inputs.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Sender, Uuid } from '../../model/ids.ts'
import type { MemberId } from '../../model/crew/words.ts'

/** The turn in the fact of a message that was moved away: no turn has read it. */
const NO_TURN = 0

function memberIn(draft: DecisionDraft, crew: Uuid, id: MemberId): Member | undefined {
  return draft.latestRow(crew)?.crew?.members.find((member) => member.id === id)
}

/**
 * The process that can take a message to a member now. Undefined if it has ended or not started, or if older messages
 * are still being moved to it. `first`: the message may come before those.
 */
export function readerOf(draft: DecisionDraft, crew: Uuid, id: MemberId, first = false): Process | undefined {
  const member = memberIn(draft, crew, id)
  const process = member?.uuid ? draft.latestRow(member.uuid) : undefined
  const mustWait = !first && (member?.inherits === true || keptMessages(draft.latestRow(crew), id).length > 0)
  return process && process.life.state !== 'dead' && !mustWait ? process : undefined
}

/**
 * Requests a move of unread messages. With a member `to`, that member gets the messages of the members `from`, and those
 * that the crew keeps for it. With `to` null, the messages return to their senders.
 */
export function requestMove(
  draft: DecisionDraft,
  crew: Uuid,
  { from, to }: { readonly from: readonly MemberId[]; readonly to: MemberId | null },
): void {
  const receiver = to === null ? null : memberIn(draft, crew, to)?.uuid
  if (receiver === undefined || (to !== null && receiver === null)) return
  const sources = from.flatMap((id) => memberIn(draft, crew, id)?.uuid ?? [])
  moveOnce(draft, crew, { from: receiver === null ? sources : [...sources, crew], to: receiver, all: true })
}

/** Requests a move, unless this decision already requests it. */
function moveOnce(draft: DecisionDraft, crew: Uuid, request: Pick<Extract<Effect, { type: 'crew.move' }>, 'from' | 'to' | 'all'>): void {
  const isRequested = draft.effects.some(
    (effect) => effect.type === 'crew.move' && effect.to === request.to && request.from.every((uuid) => effect.from.includes(uuid)),
  )
  if (!isRequested) draft.addEffect({ type: 'crew.move', uuid: crew, pid: draft.mustGet(crew).pid, ...request })
}

/** Requests the messages for a running member: those that were already being moved to it, or else those in the crew's queue. */
export function requestKeptMessages(draft: DecisionDraft, crew: Uuid, id: MemberId): void {
  const row = draft.get(crew)
  const member = memberIn(draft, crew, id)
  const process = member?.uuid ? draft.get(member.uuid) : undefined
  if (!row?.crew || !process || !isLiving(process)) return
  if (member?.inherits) requestMove(draft, crew, { from: predecessorsOf(row.crew, id).map((predecessor) => predecessor.id), to: id })
  else if (keptMessages(row, id).length > 0) moveOnce(draft, crew, { from: [crew], to: process.uuid, all: false })
}

/** Requests the move of a departed member's unread messages. A successor that is not running yet gets them when it starts. */
export function moveUnreadMessages(
  draft: DecisionDraft,
  crew: Uuid,
  { uuid, spec, retiredAt, queue }: Pick<Process, 'uuid' | 'spec' | 'retiredAt' | 'queue'>,
): void {
  const to = receiverOf(draft, crew, spec.childId as MemberId, retiredAt !== null)
  if (queue.length > 0 && to !== undefined) moveOnce(draft, crew, { from: [uuid], to, all: false })
}

/** Requests again all moves that were pending when a daemon crashed. Messages that had been moved are no longer in any queue. */
export function requestPendingMoves(draft: DecisionDraft, crew: Uuid): void {
  const members = draft.mustGet(crew).crew?.members ?? []
  for (const { id } of members) requestKeptMessages(draft, crew, id)
  for (const { id, uuid, state, leave } of members) {
    const to = uuid !== null && state === 'gone' ? receiverOf(draft, crew, id, leave?.how === 'retired') : undefined
    if (uuid !== null && to !== undefined) moveOnce(draft, crew, { from: [uuid], to, all: false })
  }
}

/** The receiver of a departed member's unread messages; null: their senders; undefined: none yet. */
function receiverOf(draft: DecisionDraft, crew: Uuid, id: MemberId, isRetired: boolean): Uuid | null | undefined {
  const row = draft.mustGet(crew).crew
  const successor = row ? lastSuccessorOf(row, id) : undefined
  if (!successor || successor.id === id) return isRetired ? null : undefined
  if (successor.uuid !== null) return successor.uuid
  // The messages of a coordinator wait for the next coordinator.
  return successor.state === 'gone' && successor.role !== 'coordinator' ? null : undefined
}

/**
 * Delivers the messages of a move, which the daemon has read, in one commit. Messages that have left their queue since
 * then are skipped.
 */
export function deliverMovedMessages(draft: DecisionDraft, { uuid: crew, from, to, all }: InputOf<'crewMoved'>): void {
  const receiver = to === null ? null : draft.get(to)
  if (to !== null && (!receiver || !isLiving(receiver))) return
  for (const pending of from) moveFrom(draft, crew, pending, receiver ?? null)
  if (!receiver) return
  const crewQueue = from.find(({ process }) => process.uuid === crew)
  if (crewQueue) recordArrival(draft, crew, receiver, { all, known: crewQueue.process.queue })
  startNextTurn(draft, receiver.uuid)
}

function moveFrom(
  draft: DecisionDraft,
  crew: Uuid,
  { process: { uuid, spec }, process, messages }: PendingMessages,
  receiver: Process | null,
): void {
  if (!draft.latestRow(uuid)) draft.loadEnded(process)
  const isCrewQueue = uuid === crew
  const row = draft.mustGet(uuid)
  const queued = new Set((isCrewQueue ? keptMessages(row, idOf(receiver)) : row.queue).map(({ id }) => id))
  for (const { id, from, text } of messages) {
    if (!queued.has(id)) continue
    draft.emit(uuid, { type: 'message.taken', id, turn: NO_TURN })
    // The limit of the queue does not apply, because these messages have been accepted before.
    if (receiver) draft.emit(receiver.uuid, { type: 'process.queue', id: isCrewQueue ? id.slice(id.indexOf('/') + 1) : id, from, text })
    else returnToSender(draft, crew, { from, reader: spec.member?.id ?? uuid, id, text })
  }
}

function idOf(process: Process | null): MemberId {
  return process?.spec.member?.id ?? 'coordinator'
}

/** Records that the receiver has all older messages, and requests those that the crew has queued since the daemon read `known`. */
function recordArrival(
  draft: DecisionDraft,
  crew: Uuid,
  receiver: Process,
  { all, known }: { readonly all: boolean; readonly known: Process['queue'] },
): void {
  const row = draft.get(crew)
  const id = idOf(receiver)
  if (!row || !isLiving(row)) return
  if (all && memberIn(draft, crew, id)?.inherits) draft.emit(crew, { type: 'crew.inherited', member: id })
  if (keptMessages(row, id).some((kept) => !known.some((message) => message.id === kept.id))) requestKeptMessages(draft, crew, id)
}

/** Notifies the sender of a message that `reader` has left without reading it. */
function returnToSender(
  draft: DecisionDraft,
  crew: Uuid,
  { from, reader, id, text }: { readonly from: Sender; readonly reader: string; readonly id: string; readonly text: string },
): void {
  const notice = `${reader} left before it read this: ${text}`
  const row = draft.get(crew)
  const reply = { id: `back-${reader}-${id}`, from: 'system', text: notice } as const
  const coordinator = from === 'coordinator' && row?.crew ? coordinatorRecipient(row.crew)?.id : undefined
  const process = coordinator ? readerOf(draft, crew, coordinator) : draft.sendingProcess(from)
  if (process && isLiving(process) && !isQueueFull(process)) {
    enqueueMessage(draft, process.uuid, reply)
    startNextTurn(draft, process.uuid)
  } else if (coordinator && row && isLiving(row))
    draft.emit(crew, { type: 'process.queue', ...reply, id: keptMessageId(coordinator, reply.id) })
  else if (from === 'user' && row) draft.emit(crew, { type: 'crew.notified', text: notice })
}
