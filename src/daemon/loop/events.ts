// Maps facts to the public events of the API. An event has an envelope, its own type, and the public part of the fact's body.
// Owns the event types and the public fields. Test: test/tables/docs/api.test.ts, test/e2e/daemon/events.test.ts.
import { isCrewFact } from '../../kernel/state/fold-crew.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { LiveOutput } from '../../drivers/port.ts'
import type { FactBody, FactType, StoredFact } from '../../kernel/model/facts.ts'
import { isoTime } from './times.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

/** The event types of facts. A fact type that is not listed is also the event type. */
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

/** Returns the event of a fact. It also has the fact's type in `fact`, and the state that the process then had. */
export function eventOf({ uuid, pid, at, cursor, body, moment }: StoredFact): EventView {
  const { type, ...rest } = publicBody(body)
  const taskId = 'task' in body && typeof body.task === 'string' && isCrewFact(body) ? { taskId: body.task } : {}
  return { ...taskId, ...rest, ...moment, version: 1, seq: cursor, uuid, pid, at: isoTime(at), type: eventTypeOf(type), fact: type }
}

/** Returns the event type of a fact type. */
export function eventTypeOf(type: FactType): string {
  return EVENT_NAMES[type] ?? type
}

/**
 * Returns the public part of a body. A spec is shown without its environment and system prompt. An image is shown by its type and size.
 * The field `status` of an event is the status of the process, so a provider's HTTP status is renamed to `httpStatus`.
 */
function publicBody(body: FactBody): { readonly type: FactType } {
  if (body.type === 'tool.finished' && body.images) {
    const event: object = {
      ...body,
      images: body.images.map(({ mediaType, data }) => ({ mediaType, bytes: Buffer.byteLength(data, 'base64') })),
    }
    return event as { readonly type: FactType }
  }
  if ('status' in body) {
    const { status: httpStatus, ...fields } = body
    const event: object = { ...fields, httpStatus }
    return event as { readonly type: FactType }
  }
  if (!('spec' in body) || !body.spec) return body
  const { env: _env, system: _system, crew, compose, ...rest } = body.spec
  const publicCompose = compose ? { compose: { ...compose, nodes: compose.nodes.map(({ template: _, ...node }) => node) } } : {}
  const spec = { ...rest, ...(crew ? { crew: { ...crew, roles: Object.keys(crew.roles) } } : {}), ...publicCompose }
  const event: object = { ...body, spec }
  return event as { readonly type: FactType }
}

/** Returns the event of live output, which is not stored: `seq` is 0. */
export function liveEvent(uuid: Uuid, pid: Pid, at: number, event: LiveOutput): EventView {
  const { type, ...rest } = event
  return { ...rest, version: 1, seq: 0, uuid, pid, at: isoTime(at), type: `live.${type}` }
}
