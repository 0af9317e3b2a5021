// The table of all routes of the API, and the routes without a file for their subject. A route validates its input by schemas and calls one
// operation or query. docs/reference/api.md describes the routes for users, openapi.ts for programs. Tests compare both with this table.
// Test: test/e2e/daemon/api.test.ts, test/e2e/daemon/events.test.ts, test/e2e/daemon/openapi.test.ts.
import { spansView } from '../views/spans.ts'
import { checkModels, listProviderModels } from '../views/models-check.ts'
import { CURRENT_PID_HEADER } from '../../api/client/current-pid-header.ts'
import { callerOf, restrictToCaller } from './caller.ts'
import { restrictToSession } from '../web/restrict.ts'
import { passOf } from '../web/pass.ts'
import { clientGoneSignal, clientNameOf } from './client.ts'
import { defineRoute, type ApiRoute, type RoutesDeps } from './route.ts'
import { CREW_COMMAND_ROUTES } from './crew/command-route.ts'
import { CREW_DIFF_ROUTES } from './crew/diff-route.ts'
import { CREW_REPORT_ROUTES } from './crew/report-route.ts'
import { CREW_ROUTES } from './crew/routes.ts'
import { BATCH_ROUTES } from './batch-route.ts'
import { COMPOSE_ROUTES } from './compose/routes.ts'
import { ANNOTATION_ROUTES } from './annotation-routes.ts'
import { ARCHIVE_ROUTES } from './archive-routes.ts'
import { LINEAGE_ROUTES } from './lineage-routes.ts'
import { MCP_ROUTES } from './mcp-route.ts'
import { ROWS_ROUTES } from './rows-route.ts'
import { NEEDS_ROUTES } from './needs-routes.ts'
import { SEARCH_ROUTES } from './search-route.ts'
import { STEP_ROUTES } from './step-routes.ts'
import { USAGE_ROUTES } from './usage-routes.ts'
import { WEB_ROUTES } from './web-routes.ts'
import { WORKTREE_ROUTES } from './worktree-routes.ts'
import { hasLongList, jsonInSlices } from './sliced-json.ts'
import { streamEvents } from './events/event-stream.ts'
import * as schemas from './schemas.ts'
import { logPositionText } from './schemas.ts'
import type { FastifyInstance } from 'fastify'

const QUERY_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'listProcesses',
    method: 'GET',
    path: '/v1/processes',
    right: 'read',
    within: true,
    summary: 'Lists the living processes by PID; with `all` also the dead ones before them, the newest last.',
    query: schemas.listQuery,
    answer: 'processes',
    errors: [],
    handle: async ({ reads }, { query }) => ({
      version: 1,
      processes: await reads.list({ all: query.all ?? false, limit: query.limit, fields: query.fields }),
    }),
  }),
  defineRoute({
    id: 'getProcess',
    method: 'GET',
    path: '/v1/processes/:ref',
    right: 'read',
    within: true,
    summary: 'Returns a process, dead or alive; with `changes` also the changes in its worktree.',
    query: schemas.processQuery,
    answer: 'process',
    errors: [],
    handle: async ({ reads, merges }, { ref, query }) => {
      const process = await reads.resolve(ref)
      const view = reads.view(process)
      return {
        version: 1,
        process:
          query.changes && view.worktree
            ? { ...view, worktree: { ...view.worktree, changes: await merges.findUnsavedChanges(process) } }
            : view,
      }
    },
  }),
  defineRoute({
    id: 'getStakes',
    method: 'GET',
    path: '/v1/processes/:ref/stakes',
    right: 'read',
    summary: 'Returns what an action on a process would cost: what is lost, what is kept, and what happens to others. Changes nothing.',
    query: schemas.stakesQuery,
    answer: 'stakes',
    errors: [],
    handle: ({ stakes }, { ref, query }) => stakes(ref, query),
  }),
  defineRoute({
    id: 'getSignals',
    method: 'GET',
    path: '/v1/processes/:ref/signals',
    right: 'read',
    within: true,
    summary: 'Returns the signal mask and handlers of a process, its pending signals, and the last signals sent to it.',
    answer: 'signals',
    errors: [],
    handle: ({ operations }, { ref }) => operations.signals(ref),
  }),
  defineRoute({
    id: 'getLogs',
    method: 'GET',
    path: '/v1/processes/:ref/logs',
    right: 'read',
    within: true,
    summary: 'Returns the last log lines of a process, or of a tree: messages, texts, tool calls and output.',
    query: schemas.logsQuery,
    answer: 'logs',
    errors: [],
    handle: async ({ reads, cursor }, { ref, query: { tail, since, before, match, ignoreCase, subtree } }) => {
      const process = await reads.resolve(ref)
      // Facts that follow during the read are left to the events after `newest`.
      const newest = cursor()
      const page = await reads.logs(
        process,
        {
          tail,
          since,
          before: before ?? (subtree ? { cursor: newest + 1, lines: 0 } : undefined),
          match: match === undefined ? undefined : { text: match, ignoreCase },
        },
        subtree,
      )
      return {
        version: 1,
        lines: page.lines,
        cursor: subtree ? newest : page.cursor,
        before: page.before && logPositionText(page.before),
      }
    },
  }),
  defineRoute({
    id: 'getContext',
    method: 'GET',
    path: '/v1/processes/:ref/context',
    right: 'read',
    within: true,
    summary: 'Returns what the model of a process sees now, by message, and what a compaction would keep.',
    query: schemas.contextQuery,
    answer: 'context',
    errors: [],
    handle: async ({ reads, store, slices }, { ref, query }) =>
      (await import('../views/context-view.ts')).contextView({ store, slices }, await reads.resolve(ref), query.text),
  }),
  defineRoute({
    id: 'getSpans',
    method: 'GET',
    path: '/v1/processes/:ref/spans',
    right: 'read',
    within: true,
    summary: 'Returns when a process, or each process of its tree, had which status.',
    query: schemas.spansQuery,
    answer: 'spans',
    errors: [],
    handle: async ({ reads, store, slices }, { ref, query }) => spansView({ reads, store, slices }, await reads.resolve(ref), query),
  }),
  defineRoute({
    id: 'waitForProcess',
    method: 'GET',
    path: '/v1/processes/:ref/wait',
    right: 'read',
    within: true,
    summary: 'Answers when the process meets the condition, when it has ended, or when the time is over.',
    query: schemas.waitQuery,
    answer: 'waited',
    errors: [],
    handle: async ({ reads, waiter }, { ref, query, reply }) => {
      const { uuid } = await reads.resolve(ref)
      const { process, timedOut } = await waiter.wait(uuid, query.for, query.timeoutMs, clientGoneSignal(reply))
      return { version: 1, process: reads.view(process), timedOut }
    },
  }),
]

const OPERATION_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'spawnProcess',
    method: 'POST',
    path: '/v1/processes',
    right: 'start',
    summary: 'Starts a process; answers when the start has been written to disk.',
    body: schemas.spawnBody,
    answer: 'spawned',
    status: 201,
    errors: ['NOT_FOUND', 'CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { intent: 'Find out why the tests fail.', cwd: '/src/app', agent: 'coder', limits: { budgetUsd: 2 } },
    handle: ({ operations }, { body }) => operations.spawn(body),
  }),
  defineRoute({
    id: 'signalProcess',
    method: 'POST',
    path: '/v1/processes/:ref/signal',
    right: 'steer',
    summary: 'Sends a signal to a process. The signal is given by its name or number.',
    body: schemas.signalBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { signal: 'SIGTERM', graceMs: 10_000 },
    handle: ({ operations }, { ref, body, request }) => operations.signal(ref, body, clientNameOf(request)),
  }),
  defineRoute({
    id: 'setSignals',
    method: 'POST',
    path: '/v1/processes/:ref/signals',
    right: 'steer',
    summary: 'Sets the signal handlers of a process, then changes its mask; unblocked signals are delivered.',
    body: schemas.signalsBody,
    answer: 'signals',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { handlers: { SIGTERM: 'message' }, block: ['SIGPAUSE'] },
    handle: ({ operations }, { ref, body }) => operations.setSignals(ref, body),
  }),
  defineRoute({
    id: 'pauseProcess',
    method: 'POST',
    path: '/v1/processes/:ref/pause',
    right: 'steer',
    summary: 'Pauses a process at its next boundary, or at once.',
    body: schemas.pauseBody,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    example: { subtree: true },
    handle: ({ operations }, { ref, body, request }) => operations.pause(ref, body, clientNameOf(request)),
  }),
  defineRoute({
    id: 'resumeProcess',
    method: 'POST',
    path: '/v1/processes/:ref/resume',
    right: 'steer',
    summary: 'Continues a suspended process, starts a new incarnation of an ended one, or forks a process.',
    body: schemas.resumeBody,
    answer: 'steered',
    errors: ['CONFLICT', 'NOT_RESUMABLE', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'],
    example: { message: 'Go on with the second half.' },
    handle: ({ operations, removals }, { ref, body }) => removals.runExclusively(ref, (uuid) => operations.resume(uuid, body)),
  }),
  defineRoute({
    id: 'sendMessage',
    method: 'POST',
    path: '/v1/processes/:ref/send',
    right: 'steer',
    summary: 'Queues a message, which begins a turn of its own; with `now` a native agent reads it before its next model call.',
    body: schemas.sendBody,
    answer: 'sent',
    errors: ['RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'],
    example: { text: 'And the documentation?' },
    handle: async ({ operations }, { ref, body }) => ({ version: 1, ...(await operations.send(ref, body)) }),
  }),
  defineRoute({
    id: 'answerProcess',
    method: 'POST',
    path: '/v1/processes/:ref/answer',
    right: 'answer',
    summary: 'Answers a question of a process with an option, or with a text if there are no options.',
    body: schemas.answerBody,
    answer: 'steered',
    errors: ['PERMISSION', 'CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    example: { option: 'allow' },
    handle: ({ operations }, { ref, body }) => operations.answer(ref, body),
  }),
  defineRoute({
    id: 'withdrawAnswer',
    method: 'DELETE',
    path: '/v1/processes/:ref/answer/:id',
    right: 'answer',
    summary: 'Takes back the answer to a question before the agent gets it; the question is open again.',
    params: schemas.askParams,
    answer: 'steered',
    errors: ['PERMISSION', 'CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ operations }, { ref, id }) => operations.withdrawAnswer(ref, id),
  }),
  defineRoute({
    id: 'removeChild',
    method: 'DELETE',
    path: '/v1/processes/:ref/children',
    right: 'steer',
    summary: 'Removes the child with this id from a supervisor, and stops it.',
    query: schemas.childQuery,
    answer: 'steered',
    errors: ['DISK_FULL', 'READ_ONLY'],
    handle: ({ supervisors, via }, { ref, query }) => supervisors.removeChild(ref, query.id, via),
  }),
  defineRoute({
    id: 'removeProcess',
    method: 'DELETE',
    path: '/v1/processes/:ref',
    right: 'all',
    summary: 'Removes an ended process for good, with its history; a pinned one only with `force`.',
    query: schemas.removeQuery,
    answer: 'removed',
    errors: ['CONFLICT', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ removals, via }, { ref, query }) =>
      removals.remove(ref, { force: query.force ?? false, unchanged: query.unchanged ?? false, via }),
  }),
]

const COLLECTION_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'previewCollection',
    method: 'GET',
    path: '/v1/gc',
    right: 'read',
    summary: 'Shows what a collection would remove now.',
    answer: 'collected',
    errors: ['AGENT_INVALID'],
    handle: ({ collector }) => collector.preview(),
  }),
  defineRoute({
    id: 'collect',
    method: 'POST',
    path: '/v1/gc',
    right: 'all',
    summary: 'Collects ended processes now; answers when their removal is complete.',
    answer: 'collected',
    errors: ['AGENT_INVALID', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ collector }) => collector.run(),
  }),
]

const STREAM_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'followEvents',
    method: 'GET',
    path: '/v1/events',
    right: 'read',
    summary: 'Streams the events of all processes, recorded or new.',
    query: schemas.eventsQuery,
    answer: 'events',
    errors: [],
    handle: (deps, call) => streamEvents(deps, call, null),
  }),
  defineRoute({
    id: 'followProcess',
    method: 'GET',
    path: '/v1/processes/:ref/events',
    right: 'read',
    within: true,
    summary: 'Streams the events of one process; the stream ends with the process.',
    query: schemas.eventsQuery,
    answer: 'events',
    errors: [],
    handle: async (deps, call) => streamEvents(deps, call, await deps.reads.resolve(call.ref)),
  }),
]

const DAEMON_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'listPlaces',
    method: 'GET',
    path: '/v1/places',
    right: 'read',
    summary: 'Lists the directories in which processes were started, the most recently used one first.',
    answer: 'places',
    errors: [],
    handle: ({ places }) => places(),
  }),
  defineRoute({
    id: 'getDaemon',
    method: 'GET',
    path: '/v1/daemon',
    right: 'read',
    summary: "Describes the daemon: its processes, and the machine's load, memory and disk.",
    query: schemas.daemonQuery,
    answer: 'daemon',
    errors: [],
    handle: ({ daemon }, { query: { figures } }) => daemon(figures),
  }),
  defineRoute({
    id: 'getHeartbeat',
    method: 'GET',
    path: '/v1/heartbeat',
    right: 'read',
    summary: 'Returns the liveness of each living process: alive, silent, stalled, stopped, or waiting for the user.',
    answer: 'heartbeat',
    errors: [],
    handle: ({ heartbeat }) => heartbeat(),
  }),
  defineRoute({
    id: 'examine',
    method: 'GET',
    path: '/v1/doctor',
    right: 'read',
    summary: 'Checks the installation; with `verify` also the whole store.',
    query: schemas.doctorQuery,
    answer: 'checks',
    errors: [],
    handle: async ({ doctor }, { query }) => ({ version: 1, checks: [...(await doctor(query.verify ?? false))] }),
  }),
  defineRoute({
    id: 'listAgents',
    method: 'GET',
    path: '/v1/agents',
    right: 'start',
    summary: 'Lists the agents available in a directory, whether each can run, and the invalid files.',
    query: schemas.agentsQuery,
    answer: 'agents',
    errors: [],
    handle: ({ agents }, { query }) => agents(query),
  }),
  defineRoute({
    id: 'listModels',
    method: 'POST',
    path: '/v1/models',
    right: 'start',
    summary: 'Requests the models of each provider whose key is known or that needs none, with their prices.',
    body: schemas.modelsBody,
    answer: 'models',
    errors: ['AGENT_INVALID'],
    handle: async ({ providers }, { body }) => ({ version: 1, providers: await listProviderModels(body, providers) }),
  }),
  defineRoute({
    id: 'checkModels',
    method: 'POST',
    path: '/v1/doctor/models',
    right: 'start',
    summary: 'Requests the list of models from each provider whose key is known or that needs none.',
    body: schemas.doctorModelsBody,
    answer: 'providers',
    errors: ['AGENT_INVALID'],
    example: { env: { ANTHROPIC_API_KEY: 'sk-…' } },
    handle: async ({ providers }, { body }) => ({ version: 1, providers: await checkModels(body.env ?? {}, providers) }),
  }),
  defineRoute({
    id: 'stopDaemon',
    method: 'POST',
    path: '/v1/daemon/stop',
    right: 'all',
    closed: 'stop',
    summary: 'Requests that the daemon drains and stops; answers before the daemon stops.',
    body: schemas.stopBody,
    answer: 'stopping',
    status: 202,
    errors: [],
    handle: async ({ stop }, { body, reply }) => {
      reply.raw.once('close', () => stop(body.drainMs, body.restart ?? false))
      return { version: 1, stopping: true }
    },
  }),
  defineRoute({
    id: 'getDocument',
    method: 'GET',
    path: '/v1/openapi.json',
    right: 'read',
    summary: 'Returns this document: OpenAPI 3.1.',
    answer: 'document',
    errors: [],
    handle: async () => (await import('./openapi.ts')).openApiDocumentOf(ROUTES),
  }),
]

export const ROUTES: readonly ApiRoute[] = [
  ...QUERY_ROUTES,
  ...STEP_ROUTES,
  ...WORKTREE_ROUTES,
  ...OPERATION_ROUTES,
  ...BATCH_ROUTES,
  ...ANNOTATION_ROUTES,
  ...COLLECTION_ROUTES,
  ...ARCHIVE_ROUTES,
  ...COMPOSE_ROUTES,
  ...LINEAGE_ROUTES,
  ...USAGE_ROUTES,
  ...SEARCH_ROUTES,
  ...NEEDS_ROUTES,
  ...CREW_ROUTES,
  ...CREW_REPORT_ROUTES,
  ...CREW_DIFF_ROUTES,
  ...CREW_COMMAND_ROUTES,
  ...MCP_ROUTES,
  ...WEB_ROUTES,
  ...STREAM_ROUTES,
  ...ROWS_ROUTES,
  ...DAEMON_ROUTES,
]

/**
 * Registers all routes. A request of a process's program is restricted to what that process may do (caller.ts). A request of the page is
 * restricted to what its session may do (web/restrict.ts).
 */
export function addRoutes(app: FastifyInstance, deps: RoutesDeps): void {
  for (const { id, method, path, query, body, params: pathParams, status, handle } of ROUTES) {
    const refValues = { params: pathParams ?? schemas.refParams }
    const params = path.includes('/:ref') ? refValues : path.includes('/:id') ? { params: schemas.idParams } : {}
    app.route({
      method,
      url: path,
      schema: { ...params, ...(query ? { querystring: query } : {}), ...(body ? { body } : {}) },
      handler: async (request, reply) => {
        const values = request.params as Readonly<Record<string, string | number>>
        const [ref, idParam] = [String(values['ref'] ?? ''), String(values['id'] ?? '')]
        const pass = passOf(request.raw)
        const unrestricted = { deps, body: request.body as Readonly<Record<string, unknown>> }
        const caller = pass ? null : await callerOf(deps.reads, request)
        const sessionContext = pass ? await restrictToSession(pass, { id, ref, query: request.query }, unrestricted) : null
        const context =
          sessionContext ?? (caller === null ? unrestricted : await restrictToCaller(caller, { id, method, path }, unrestricted))
        const currentPid = await deps.reads.currentPid(ref)
        // Set on the raw response, because streams do not use fastify's reply.
        if (currentPid !== null) reply.raw.setHeader(CURRENT_PID_HEADER, `${Number(ref)}=${currentPid}`)
        const result = await handle(context.deps, {
          ref: sessionContext?.ref ?? ref,
          id: idParam,
          params: values,
          query: (sessionContext ? sessionContext.query : request.query) as never,
          body: context.body as never,
          request,
          reply,
        })
        const answer = sessionContext ? await sessionContext.adapt(result) : result
        if (status) reply.status(status)
        if (!hasLongList(answer)) return answer
        reply.type('application/json; charset=utf-8')
        return jsonInSlices(answer, deps.slices)
      },
    })
  }
}
