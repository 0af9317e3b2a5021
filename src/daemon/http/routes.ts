// The API's routes, one row each: what it takes, one operation or read, what it gives. docs/api.md describes them for people,
// openapi.ts for programs; both are held to these rows. Test: test/e2e/api.test.ts, test/e2e/events.test.ts, test/e2e/openapi.test.ts.
import { clientOf, route, type Route, type RoutesParts } from './route.ts'
import { CREW_COMMANDS } from './crew-command-routes.ts'
import { CREW_REPORT } from './crew-report-routes.ts'
import { CREW_UP } from './crew-up-routes.ts'
import { COMPOSE } from './compose-routes.ts'
import { HISTORY } from './history-routes.ts'
import { RESUMES } from './resume-routes.ts'
import { MCP } from './mcp-routes.ts'
import { USAGE } from './usage-routes.ts'
import { goneSignal, stream } from './stream.ts'
import * as schemas from './schemas.ts'
import type { FastifyInstance } from 'fastify'

const READS: readonly Route[] = [
  route({
    id: 'listProcesses', method: 'GET', path: '/v1/processes', summary: 'Lists the living by PID; with `all` the dead before them, the newest last.',
    query: schemas.listQuery, answer: 'processes', errors: [],
    handle: async ({ reads }, { query }) => ({ version: 1, processes: await reads.list({ all: query.all ?? false, limit: query.limit, fields: query.fields }) }),
  }),
  route({
    id: 'getProcess', method: 'GET', path: '/v1/processes/:ref', summary: 'One process, dead or alive.', answer: 'process', errors: [],
    handle: async ({ reads }, { ref }) => ({ version: 1, process: reads.view(await reads.resolve(ref)) }),
  }),
  route({
    id: 'getSignals', method: 'GET', path: '/v1/processes/:ref/signals', summary: 'What becomes of its signals: mask, handlers, what waits, and the last that were sent.', answer: 'signals', errors: [],
    handle: ({ operations }, { ref }) => operations.signals(ref),
  }),
  route({
    id: 'getSteps', method: 'GET', path: '/v1/processes/:ref/steps', summary: 'A page of its steps, oldest first.', query: schemas.stepsQuery, answer: 'steps', errors: [],
    handle: async ({ reads }, { ref, query }) => ({ version: 1, steps: await reads.steps(await reads.resolve(ref), query.after, query.limit) }),
  }),
  route({
    id: 'getLogs', method: 'GET', path: '/v1/processes/:ref/logs', summary: 'The last lines of what it was told, said, called and printed.', query: schemas.logsQuery, answer: 'logs', errors: [],
    handle: async ({ reads }, { ref, query }) => ({ version: 1, ...(await reads.logs(await reads.resolve(ref), query.tail, query.since)) }),
  }),
  route({
    id: 'waitForProcess', method: 'GET', path: '/v1/processes/:ref/wait', summary: 'Answers as soon as the process is as asked, has ended, or the time is over.', query: schemas.waitQuery, answer: 'waited', errors: [],
    handle: async ({ reads, waiter }, { ref, query, reply }) => {
      const { uuid } = await reads.resolve(ref)
      const { process, timedOut } = await waiter.wait(uuid, query.for, query.timeoutMs, goneSignal(reply))
      return { version: 1, process: reads.view(process), timedOut }
    },
  }),
]

const OPERATIONS: readonly Route[] = [
  route({
    id: 'spawnProcess', method: 'POST', path: '/v1/processes', summary: 'Starts a process; answers once that is on disk.', body: schemas.spawnBody, answer: 'spawned', status: 201,
    errors: ['NOT_FOUND', 'CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { intent: 'Find out why the tests fail.', cwd: '/src/app', agent: 'coder', limits: { budgetUsd: 2 } },
    handle: ({ operations }, { body }) => operations.spawn(body),
  }),
  route({
    id: 'signalProcess', method: 'POST', path: '/v1/processes/:ref/signal', summary: 'Sends a signal, by its name or the kernel\'s number.', body: schemas.signalBody, answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'], example: { signal: 'SIGTERM', graceMs: 10_000 },
    handle: ({ operations }, { ref, body, request }) => operations.signal(ref, body, clientOf(request)),
  }),
  route({
    id: 'setSignals', method: 'POST', path: '/v1/processes/:ref/signals', summary: 'Sets its handlers, then changes its mask; what is unblocked is delivered.', body: schemas.signalsBody, answer: 'signals',
    errors: ['DISK_FULL', 'READ_ONLY'], example: { handlers: { SIGTERM: 'message' }, block: ['SIGPAUSE'] },
    handle: ({ operations }, { ref, body }) => operations.setSignals(ref, body),
  }),
  route({
    id: 'pauseProcess', method: 'POST', path: '/v1/processes/:ref/pause', summary: 'Pauses it at its next boundary, or at once.', body: schemas.pauseBody, answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'], example: { subtree: true },
    handle: ({ operations }, { ref, body, request }) => operations.pause(ref, body, clientOf(request)),
  }),
  route({
    id: 'resumeProcess', method: 'POST', path: '/v1/processes/:ref/resume', summary: 'Wakes a suspended process, begins a new incarnation of one that has ended, or forks one.', body: schemas.resumeBody, answer: 'steered',
    errors: ['CONFLICT', 'NOT_RESUMABLE', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'], example: { message: 'Go on with the second half.' },
    handle: ({ operations, removals }, { ref, body }) => removals.alone(ref, (uuid) => operations.resume(uuid, body)),
  }),
  route({
    id: 'sendMessage', method: 'POST', path: '/v1/processes/:ref/send', summary: 'Queues a message, which begins a turn of its own.', body: schemas.sendBody, answer: 'sent',
    errors: ['RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'], example: { text: 'And the documentation?' },
    handle: async ({ operations }, { ref, body }) => ({ version: 1, ...(await operations.send(ref, body.text)) }),
  }),
  route({
    id: 'answerProcess', method: 'POST', path: '/v1/processes/:ref/answer', summary: 'Answers what it asks: with an option, or with a text where there is none.', body: schemas.answerBody, answer: 'steered',
    errors: ['PERMISSION', 'DISK_FULL', 'READ_ONLY'], example: { option: 'allow' },
    handle: ({ operations }, { ref, body }) => operations.answer(ref, body),
  }),
  route({
    id: 'removeChild', method: 'DELETE', path: '/v1/processes/:ref/children', summary: 'A supervisor gives up a child, by its id; the child is stopped.', query: schemas.childQuery, answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    handle: ({ families }, { ref, query }) => families.removeChild(ref, query.id),
  }),
  route({
    id: 'removeProcess', method: 'DELETE', path: '/v1/processes/:ref', summary: 'Removes an ended process for good, with all that it wrote; a pinned one with `force` alone.', query: schemas.removeQuery, answer: 'removed',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ removals }, { ref, query }) => removals.remove(ref, query.force ?? false),
  }),
]

const STREAMS: readonly Route[] = [
  route({
    id: 'followEvents', method: 'GET', path: '/v1/events', summary: 'Events of all processes, as they happen or as they were.', query: schemas.eventsQuery, answer: 'events', errors: [],
    handle: (parts, asked) => stream(parts, asked, null),
  }),
  route({
    id: 'followProcess', method: 'GET', path: '/v1/processes/:ref/events', summary: 'Events of one process; the stream ends with it.', query: schemas.eventsQuery, answer: 'events', errors: [],
    handle: async (parts, asked) => stream(parts, asked, await parts.reads.resolve(asked.ref)),
  }),
]

const DAEMON: readonly Route[] = [
  route({
    id: 'getDaemon', method: 'GET', path: '/v1/daemon', summary: 'The daemon itself, and how many processes it has.', answer: 'daemon', errors: [],
    handle: async ({ daemon }) => daemon(),
  }),
  route({
    id: 'getHeartbeat', method: 'GET', path: '/v1/heartbeat', summary: 'What is seen of each living process: alive, silent, stalled, stopped, or waiting for a person.', answer: 'heartbeat', errors: [],
    handle: async ({ heartbeat }) => heartbeat(),
  }),
  route({
    id: 'examine', method: 'GET', path: '/v1/doctor', summary: 'What works here and what does not; with `verify` also the whole store.', query: schemas.doctorQuery, answer: 'checks', errors: [],
    handle: async ({ doctor }, { query }) => ({ version: 1, checks: [...(await doctor(query.verify ?? false))] }),
  }),
  route({
    id: 'listAgents', method: 'GET', path: '/v1/agents', summary: 'The agents that there are for a directory, whether each could run, and the files that cannot be used.', query: schemas.agentsQuery, answer: 'agents', errors: [],
    handle: ({ agents }, { query }) => agents(query),
  }),
  route({
    id: 'checkModels', method: 'POST', path: '/v1/doctor/models', summary: 'Asks the providers of models, those whose key is there and those without one, for their models.', body: schemas.doctorModelsBody, answer: 'providers',
    errors: ['AGENT_INVALID'], example: { env: { ANTHROPIC_API_KEY: 'sk-…' } },
    handle: async ({ checkModels }, { body }) => ({ version: 1, providers: await checkModels(body.env ?? {}) }),
  }),
  route({
    id: 'stopDaemon', method: 'POST', path: '/v1/daemon/stop', summary: 'Asks the daemon to drain and end; it answers before it does.', body: schemas.stopBody, answer: 'stopping', status: 202, errors: [],
    handle: async ({ stop }, { body, reply }) => {
      reply.raw.once('close', () => stop(body.drainMs))
      return { version: 1, stopping: true }
    },
  }),
  route({
    id: 'getDocument', method: 'GET', path: '/v1/openapi.json', summary: 'This document: OpenAPI 3.1.', answer: 'document', errors: [],
    handle: async () => (await import('./openapi.ts')).documentOf(ROUTES),
  }),
]

export const ROUTES: readonly Route[] = [...READS, ...OPERATIONS, ...HISTORY, ...COMPOSE, ...RESUMES, ...USAGE, ...CREW_UP, ...CREW_REPORT, ...CREW_COMMANDS, ...MCP, ...STREAMS, ...DAEMON]

export function addRoutes(app: FastifyInstance, parts: RoutesParts): void {
  for (const { method, path, query, body, status, handle } of ROUTES) {
    const params = path.includes('/:ref') ? { params: schemas.refParams } : {}
    app.route({
      method, url: path, schema: { ...params, ...(query ? { querystring: query } : {}), ...(body ? { body } : {}) },
      handler: async (request, reply) => {
        const { ref = '' } = request.params as { ref?: string }
        const answer = await handle(parts, { ref, query: request.query as never, body: request.body as never, request, reply })
        if (status) reply.status(status)
        return answer
      },
    })
  }
}
