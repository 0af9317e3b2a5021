// Authorization: the checks before the kernel spawns, resumes, forks or signals a process for a sender. Decides which processes a sender
// may act on. Records each refused request of an agent in the agent's journal. The rules are in permissions.ts.
// Test: test/tables/kernel/decide/authorize.test.ts.
import { agentUuidIn } from '../model/ids.ts'
import { KernelError } from '../model/errors.ts'
import { confinementObstacle, fitToParent } from '../state/permissions.ts'
import { isLiving } from '../model/status.ts'
import { livingAncestors } from '../state/tree.ts'
import type { CapabilityName } from '../model/facts.ts'
import type { Input } from '../model/inputs.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'
import type { ProcessSpec } from '../model/process-spec.ts'

export interface SpecRequest {
  readonly by: Sender
  readonly spec: ProcessSpec
  /** of a resume or a fork: the previous specification, which only the user may extend; null: a spawn */
  readonly before: ProcessSpec | null
  /** the spawner; its permissions apply while it lives */
  readonly parent: Uuid | null
}

export interface AuthorizedSpec {
  readonly spec: ProcessSpec
  /** names the requested permissions that were not granted; null: all were granted */
  readonly note: string | null
}

/**
 * Restricts the specification of a spawn, resume or fork to what its sender may grant and its parent may do. Errors: PERMISSION if the
 * driver cannot enforce the restriction.
 */
export function authorizeSpec(draft: DecisionDraft, { by, spec, before, parent: uuid }: SpecRequest): AuthorizedSpec {
  const parent = uuid === null ? undefined : draft.get(uuid)
  const livingParent = parent && isLiving(parent) ? parent : null
  const requested = before === null || before === spec || by === 'user' ? { spec, removed: [] } : fitToParent(spec, before)
  const granted = fitToParent(requested.spec, livingParent?.spec ?? null)
  const obstacle = livingParent && confinementObstacle(granted.spec, livingParent.spec)
  if (obstacle !== null) throw refusal('spawns', obstacle)
  const removed = [...new Set([...requested.removed, ...granted.removed])]
  return {
    spec: granted.spec,
    note: removed.length === 0 ? null : `${removed.join(', ')}: not permitted to ${livingParent ? 'its parent' : 'it'}`,
  }
}

/**
 * The specification for an automatic restart: the old permissions, within the parent's current permissions. An empty object if nothing
 * changes.
 */
export function narrowToParent(draft: DecisionDraft, { spec: oldSpec, parentUuid }: Process): { readonly spec?: ProcessSpec } {
  const parent = parentUuid === null ? undefined : draft.get(parentUuid)
  const { spec } = fitToParent(oldSpec, parent && isLiving(parent) ? parent.spec : null)
  return spec === oldSpec ? {} : { spec }
}

/** Checks that an agent starts only agents that it may start, as children of itself or of its descendants. Errors: PERMISSION. */
export function checkSpawner(draft: DecisionDraft, by: Sender, { agent }: ProcessSpec, parent: Uuid | null): void {
  const sender = agentUuidIn(by)
  if (sender === null) return
  const target = parent === null ? undefined : draft.get(parent)
  if (!target || !isAtOrBelow(draft, sender, target))
    throw refusal('spawns', `${by} may start children only of itself and of its descendants`)
  const { spawns } = draft.get(sender)?.spec.capabilities ?? {}
  if (spawns && !spawns.includes(agent))
    throw refusal(
      'spawns',
      `${by} may not start ${agent === 'command' ? 'a command' : `the agent ${agent}`}${spawns.length > 0 ? `, only ${spawns.join(', ')}` : ''}`,
    )
}

/** Checks that an agent signals only itself and, within its capability, its descendants. Errors: PERMISSION. */
export function checkSignaller(draft: DecisionDraft, by: Sender, target: Process, subtree: boolean): void {
  const sender = agentUuidIn(by)
  if (sender === null || (target.uuid === sender && !subtree)) return
  const { signals } = draft.get(sender)?.spec.capabilities ?? {}
  if (!isAtOrBelow(draft, sender, target)) throw refusal('signals', `${by} may signal itself and its descendants only`)
  if (signals === 'none') throw refusal('signals', `${by} may signal only itself`)
  if (signals === 'children' && (subtree || target.parent !== sender))
    throw refusal('signals', `${by} may signal itself and its children only, one by one`)
}

/** Checks that an agent resumes only itself and its descendants, including ended ones. Errors: PERMISSION. */
export function checkResumer(draft: DecisionDraft, by: Sender, target: Process, subtree: boolean): void {
  const sender = agentUuidIn(by)
  if (sender === null) return
  if (isLiving(target)) return checkSignaller(draft, by, target, subtree)
  if (target.uuid === sender) return
  for (let uuid = target.parentUuid; uuid !== null; uuid = draft.get(uuid)?.parentUuid ?? null) if (uuid === sender) return
  throw refusal('signals', `${by} may resume its descendants only`)
}

/** Checks that an agent writes only to itself, its descendants and its parent. Errors: PERMISSION. */
export function checkMessageSender(draft: DecisionDraft, by: Sender, target: Process): void {
  const sender = agentUuidIn(by)
  if (sender === null || target.uuid === draft.get(sender)?.parent) return
  if (!isAtOrBelow(draft, sender, target)) throw refusal('signals', `${by} may write only to its parent, itself and its descendants`)
}

/** Checks that an agent changes only itself. `what`: what it would change, such as `mask`. Errors: PERMISSION. */
export function checkActsOnSelf(by: Sender, { uuid, pid }: Pick<Process, 'uuid' | 'pid'>, what: string): void {
  const sender = agentUuidIn(by)
  if (sender !== null && sender !== uuid)
    throw refusal('signals', `${by} may change only its own ${what}, not the ${what} of process ${pid}`)
}

/** Records a refused request in the journal of the agent that made it, if that agent lives. */
export function recordRefusal(draft: DecisionDraft, input: Input, { code, message, details }: KernelError): void {
  const sender = 'by' in input ? agentUuidIn(input.by) : null
  const process = sender === null ? undefined : draft.get(sender)
  const what = details?.['capability'] as CapabilityName | undefined
  if (code === 'PERMISSION' && what && process && isLiving(process))
    draft.emit(process.uuid, { type: 'capability.refused', what, detail: message })
}

function refusal(capability: CapabilityName, message: string): KernelError {
  return new KernelError('PERMISSION', message, { capability })
}

function isAtOrBelow(draft: DecisionDraft, sender: Uuid, target: Process): boolean {
  return target.uuid === sender || livingAncestors(draft, target).some(({ uuid }) => uuid === sender)
}
