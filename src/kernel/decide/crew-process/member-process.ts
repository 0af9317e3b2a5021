// The processes of a crew's members: their position in the process tree, their signal masks, and how they leave.
// Workers are children of the coordinator while it is alive. src/kernel/crew decides about the work of members,
// message-moves.ts moves their messages. Must never restart a member: that is supervision.ts. Tests:
// test/tables/kernel/decide/crew-process/apply-command.test.ts, test/tables/kernel/decide/crew-process/members.test.ts.
import { registerChild } from '../children.ts'
import { moveUnreadMessages } from './message-moves.ts'
import { KernelError } from '../../model/errors.ts'
import { deliverSignal, deliverPending } from '../signals.ts'
import { isLiving } from '../../model/status.ts'
import type { SystemCommand } from '../../model/crew/commands.ts'
import type { InputOf } from '../../model/inputs.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Sender, Uuid } from '../../model/ids.ts'
import type { Cause, Signal } from '../../model/words.ts'
import type { MemberId } from '../../model/crew/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'
import { STOP_GRACE_MS } from '../../model/signals.ts'

/** the signals that a member blocks while it commits */
const MASKED_WHILE_COMMITTING: readonly Signal[] = ['SIGTERM', 'SIGPAUSE']

/** The specification of a crew. Errors: INVALID for a process that is not a crew. */
export function crewSpecOf({ pid, spec }: Pick<Process, 'pid' | 'spec'>): CrewSpec {
  if (!spec.crew) throw new KernelError('INVALID', `process ${pid} is not a crew`)
  return spec.crew
}

/** The UUID of a member's process, dead or alive; null while it is being started. */
function uuidOf(draft: DecisionDraft, crew: Uuid, id: MemberId): Uuid | null {
  return draft.mustGet(crew).crew?.members.find((member) => member.id === id)?.uuid ?? null
}

/** The row of a member's process; undefined if the process is being started or is not in the table. */
export function memberOf(draft: DecisionDraft, crew: Uuid, id: MemberId): Process | undefined {
  const uuid = uuidOf(draft, crew, id)
  return uuid === null ? undefined : draft.latestRow(uuid)
}

/** Asks a member to leave its crew, with SIGTERM. `how`: `retire` if its work is done. */
export function stopMember(
  draft: DecisionDraft,
  crew: Uuid,
  { member, how, reason }: { readonly member: MemberId; readonly how: 'retire' | 'stop'; readonly reason: string },
): void {
  const process = memberOf(draft, crew, member)
  if (!process) return
  if (!isLiving(process)) {
    // The end of a zombie will be reported to the crew later; the end of a dead process is reported here.
    if (process.life.state === 'dead')
      draft.followUps.push({ type: 'memberCommand', crew, command: memberGoneCommand(member, 'parent', reason) })
    return
  }
  if (how === 'retire' && process.retiredAt === null) draft.emit(process.uuid, { type: 'process.retired', by: crewSender(crew), reason })
  maskMember(draft, crew, member, false)
  deliverSignal(draft, process.uuid, { signal: 'SIGTERM', by: crewSender(crew), root: null, graceMs: STOP_GRACE_MS, freeze: false })
}

/** Requests the retirement of a member whose process has ended. The daemon must read its row from the store first. */
export function retireEnded(
  draft: DecisionDraft,
  crew: Uuid,
  { member, reason }: { readonly member: MemberId; readonly reason: string },
): void {
  const uuid = uuidOf(draft, crew, member)
  if (uuid !== null) draft.addEffect({ type: 'crew.retire', uuid: crew, pid: draft.mustGet(crew).pid, members: [uuid], reason })
}

/** Interrupts a member's turn. A process without a driver has no turn, and the signal would end it. */
export function interruptMember(draft: DecisionDraft, crew: Uuid, member: MemberId): void {
  const process = memberOf(draft, crew, member)
  if (process?.life.state === 'running' && process.life.attached)
    deliverSignal(draft, process.uuid, { signal: 'SIGINT', by: crewSender(crew), root: null, graceMs: null, freeze: false })
}

/** Blocks (`on`) or unblocks the signals that would disturb a commit. */
export function maskMember(draft: DecisionDraft, crew: Uuid, member: MemberId, on: boolean): void {
  const process = memberOf(draft, crew, member)
  // A process that is not running has no commit to protect; the mask is set again when it runs.
  if (process?.life.state !== 'running') return
  const { mask } = process.signals
  const next = on ? [...new Set([...mask, ...MASKED_WHILE_COMMITTING])] : mask.filter((name) => !MASKED_WHILE_COMMITTING.includes(name))
  if (next.length === mask.length) return
  draft.emit(process.uuid, { type: 'signal.masked', mask: next })
  deliverPending(draft, process.uuid)
}

export function crewSender(crew: Uuid): Sender {
  return `agent:${crew}`
}

export function memberGoneCommand(member: MemberId, cause: Cause, reason: string): SystemCommand {
  return { type: 'member_gone', member, cause, reason }
}

/** True for a member that was asked to leave or has left, so that no policy restarts it. */
export function isLeaving(crew: Process, id: string): boolean {
  const state = crew.crew?.members.find((member) => member.id === id)?.state
  return state === 'leaving' || state === 'gone'
}

/** The reason why the member was asked to leave. */
export function leaveReason(crew: Process, id: string): string {
  return crew.crew?.members.find((member) => member.id === id)?.leave?.reason ?? 'it was asked to leave'
}

/**
 * Makes the crew supervise every living member, including one that the user resumed, and makes the living coordinator the
 * parent of all workers.
 */
export function superviseMembers(draft: DecisionDraft, uuid: Uuid): void {
  const { crew } = draft.mustGet(uuid)
  const rows = (crew?.members ?? []).flatMap(({ uuid: member }) => (member === null ? [] : (draft.get(member) ?? []))).filter(isLiving)
  const coordinator = rows.findLast(({ spec }) => spec.member?.role === 'coordinator')?.uuid ?? uuid
  for (const row of rows) {
    const parent = row.spec.member?.role === 'coordinator' ? uuid : coordinator
    if (row.parent !== parent) draft.emit(row.uuid, { type: 'process.reparented', parent })
    if (!draft.mustGet(uuid).supervision?.children.some((child) => child.uuid === row.uuid)) registerChild(draft, row)
  }
}

/** Ends the supervision of a member that does not restart. Its unread messages go to its successor, or back to their senders. */
export function releaseMember(draft: DecisionDraft, crew: Process, process: Pick<Process, 'uuid' | 'spec' | 'retiredAt' | 'queue'>): void {
  draft.emit(crew.uuid, { type: 'supervisor.removed', id: process.spec.childId ?? '', child: process.uuid })
  moveUnreadMessages(draft, crew.uuid, process)
  superviseMembers(draft, crew.uuid)
}

/** Retires a member whose process has already ended, so that its files may be removed. */
export function retireMember(draft: DecisionDraft, { uuid, endedRow, by, reason }: InputOf<'retire'>): void {
  if (draft.get(uuid) || endedRow.life.state !== 'dead' || endedRow.retiredAt !== null) return
  draft.loadEnded(endedRow)
  draft.emit(uuid, { type: 'process.retired', by, reason })
}
