// The members of a crew as processes: where they stand in the tree, and how they are let go; what becomes of their queues stands in
// crew-queues.ts. Owns that workers stand below the coordinator while that lives. What members do for the crew stands in src/crew.
// Must never restart one: that is supervising.ts. Tests: test/tables/crewing.test.ts, test/tables/crewing-members.test.ts.
import { noteChild } from './children.ts'
import { leaveQueue } from './crew-queues.ts'
import { KernelError } from './errors.ts'
import { deliver, deliverPending } from './signalling.ts'
import { isLiving } from './status.ts'
import type { SystemCommand } from '../crew/commands.ts'
import type { CrewSpec, MemberId } from '../crew/types.ts'
import type { InputOf } from './inputs.ts'
import type { Cause, Process, Sender, Signal, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** What a member has to clean up when it is stopped. */
const STOP_GRACE_MS = 10_000
/** Who commits is neither ended nor paused in the middle of it. */
const COMMITTING: readonly Signal[] = ['SIGTERM', 'SIGPAUSE']

/** Errors: INVALID for what is no crew. */
export function crewSpecOf({ pid, spec }: Pick<Process, 'pid' | 'spec'>): CrewSpec {
  if (!spec.crew) throw new KernelError('INVALID', `process ${pid} is no crew`)
  return spec.crew
}

/** The process of a member, dead or alive; null: it is being started. */
function uuidOf(work: Work, crew: Uuid, id: MemberId): Uuid | null {
  return work.need(crew).crew?.members.find((one) => one.id === id)?.uuid ?? null
}

/** The row of a member's process; undefined: it is being started, or its row is not in the table. */
export function memberOf(work: Work, crew: Uuid, id: MemberId): Process | undefined {
  const uuid = uuidOf(work, crew, id)
  return uuid === null ? undefined : work.last(uuid)
}

export function stopMember(work: Work, crew: Uuid, { member, how, reason }: { readonly member: MemberId; readonly how: 'retire' | 'stop'; readonly reason: string }): void {
  const process = memberOf(work, crew, member)
  if (!process) return
  if (!isLiving(process)) {
    // Its end was told before anybody wanted it to go; of a zombie it will be.
    if (process.life.state === 'dead') work.news.push({ type: 'member', crew, command: goneWith(member, 'parent', reason) })
    return
  }
  if (how === 'retire' && process.retiredAt === null) work.emit(process.uuid, { type: 'process.retired', by: byOf(crew), reason })
  maskMember(work, crew, member, false)
  deliver(work, process.uuid, { signal: 'SIGTERM', by: byOf(crew), root: null, graceMs: STOP_GRACE_MS, freeze: false })
}

/** One that has no agent at the moment has nothing that could be interrupted: the signal would end it. */
export function interruptMember(work: Work, crew: Uuid, member: MemberId): void {
  const process = memberOf(work, crew, member)
  if (process?.life.state === 'running' && process.life.attached) deliver(work, process.uuid, { signal: 'SIGINT', by: byOf(crew), root: null, graceMs: null, freeze: false })
}

export function maskMember(work: Work, crew: Uuid, member: MemberId, on: boolean): void {
  const process = memberOf(work, crew, member)
  // One that has not begun has nothing that could be cut off; it is told of again when it does.
  if (process?.life.state !== 'running') return
  const { mask } = process.signals
  const next = on ? [...new Set([...mask, ...COMMITTING])] : mask.filter((name) => !COMMITTING.includes(name))
  if (next.length === mask.length) return
  work.emit(process.uuid, { type: 'signal.masked', mask: next })
  deliverPending(work, process.uuid)
}

export function byOf(crew: Uuid): Sender {
  return `agent:${crew}`
}

export function goneWith(member: MemberId, cause: Cause, reason: string): SystemCommand {
  return { type: 'member_gone', member, cause, reason }
}

/** It was asked to go, so that it does not come back by itself. */
export function isLeaving(crew: Process, id: string): boolean {
  const state = crew.crew?.members.find((one) => one.id === id)?.state
  return state === 'leaving' || state === 'gone'
}

/** Why it was asked to go. */
export function leaveReason(crew: Process, id: string): string {
  return crew.crew?.members.find((one) => one.id === id)?.leave?.reason ?? 'it was asked to go'
}

/** Every member that lives is kept, also one that a person brought back; workers stand below the coordinator while that lives. */
export function lookAfter(work: Work, uuid: Uuid): void {
  const { crew } = work.need(uuid)
  const rows = (crew?.members ?? []).flatMap(({ uuid: member }) => (member === null ? [] : (work.get(member) ?? []))).filter(isLiving)
  const lead = rows.findLast(({ spec }) => spec.member?.role === 'coordinator')?.uuid ?? uuid
  for (const row of rows) {
    const parent = row.spec.member?.role === 'coordinator' ? uuid : lead
    if (row.parent !== parent) work.emit(row.uuid, { type: 'process.reparented', parent })
    if (!work.need(uuid).supervision?.children.some((child) => child.uuid === row.uuid)) noteChild(work, row)
  }
}

/** It does not come back by itself: nobody keeps it any more, and what it never read goes to its successor, or back to who wrote it. */
export function letGo(work: Work, crew: Process, process: Pick<Process, 'uuid' | 'spec' | 'retiredAt' | 'queue'>): void {
  work.emit(crew.uuid, { type: 'supervisor.removed', id: process.spec.childId ?? '', child: process.uuid })
  leaveQueue(work, crew.uuid, process)
  lookAfter(work, crew.uuid)
}

/** It ended before its crew did, and its crew is done: it is not resumed for that any more, so that its files may go. */
export function retire(work: Work, { uuid, frozen, by, reason }: InputOf<'retire'>): void {
  if (work.get(uuid) || frozen.life.state !== 'dead' || frozen.retiredAt !== null) return
  work.bring(frozen)
  work.emit(uuid, { type: 'process.retired', by, reason })
}
