// The API's routes: each names its schema, calls one operation or read, and gives its view. docs/api.md describes them.
// Test: test/e2e/api.test.ts, test/e2e/events.test.ts.
import { findAgents } from '../../config/agents.ts'
import { KernelError } from '../../kernel/errors.ts'
import { writeEvents } from './sse.ts'
import * as schemas from './schemas.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { DaemonView, EventView, PauseBody, ResumeBody, SignalBody, SpawnBody } from '../../api/views.ts'
import type { Paths } from '../../config/paths.ts'
import type { Process, Uuid } from '../../kernel/types.ts'
import type { Check } from '../doctor.ts'
import type { Feed } from '../feed.ts'
import type { Operations } from '../operations.ts'
import type { Reads } from '../reads.ts'
import type { Waiter } from '../waiter.ts'
import type { Store } from '../../store/store.ts'

export interface RoutesParts {
  readonly operations: Operations
  readonly reads: Reads
  readonly feed: Feed
  readonly store: Store
  readonly waiter: Waiter
  readonly paths: Paths
  readonly cursor: () => number
  readonly daemon: () => DaemonView
  readonly doctor: (verify: boolean) => Promise<readonly Check[]>
  readonly stop: (drainMs: number | undefined) => void
  readonly log: (message: string, error: unknown) => void
}

type Query<T extends z.ZodType> = z.output<T>
interface Ref { ref: string }

const byRef = { params: schemas.refParams }

export function addRoutes(app: FastifyInstance, parts: RoutesParts): void {
  addReads(app, parts)
  addOperations(app, parts)
  addStreams(app, parts)
  addDaemon(app, parts)
}

function addReads(app: FastifyInstance, { reads, waiter }: RoutesParts): void {
  app.get<{ Querystring: Query<typeof schemas.listQuery> }>('/v1/processes', { schema: { querystring: schemas.listQuery } }, async ({ query }) => ({
    version: 1,
    processes: await reads.list({ all: query.all ?? false, limit: query.limit, fields: query.fields }),
  }))
  app.get<{ Params: Ref }>('/v1/processes/:ref', { schema: byRef }, async ({ params }) => ({
    version: 1,
    process: reads.view(await reads.resolve(params.ref)),
  }))
  app.get<{ Params: Ref; Querystring: Query<typeof schemas.stepsQuery> }>('/v1/processes/:ref/steps', { schema: { ...byRef, querystring: schemas.stepsQuery } }, async ({ params, query }) => ({
    version: 1,
    steps: await reads.steps(await reads.resolve(params.ref), query.after, query.limit),
  }))
  app.get<{ Params: Ref; Querystring: Query<typeof schemas.logsQuery> }>('/v1/processes/:ref/logs', { schema: { ...byRef, querystring: schemas.logsQuery } }, async ({ params, query }) => ({
    version: 1,
    ...(await reads.logs(await reads.resolve(params.ref), query.tail, query.since)),
  }))
  app.get<{ Params: Ref; Querystring: Query<typeof schemas.waitQuery> }>('/v1/processes/:ref/wait', { schema: { ...byRef, querystring: schemas.waitQuery } }, async (request, reply) => {
    const { uuid } = await reads.resolve(request.params.ref)
    const { process, timedOut } = await waiter.wait(uuid, request.query.for, request.query.timeoutMs, goneSignal(reply))
    return { version: 1, process: reads.view(process), timedOut }
  })
}

function addOperations(app: FastifyInstance, { operations }: RoutesParts): void {
  app.post<{ Body: SpawnBody }>('/v1/processes', { schema: { body: schemas.spawnBody } }, async ({ body }, reply) => {
    const process = await operations.spawn(body)
    reply.status(201)
    return { version: 1, process }
  })
  app.post<{ Params: Ref; Body: SignalBody }>('/v1/processes/:ref/signal', { schema: { ...byRef, body: schemas.signalBody } }, ({ params, body }) => operations.signal(params.ref, body))
  app.post<{ Params: Ref; Body: PauseBody }>('/v1/processes/:ref/pause', { schema: { ...byRef, body: schemas.pauseBody } }, ({ params, body }) => operations.pause(params.ref, body))
  app.post<{ Params: Ref; Body: ResumeBody }>('/v1/processes/:ref/resume', { schema: { ...byRef, body: schemas.resumeBody } }, ({ params, body }) => operations.resume(params.ref, body))
  app.post<{ Params: Ref; Body: { text: string } }>('/v1/processes/:ref/send', { schema: { ...byRef, body: schemas.sendBody } }, async ({ params, body }) => ({
    version: 1,
    ...(await operations.send(params.ref, body.text)),
  }))
}

type EventsQuery = Query<typeof schemas.eventsQuery>

function addStreams(app: FastifyInstance, parts: RoutesParts): void {
  app.get<{ Querystring: EventsQuery }>('/v1/events', { schema: { querystring: schemas.eventsQuery } }, (request, reply) => stream(parts, request, reply, null))
  app.get<{ Params: Ref; Querystring: EventsQuery }>('/v1/processes/:ref/events', { schema: { ...byRef, querystring: schemas.eventsQuery } }, async (request, reply) => {
    await stream(parts, request, reply, await parts.reads.resolve(request.params.ref))
  })
}

/** Of all processes, or of one. There is nothing to follow of one that has ended. */
async function stream(parts: RoutesParts, request: FastifyRequest<{ Querystring: EventsQuery }>, reply: FastifyReply, process: Process | null): Promise<void> {
  const { query, headers } = request
  const uuid = process?.uuid ?? null
  const after = await startOf(parts, query, headers['last-event-id'], uuid)
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
    const process = await reads.get(uuid)
    if (process.life.state === 'dead' && process.pid === event.pid) return
  }
}

function addDaemon(app: FastifyInstance, { paths, daemon, doctor, stop }: RoutesParts): void {
  app.get('/v1/daemon', async () => daemon())
  app.get<{ Querystring: Query<typeof schemas.doctorQuery> }>('/v1/doctor', { schema: { querystring: schemas.doctorQuery } }, async ({ query }) => ({
    version: 1,
    checks: await doctor(query.verify ?? false),
  }))
  app.get<{ Querystring: Query<typeof schemas.agentsQuery> }>('/v1/agents', { schema: { querystring: schemas.agentsQuery } }, async ({ query }) => {
    const { agents, errors } = await findAgents(query.cwd, paths)
    return { version: 1, agents: agents.map(({ system: _, ...agent }) => agent), errors }
  })
  app.post<{ Body: z.output<typeof schemas.stopBody> }>('/v1/daemon/stop', { schema: { body: schemas.stopBody } }, async ({ body }, reply) => {
    reply.status(202)
    reply.raw.once('close', () => stop(body.drainMs))
    return { version: 1, stopping: true }
  })
}

/** Aborted when the client has gone. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (reply.raw.destroyed) gone.abort()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}
