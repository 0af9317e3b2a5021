// The children of a supervisor: who they are, who keeps whom, and what of an end another incarnation begins with.
// Owns their ids. Decides nothing about restarts, and stops nobody: that is supervising.ts.
// Test: test/tables/supervising.test.ts.
import { CAPABILITIES } from './capabilities.ts'
import { KernelError } from './errors.ts'
import { isRun, nodesOf } from './runs.ts'
import { isLiving } from './status.ts'
import type { ExitStatus, Hold, Process, ProcessSpec } from './types.ts'
import type { SupervisedChild } from './supervision.ts'
import type { Work } from './work.ts'

/** children of one supervisor */
const MAX_CHILDREN = 1_000

export interface Place {
  readonly supervisor: Process
  readonly child: SupervisedChild
}

/** It has no program: it is there for its children, and the kernel does its work. */
export function keepsChildren({ spec }: Pick<Process, 'spec'>): boolean {
  return CAPABILITIES[spec.driver].keeps
}

export function isCrew({ spec }: Pick<Process, 'spec'>): boolean {
  return spec.driver === 'crew'
}

/** It has begun, and nothing keeps it from its work. */
export function mayGoOn({ life }: Process): boolean {
  return life.state === 'running' && life.attached && life.holds.length === 0 && !life.stopping
}

/** Its supervisor, if that lives and knows it. */
export function placeOf(work: Work, { uuid, parentUuid }: Process): Place | null {
  const supervisor = parentUuid === null ? undefined : work.get(parentUuid)
  if (!supervisor || !keepsChildren(supervisor) || !isLiving(supervisor)) return null
  const child = supervisor.supervision?.children.find((known) => known.uuid === uuid)
  return child ? { supervisor, child } : null
}

/** Somebody will let it begin: its own policy, or a supervisor that lives. */
export function isKept(work: Work, process: Process): boolean {
  return process.spec.childId === undefined || placeOf(work, process) !== null
}

/** It has a policy, or is kept: another incarnation may follow. */
export function mayComeBack({ spec }: Process): boolean {
  return spec.restart !== undefined || spec.childId !== undefined || keepsChildren({ spec })
}

/** A fork is tried out beside its origin: nobody keeps it, and it does not come back by itself. */
export function unkept({ childId: _, restart: __, member: ___, ...spec }: ProcessSpec): ProcessSpec {
  return spec
}

/** What was paused when it ended is paused in its next incarnation, too; an orderly stop's own hold is over with its daemon. */
export function pausesToKeep(process: Process, exit?: ExitStatus): readonly Hold[] {
  if (process.life.state !== 'running' || (exit?.resumeAt === undefined && !mayComeBack(process))) return []
  return [...process.life.holds.filter(({ reason }) => reason !== 'daemon-shutdown'), ...putOff(process)]
}

/** A person's pause that a mask has put off is not over with the incarnation that put it off. */
function putOff({ signals, clock: { updatedAt: at } }: Process): readonly Hold[] {
  const pauses = signals.pending.filter(({ signal, by }) => signal === 'SIGPAUSE' && by === 'user')
  return pauses.map(({ by, root }) => (root === null ? { reason: 'user', by, at } : { reason: 'subtree', root, by, at }))
}

/** Its children that are in the table, in the order of their start; null: all of them. */
export function rowsOf(work: Work, ids: readonly string[] | null, { supervision }: Process): Process[] {
  const known = (supervision?.children ?? []).filter(({ id }) => ids === null || ids.includes(id))
  return known.flatMap(({ uuid }) => work.get(uuid) ?? [])
}

export function hasChildren(work: Work, supervisor: Process): boolean {
  return keepsChildren(supervisor) && rowsOf(work, null, supervisor).length > 0
}

/** Before a spawn. Errors: INVALID, CONFLICT, RESOURCE_EXHAUSTED. */
export function checkChild(work: Work, parent: Process | undefined, { childId }: ProcessSpec): void {
  if (!parent || !keepsChildren(parent)) {
    if (childId !== undefined) throw new KernelError('INVALID', `only a supervisor has children with ids, and ${parent ? `process ${parent.pid}` : 'PID 0'} is none`)
    return
  }
  if (isRun(parent) && !nodesOf(parent).nodes.some(({ name, state }) => name === childId && state === 'starting')) throw new KernelError('INVALID', 'the children of a run are the nodes of its file')
  if (childId === undefined) throw new KernelError('INVALID', 'a child of a supervisor needs an id among its children')
  const children = parent.supervision?.children ?? []
  const known = children.find(({ id }) => id === childId)
  if (known && work.get(known.uuid)) throw new KernelError('CONFLICT', `the supervisor has a child "${childId}"`, { uuid: known.uuid })
  if (!known && children.length >= MAX_CHILDREN) throw new KernelError('RESOURCE_EXHAUSTED', `a supervisor has at most ${MAX_CHILDREN} children`)
}

/** Before a spawn. Errors: INVALID, CONFLICT for who was not asked for, or is there already. */
export function checkMember(parent: Process | undefined, { member, childId }: Process['spec']): void {
  const crew = parent && isCrew(parent) ? parent : undefined
  if (!crew && !member) return
  if (!crew || member?.crew !== crew.uuid || member.id !== childId) throw new KernelError('INVALID', 'a crew starts its members itself')
  const known = crew.crew?.members.find(({ id }) => id === member.id)
  if (known?.state !== 'starting' || known.uuid !== null) throw new KernelError('CONFLICT', `${member.id} is not asked for, or is there already`)
}

/** A child is known from now on; of one that is known already, what it was restarted for is forgiven. */
export function noteChild(work: Work, { uuid, parentUuid, spec }: Process): void {
  const supervisor = parentUuid === null ? undefined : work.get(parentUuid)
  if (spec.childId === undefined || !supervisor || !keepsChildren(supervisor) || !isLiving(supervisor)) return
  const { type = 'transient', onComplete } = spec.restart ?? {}
  work.emit(supervisor.uuid, { type: 'supervisor.added', id: spec.childId, child: uuid, restart: type, ...(onComplete === undefined ? {} : { onComplete }) })
}

/** A person, or whoever asks in their name, begins it again: it has another chance. */
export function forgive(work: Work, process: Process): void {
  if (placeOf(work, process)?.child.restarts) noteChild(work, process)
}

