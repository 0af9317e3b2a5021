// The children of a supervisor: their ids, the checks before they are added, and who restarts them. Also has the holds that pass to the
// next incarnation of any process. supervision.ts restarts and stops children. Test: test/tables/kernel/decide/supervision.test.ts.
import { CAPABILITIES } from '../model/capabilities.ts'
import { KernelError } from '../model/errors.ts'
import { isProviderLimited } from '../model/exit.ts'
import { isReleasedBy, pauseHold } from '../model/holds.ts'
import { isComposeRun, composeRunOf } from '../compose/run-row.ts'
import { isLiving } from '../model/status.ts'
import type { ExitStatus, Hold, Process } from '../model/process.ts'
import type { SupervisedChild } from '../model/supervision.ts'
import type { DecisionDraft } from './draft.ts'
import type { ProcessSpec } from '../model/process-spec.ts'

/** maximum number of children per supervisor */
const MAX_CHILDREN = 1_000

/** A supervisor and one entry of its list of children. */
export interface ChildSlot {
  readonly supervisor: Process
  readonly child: SupervisedChild
}

/** True for a supervisor, a crew or a run: it has no program, and the kernel manages its children. */
export function supervisesChildren({ spec }: Pick<Process, 'spec'>): boolean {
  return CAPABILITIES[spec.driver].supervisesChildren
}

export function isCrew({ spec }: Pick<Process, 'spec'>): boolean {
  return spec.driver === 'crew'
}

/** True for a supervisor that may start and restart children: it is running, and neither held nor stopping. */
export function canSupervise({ life }: Process): boolean {
  return life.state === 'running' && life.attached && life.holds.length === 0 && !life.stopping
}

/** The living supervisor of a process, and the entry of that process among its children; null: there is none. */
export function childSlotOf(draft: DecisionDraft, { uuid, parentUuid }: Process): ChildSlot | null {
  const supervisor = parentUuid === null ? undefined : draft.get(parentUuid)
  if (!supervisor || !supervisesChildren(supervisor) || !isLiving(supervisor)) return null
  const child = supervisor.supervision?.children.find((known) => known.uuid === uuid)
  return child ? { supervisor, child } : null
}

/** True when a waiting incarnation will be started: by its own policy, or by a living supervisor. */
export function hasRestartOwner(draft: DecisionDraft, process: Process): boolean {
  return process.spec.childId === undefined || childSlotOf(draft, process) !== null
}

/** True when another incarnation may follow automatically: by the process's own policy, or by a supervisor. */
export function mayRestart({ spec }: Process): boolean {
  return spec.restart !== undefined || spec.childId !== undefined || supervisesChildren({ spec })
}

/** The specification of a fork: it has no supervisor and no crew, and never restarts automatically. */
export function withoutSupervision({ childId: _, restart: __, member: ___, ...spec }: ProcessSpec): ProcessSpec {
  return spec
}

/**
 * The holds that pass to the next incarnation. Excluded are holds that a pending SIGRESUME releases, and holds of a
 * stopping daemon, which end with it. Empty if no incarnation will follow.
 */
export function holdsToKeep(process: Process, exit?: ExitStatus): readonly Hold[] {
  const { life, uuid, signals } = process
  if (life.state !== 'running' || (!(exit && isProviderLimited(exit)) && !mayRestart(process))) return []
  const isReleased = (hold: Hold): boolean =>
    signals.pending.some((pending) => pending.signal === 'SIGRESUME' && isReleasedBy(pending, hold, uuid))
  return [...life.holds.filter((hold) => hold.reason !== 'daemon-shutdown' && !isReleased(hold)), ...deferredPauses(process)]
}

/** The holds of pauses by the user that a mask has deferred. They apply to the next incarnation. */
function deferredPauses({ signals, clock: { updatedAt: at } }: Process): readonly Hold[] {
  const pauses = signals.pending.filter(({ signal, by }) => signal === 'SIGPAUSE' && by === 'user')
  return pauses.map((pause) => pauseHold(pause, at))
}

/** The rows of a supervisor's children that are in the table, in starting order. `ids` null: all children. */
export function childRows(draft: DecisionDraft, ids: readonly string[] | null, { supervision }: Process): Process[] {
  const known = (supervision?.children ?? []).filter(({ id }) => ids === null || ids.includes(id))
  return known.flatMap(({ uuid }) => draft.get(uuid) ?? [])
}

export function hasChildren(draft: DecisionDraft, supervisor: Process): boolean {
  return supervisesChildren(supervisor) && childRows(draft, null, supervisor).length > 0
}

/** Checks a child before its spawn. Errors: INVALID, CONFLICT, RESOURCE_EXHAUSTED. */
export function checkChild(draft: DecisionDraft, parent: Process | undefined, { childId }: ProcessSpec): void {
  if (!parent || !supervisesChildren(parent)) {
    if (childId !== undefined)
      throw new KernelError(
        'INVALID',
        `only a supervisor has children with ids, and ${parent ? `process ${parent.pid}` : 'PID 0'} is not one`,
      )
    return
  }
  if (isComposeRun(parent) && !composeRunOf(parent).nodes.some(({ name, state }) => name === childId && state === 'starting'))
    throw new KernelError('INVALID', 'the children of a run are the nodes of its file')
  if (childId === undefined) throw new KernelError('INVALID', 'a child of a supervisor needs an id among its children')
  const children = parent.supervision?.children ?? []
  const known = children.find(({ id }) => id === childId)
  if (known && draft.get(known.uuid)) throw new KernelError('CONFLICT', `the supervisor has a child "${childId}"`, { uuid: known.uuid })
  if (!known && children.length >= MAX_CHILDREN)
    throw new KernelError('RESOURCE_EXHAUSTED', `a supervisor has at most ${MAX_CHILDREN} children`)
}

/** Checks a crew member before its spawn. Errors: INVALID, or CONFLICT if the crew has not requested it, or it exists already. */
export function checkMember(parent: Process | undefined, { member, childId }: Process['spec']): void {
  const crew = parent && isCrew(parent) ? parent : undefined
  if (!crew && !member) return
  if (!crew || member?.crew !== crew.uuid || member.id !== childId) throw new KernelError('INVALID', 'a crew starts its members itself')
  const known = crew.crew?.members.find(({ id }) => id === member.id)
  if (known?.state !== 'starting' || known.uuid !== null)
    throw new KernelError('CONFLICT', `${member.id} was not requested, or already exists`)
}

/** Adds a child to its supervisor. For a known child this resets its restarts. */
export function registerChild(draft: DecisionDraft, { uuid, parentUuid, spec }: Process): void {
  const supervisor = parentUuid === null ? undefined : draft.get(parentUuid)
  if (spec.childId === undefined || !supervisor || !supervisesChildren(supervisor) || !isLiving(supervisor)) return
  const { type = 'transient', onComplete } = spec.restart ?? {}
  draft.emit(supervisor.uuid, {
    type: 'supervisor.added',
    id: spec.childId,
    child: uuid,
    restart: type,
    ...(onComplete === undefined ? {} : { onComplete }),
  })
}

/** Resets the remembered restarts of a child, because the user started it. */
export function resetRestarts(draft: DecisionDraft, process: Process): void {
  if (childSlotOf(draft, process)?.child.restarts) registerChild(draft, process)
}
