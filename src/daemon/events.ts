// Facts as the outside sees them: one envelope, and for each fact type the event type and what of the body is shown.
// Owns that mapping; exhaustive by type. Test: test/tables/api-docs.test.ts, test/e2e/events.test.ts.
import { isCrewFact } from '../kernel/fold-crew.ts'
import type { EventView } from '../api/views.ts'
import type { Live } from '../drivers/port.ts'
import type { FactBody, FactType, StoredFact } from '../kernel/facts.ts'
import type { Pid, Uuid } from '../kernel/types.ts'
import type { View } from '../kernel/view.ts'
import { iso } from './times.ts'

/** Fact types whose event has another name; all others keep theirs. */
const EVENT_NAMES: Readonly<Partial<Record<FactType, string>>> = {
  'process.started': 'process.status',
  'process.attached': 'process.status',
  'process.handle': 'process.status',
  'process.waiting': 'process.status',
  'process.answered': 'process.status',
  'process.unasked': 'process.status',
  'usage.reported': 'process.usage',
  'usage.measured': 'process.usage',
  'process.stopping': 'process.status',
  'process.reparented': 'process.status',
  'process.retired': 'process.status',
  'process.limited': 'process.status',
  'message.sent': 'process.status',
  'message.taken': 'process.queue',
  'call.started': 'process.status',
  'call.finished': 'process.usage',
  'process.resumed': 'process.status',
  'process.rehydrated': 'process.status',
  'restart.due': 'process.status',
  'process.held': 'process.status',
  'process.released': 'process.status',
  'process.frozen': 'process.drained',
  'process.note': 'process.status',
  'signal.pended': 'process.status',
  'signal.unpended': 'process.status',
  'signal.masked': 'process.status',
  'signal.handled': 'process.status',
  'model.started': 'step.started',
  'model.finished': 'step.finished',
  'model.failed': 'process.error',
}

/** Of a member of a crew: what it is there and does for it, as its crew has it now. Of one that has ended nothing is said. */
export function memberWords(table: Pick<View, 'get'>, uuid: Uuid): Pick<EventView, 'role' | 'phase' | 'taskId' | 'queueCount'> {
  const process = table.get(uuid)
  const { member } = process?.spec ?? {}
  if (!process || !member) return {}
  const row = table.get(member.crew)?.crew?.members.find(({ id }) => id === member.id)
  return { role: member.role, phase: row?.phase ?? 'idle', ...(row?.task ? { taskId: row.task } : {}), queueCount: process.queue.length }
}

/** The event of a fact: its body under the envelope, with the fact's own type as `fact`. */
export function eventOf({ uuid, pid, at, cursor, body }: StoredFact): EventView {
  const { type, ...rest } = shown(body)
  const about = 'task' in body && typeof body.task === 'string' && isCrewFact(body) ? { taskId: body.task } : {}
  return { ...about, ...rest, version: 1, seq: cursor, uuid, pid, at: iso(at), type: eventTypeOf(type), fact: type }
}

/** What the events of a fact are called. */
export function eventTypeOf(type: FactType): string {
  return EVENT_NAMES[type] ?? type
}

/** A spec is shown without its environment and role prompt: `inspect` has what matters of them. A picture is told of alone. */
function shown(body: FactBody): { readonly type: FactType } {
  if (body.type === 'tool.finished' && body.images) {
    const told: object = { ...body, images: body.images.map(({ mediaType, data }) => ({ mediaType, bytes: Buffer.byteLength(data, 'base64') })) }
    return told as { readonly type: FactType }
  }
  if (!('spec' in body) || !body.spec) return body
  const { env: _env, system: _system, crew, compose, ...rest } = body.spec
  const nodes = compose ? { compose: { ...compose, nodes: compose.nodes.map(({ template: _, ...node }) => node) } } : {}
  const spec = { ...rest, ...(crew ? { crew: { ...crew, roles: Object.keys(crew.roles) } } : {}), ...nodes }
  const brief: object = { ...body, spec }
  return brief as { readonly type: FactType }
}

export function liveEvent(uuid: Uuid, pid: Pid, at: number, event: Live): EventView {
  const { type, ...rest } = event
  return { ...rest, version: 1, seq: 0, uuid, pid, at: iso(at), type: `live.${type}` }
}
