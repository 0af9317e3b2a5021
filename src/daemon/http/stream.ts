// Streams of events: where one begins, and where it ends. What goes over the wire is sse.ts's.
// Owns the meaning of `after`, `since`, `tail`, `follow` and `live`. Test: test/e2e/events.test.ts.
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import { KernelError } from '../../kernel/errors.ts'
import { writeEvents } from './sse.ts'
import type { EventView } from '../../api/views.ts'
import type { Process, Uuid } from '../../kernel/types.ts'
import type { Asked, RoutesParts } from './route.ts'
import type { eventsQuery } from './schemas.ts'

type EventsQuery = z.output<typeof eventsQuery>

/** Of all processes, or of one. There is nothing to follow of one that has ended. */
export async function stream(parts: RoutesParts, { query, request, reply }: Asked<EventsQuery, unknown>, process: Process | null): Promise<void> {
  const uuid = process?.uuid ?? null
  const after = await startOf(parts, query, request.headers['last-event-id'], uuid)
  if (after > parts.cursor()) throw new KernelError('INVALID', `there is no cursor ${after} yet; the last is ${parts.cursor()}`, { last: parts.cursor() })
  await parts.store.since({ afterCursor: after, limit: 1 })
  reply.hijack()
  const gone = goneSignal(reply)
  const follow = query.follow === true && process?.life.state !== 'dead'
  const events = parts.feed.subscribe({ uuid, after, live: query.live ?? false, follow, signal: gone })
  await writeEvents(reply.raw, untilDead(parts, events, uuid), gone).catch((error: unknown) => parts.log('a stream of events broke off', error))
}

/** After which cursor to begin: what the reader had last, what it asks for, the last N or what came since a time, or the present. */
async function startOf({ reads, store, cursor }: RoutesParts, query: EventsQuery, lastId: string | string[] | undefined, uuid: Uuid | null): Promise<number> {
  if (typeof lastId === 'string' && /^\d{1,15}$/.test(lastId)) return Number(lastId)
  if (query.after !== undefined) return query.after
  const since = query.since === undefined ? 0 : await reads.cursorAt(query.since, cursor())
  if (query.tail === undefined) return query.since === undefined && query.follow && uuid === null ? cursor() : since
  if (uuid === null) return Math.max(since, cursor() - query.tail)
  const [first] = await store.tail(uuid, query.tail)
  return Math.max(since, first ? first.cursor - 1 : cursor())
}

/** One process's stream ends with it: there is nothing more to come until somebody resumes it. */
async function* untilDead({ reads }: RoutesParts, events: AsyncIterable<EventView>, uuid: Uuid | null): AsyncGenerator<EventView> {
  for await (const event of events) {
    yield event
    if (uuid === null || event['fact'] !== 'process.reaped') continue
    const process = await reads.find(uuid)
    if (!process || (process.life.state === 'dead' && process.pid === event.pid)) return
  }
}

/** Aborted when the client has gone. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (reply.raw.destroyed) gone.abort()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}
