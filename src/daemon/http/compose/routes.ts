// Routes of compose runs, and the schemas of their requests; routes.ts registers them.
// Test: test/e2e/compose/compose.test.ts, test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../../config/limit-rules.ts'
import { childIdRule } from '../../../config/restart-rules.ts'
import { defineRoute, type ApiRoute } from '../route.ts'

const path = z
  .string()
  .regex(/^[^\0]*$/, 'must not contain NUL')
  .min(1)
  .max(4_096)
  .startsWith('/', 'must be an absolute path')
const env = z.record(z.string().max(1_000), z.string().max(512 * 1024))

const composeBody = z.strictObject({
  cwd: path.describe('the working directory; `file` defaults to the nearest reeve.yaml in or above it'),
  file: path.exactOptional(),
  nodes: z
    .array(z.string().min(1).max(200))
    .max(1_000)
    .exactOptional()
    .describe('the nodes to run, with their dependencies; absent: all nodes'),
  name: childIdRule
    .refine((name) => !/^\d+$/.test(name), 'a name must not be all digits')
    .exactOptional()
    .describe('the name of the run; default: the name of the directory of the file'),
  parallel: z.int().min(1).max(1_000).exactOptional().describe('the largest number of nodes that run at the same time'),
  limits: limitsRule.exactOptional().describe('limits of all nodes together'),
  env: env.exactOptional(),
})

const resumeBody = z.strictObject({
  node: z.string().min(1).max(200),
  message: z.string().min(1).max(1_000_000).exactOptional(),
  fork: z.boolean().exactOptional().describe('true: a fork of its process replaces the process'),
  fromStep: z.int().min(0).max(1e9).exactOptional(),
  env: env.exactOptional(),
})

/** The bodies by the names of their types in src/api/views/compose.ts. */
export const COMPOSE_BODIES = { ComposeBody: composeBody, ResumeNodeBody: resumeBody }

const listQuery = z.strictObject({ limit: z.coerce.number().int().min(0).max(1_000).default(20) })

export const COMPOSE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'composeUp',
    method: 'POST',
    path: '/v1/compose',
    right: 'start',
    closed: 'commands',
    summary: 'Starts a run of the agents of a file; answers when the start has been written to disk.',
    body: composeBody,
    answer: 'run',
    status: 201,
    errors: ['CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { cwd: '/src/app', nodes: ['test'] },
    handle: ({ composeRuns, parentUuid, via }, { body }) => composeRuns.up(body, { parentUuid, via }),
  }),
  defineRoute({
    id: 'composePlan',
    method: 'POST',
    path: '/v1/compose/plan',
    right: 'start',
    closed: 'commands',
    summary: 'Shows what a run would start, and in which order; starts nothing.',
    body: composeBody,
    answer: 'plan',
    errors: ['AGENT_INVALID'],
    example: { cwd: '/src/app' },
    handle: ({ composeRuns }, { body }) => composeRuns.plan(body),
  }),
  defineRoute({
    id: 'listRuns',
    method: 'GET',
    path: '/v1/compose',
    right: 'read',
    summary: 'Lists the living runs and the latest ended ones, newest first.',
    query: listQuery,
    answer: 'runs',
    errors: [],
    handle: ({ composeRuns }, { query }) => composeRuns.list(query.limit),
  }),
  defineRoute({
    id: 'getRun',
    method: 'GET',
    path: '/v1/compose/:ref',
    right: 'read',
    summary: 'Returns a run with its nodes.',
    answer: 'run',
    errors: [],
    handle: ({ composeRuns }, { ref }) => composeRuns.get(ref),
  }),
  defineRoute({
    id: 'resumeNode',
    method: 'POST',
    path: '/v1/compose/:ref/resume',
    right: 'steer',
    summary: 'Continues a node of a run, or replaces it by a fork; then the nodes that depend on it run again.',
    body: resumeBody,
    answer: 'run',
    errors: ['CONFLICT', 'NOT_RESUMABLE', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'],
    example: { node: 'test', message: 'Use pnpm.' },
    handle: ({ composeRuns, removals, via }, { ref, body }) => removals.runExclusively(ref, (uuid) => composeRuns.resume(uuid, body, via)),
  }),
]
