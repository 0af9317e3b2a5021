// Decides where a stream of events starts and ends, by the parameters `after`, `since`, `tail`, `follow` and `live`. The events are
// selected in event-filter.ts, and written to the client in sse.ts. Test: test/e2e/daemon/events.test.ts.
import type { z } from 'zod'
import { KernelError } from '../../../kernel/model/errors.ts'
import { clientGoneSignal } from '../client.ts'
import { checkTypes, filterEvents } from './event-filter.ts'
import { writeEvents } from './sse.ts'
import type { EventView } from '../../../api/views/daemon.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { RouteCall, RoutesDeps } from '../route.ts'
import type { eventsQuery } from '../schemas.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'

type EventsQuery = z.output<typeof eventsQuery>

/** Streams the events of one process, or of all processes if `process` is null. The stream of a dead process never follows new events. */
export async function streamEvents(
  deps: RoutesDeps,
  { query, request, reply }: RouteCall<EventsQuery, unknown>,
  process: Process | null,
): Promise<void> {
  const uuid = process?.uuid ?? null
  if (query.types) checkTypes(query.types)
  const after = await startCursor(deps, query, request.headers['last-event-id'], uuid)
  if (after > deps.cursor())
    throw new KernelError('INVALID', `there is no cursor ${after} yet; the last is ${deps.cursor()}`, { last: deps.cursor() })
  // Reads once before the response starts: a damaged store is then reported as an error response.
  await deps.store.since({ afterCursor: after, limit: 1 })
  reply.hijack()
  const clientGone = clientGoneSignal(reply)
  const follow = query.follow === true && process?.life.state !== 'dead'
  const events = deps.feed.subscribe({ uuid, after, live: query.live ?? false, follow, signal: clientGone })
  await writeEvents(reply.raw, filterEvents(untilDead(deps, events, uuid), query), clientGone).catch((error: unknown) =>
    deps.log('a stream of events was cut off', error),
  )
}

/** Finds the cursor at which a stream starts: the last one that the client has read, or that of `after`, `tail` or `since`. */
async function startCursor(
  { reads, store, cursor }: RoutesDeps,
  query: EventsQuery,
  lastId: string | string[] | undefined,
  uuid: Uuid | null,
): Promise<number> {
  if (typeof lastId === 'string' && /^\d{1,15}$/.test(lastId)) return Number(lastId)
  if (query.after !== undefined) return query.after
  const since = query.since === undefined ? 0 : await reads.cursorAt(query.since, cursor())
  if (query.tail === undefined) return query.since === undefined && query.follow && uuid === null ? cursor() : since
  if (uuid === null) return Math.max(since, cursor() - query.tail)
  const [first] = await store.tail(uuid, query.tail)
  return Math.max(since, first ? first.cursor - 1 : cursor())
}

/** Yields the events up to the one after which the process `uuid` is dead. If `uuid` is null, yields all events. */
async function* untilDead({ reads }: RoutesDeps, events: AsyncIterable<EventView>, uuid: Uuid | null): AsyncGenerator<EventView> {
  for await (const event of events) {
    yield event
    if (uuid === null || event['fact'] !== 'process.reaped') continue
    const process = await reads.find(uuid)
    if (!process || (process.life.state === 'dead' && process.pid === event.pid)) return
  }
}
