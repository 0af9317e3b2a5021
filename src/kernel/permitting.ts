// Permits at work: what the kernel looks at before it spawns, resumes, forks or signals for somebody.
// Owns who may reach whom, and that each refusal of an agent's wish stands in its journal. Rules are in permits.ts.
// Test: test/tables/permitting.test.ts.
import { KernelError } from './errors.ts'
import { beyond, fitted } from './permits.ts'
import { isLiving } from './status.ts'
import { livingAncestors } from './tree.ts'
import type { CapabilityName } from './facts.ts'
import type { Input } from './inputs.ts'
import type { Process, ProcessSpec, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

export interface Birth {
  readonly by: Sender
  readonly spec: ProcessSpec
  /** of a resume or a fork: what it had; only a person may give it more */
  readonly before: ProcessSpec | null
  /** by the spawn lineage; it counts while it lives */
  readonly parent: Uuid | null
}

export interface Permitted {
  readonly spec: ProcessSpec
  /** what was asked for and is not given, in words; null: nothing */
  readonly note: string | null
}

/** The one funnel of specs: nobody has more than its parent. Errors: PERMISSION where its driver could not be held to that. */
export function permitted(work: Work, { by, spec, before, parent: uuid }: Birth): Permitted {
  const parent = uuid === null ? undefined : work.get(uuid)
  const above = parent && isLiving(parent) ? parent : null
  const asked = before === null || before === spec || by === 'user' ? { spec, cut: [] } : fitted(spec, before)
  const given = fitted(asked.spec, above?.spec ?? null)
  const why = above && beyond(given.spec, above.spec)
  if (why !== null) throw refusal('spawns', why)
  const cut = [...new Set([...asked.cut, ...given.cut])]
  return { spec: given.spec, note: cut.length === 0 ? null : `${cut.join(', ')}: not within what ${above ? 'its parent' : 'it'} may` }
}

/** Of one that comes back without anybody's word: what it had, and its parent has now. Nothing where that is the same. */
export function stillPermitted(work: Work, { spec: had, parentUuid }: Process): { readonly spec?: ProcessSpec } {
  const parent = parentUuid === null ? undefined : work.get(parentUuid)
  const { spec } = fitted(had, parent && isLiving(parent) ? parent.spec : null)
  return spec === had ? {} : { spec }
}

/** An agent starts its own children, or those of what stands below it. Errors: PERMISSION. */
export function checkSpawner(work: Work, by: Sender, { agent }: ProcessSpec, parent: Uuid | null): void {
  const sender = senderOf(by)
  if (sender === null) return
  const target = parent === null ? undefined : work.get(parent)
  if (!target || !isAtOrBelow(work, sender, target)) throw refusal('spawns', `${by} may start its own children only`)
  const { spawns } = work.get(sender)?.spec.capabilities ?? {}
  if (spawns && !spawns.includes(agent)) throw refusal('spawns', `${by} may not start ${agent === 'command' ? 'a command' : `the agent ${agent}`}${spawns.length > 0 ? `, only ${spawns.join(', ')}` : ''}`)
}

/** An agent may signal itself, and what stands below it as far as it may. Errors: PERMISSION. */
export function checkSignaller(work: Work, by: Sender, target: Process, subtree: boolean): void {
  const sender = senderOf(by)
  if (sender === null || (target.uuid === sender && !subtree)) return
  const { signals } = work.get(sender)?.spec.capabilities ?? {}
  if (!isAtOrBelow(work, sender, target)) throw refusal('signals', `${by} may signal itself and its descendants only`)
  if (signals === 'none') throw refusal('signals', `${by} may signal nobody but itself`)
  if (signals === 'children' && (subtree || target.parent !== sender)) throw refusal('signals', `${by} may signal itself and its children only, one by one`)
}

/** The same for one that has ended: its spawn lineage counts. Errors: PERMISSION. */
export function checkReviver(work: Work, by: Sender, target: Process, subtree: boolean): void {
  const sender = senderOf(by)
  if (sender === null) return
  if (isLiving(target)) return checkSignaller(work, by, target, subtree)
  if (target.uuid === sender) return
  for (let uuid = target.parentUuid; uuid !== null; uuid = work.get(uuid)?.parentUuid ?? null) if (uuid === sender) return
  throw refusal('signals', `${by} may resume its descendants only`)
}

/** An agent writes to itself, to what stands below it and to who stands right above it. Errors: PERMISSION. */
export function checkWriter(work: Work, by: Sender, target: Process): void {
  const sender = senderOf(by)
  if (sender === null || target.uuid === work.get(sender)?.parent) return
  if (!isAtOrBelow(work, sender, target)) throw refusal('signals', `${by} may write to its parent and its descendants only`)
}

/** What an agent does about itself alone: its mask, its handlers, its messages. Errors: PERMISSION. */
export function checkOwn(by: Sender, { uuid, pid }: Pick<Process, 'uuid' | 'pid'>, what: string): void {
  const sender = senderOf(by)
  if (sender !== null && sender !== uuid) throw refusal('signals', `${by} may change ${what} of itself only, not of process ${pid}`)
}

/** What an agent was refused stands in its journal, if it lives. The decision that was refused is dropped with all that it had. */
export function recordRefusal(work: Work, input: Input, { code, message, details }: KernelError): void {
  const sender = 'by' in input ? senderOf(input.by) : null
  const process = sender === null ? undefined : work.get(sender)
  const what = details?.['capability'] as CapabilityName | undefined
  if (code === 'PERMISSION' && what && process && isLiving(process)) work.emit(process.uuid, { type: 'capability.refused', what, detail: message })
}

function refusal(capability: CapabilityName, message: string): KernelError {
  return new KernelError('PERMISSION', message, { capability })
}

function senderOf(by: Sender): Uuid | null {
  return by.startsWith('agent:') ? by.slice('agent:'.length) : null
}

function isAtOrBelow(work: Work, sender: Uuid, target: Process): boolean {
  return target.uuid === sender || livingAncestors(work, target).some(({ uuid }) => uuid === sender)
}
