// Maps facts to the public events of the API. An event has an envelope, its own type, and the public part of the fact's body.
// src/api/events.ts describes the public fields.
// Tests: test/tables/daemon/loop/events.test.ts, test/tables/docs/api.test.ts, test/e2e/daemon/events.test.ts.
import { EVENT_NAMES } from '../../api/events.ts'
import type { FactEvent } from '../../api/events.ts'
import { isCrewFact } from '../../kernel/state/fold-crew.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { LiveOutput } from '../../drivers/port.ts'
import type { FactBody, FactType, StoredFact } from '../../kernel/model/facts.ts'
import { isoTime } from '../views/format-times.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

/** Returns the event of a fact. It also has the fact's type in `fact`, and the state that the process then had. */
export function eventOf({ uuid, pid, at, cursor, body, moment }: StoredFact): FactEvent {
  const { type, ...rest } = publicBody(body)
  const taskId = 'task' in body && typeof body.task === 'string' && isCrewFact(body) ? { taskId: body.task } : {}
  const event: EventView = {
    ...taskId,
    ...rest,
    ...moment,
    version: 1,
    seq: cursor,
    uuid,
    pid,
    at: isoTime(at),
    type: eventTypeOf(type),
    fact: type,
  }
  // The compiler cannot follow a body through `publicBody`: the test of events compares both.
  return event as FactEvent
}

/** Returns the event type of a fact type. */
export function eventTypeOf(type: FactType): string {
  const names: Readonly<Partial<Record<FactType, string>>> = EVENT_NAMES
  return names[type] ?? type
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

/** Returns the event of live output, which is not stored: `seq` is 0. `at`: wall ms. */
export function liveEvent(uuid: Uuid, pid: Pid, at: number, event: LiveOutput): EventView {
  const { type, ...rest } = event
  return { ...rest, version: 1, seq: 0, uuid, pid, at: isoTime(at), type: `live.${type}` }
}
