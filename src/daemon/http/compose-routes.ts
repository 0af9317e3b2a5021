// The routes of runs of compose files, one row each as in routes.ts, which has them all, and what they take.
// Test: test/e2e/compose.test.ts, test/e2e/openapi.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../config/limit-rules.ts'
import { childIdRule } from '../../config/restart.ts'
import { of } from './exact.ts'
import { route, type Route } from './route.ts'
import type { ComposeBody, ResumeNodeBody } from '../../api/compose-views.ts'

const path = z.string().regex(/^[^\0]*$/, 'must not contain NUL').min(1).max(4_096).startsWith('/', 'must be an absolute path')
const env = z.record(z.string().max(1_000), z.string().max(512 * 1024))

const composeBody = of<ComposeBody>()(z.strictObject({
  cwd: path,
  file: path.exactOptional(),
  nodes: z.array(z.string().min(1).max(200)).max(1_000).exactOptional(),
  name: childIdRule.refine((name) => !/^\d+$/.test(name), 'a name must not be all digits').exactOptional(),
  parallel: z.int().min(1).max(1_000).exactOptional(),
  limits: limitsRule.exactOptional(),
  env: env.exactOptional(),
}))

const resumeBody = of<ResumeNodeBody>()(z.strictObject({
  node: z.string().min(1).max(200),
  message: z.string().min(1).max(1_000_000).exactOptional(),
  fork: z.boolean().exactOptional(),
  fromStep: z.int().min(0).max(1e9).exactOptional(),
  env: env.exactOptional(),
}))

const listQuery = z.strictObject({ limit: z.coerce.number().int().min(0).max(1_000).default(20) })

export const COMPOSE: readonly Route[] = [
  route({
    id: 'composeUp', method: 'POST', path: '/v1/compose', summary: 'Starts a run of the agents of a file; answers once that is on disk.', body: composeBody, answer: 'run', status: 201,
    errors: ['CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'], example: { cwd: '/src/app', nodes: ['test'] },
    handle: ({ composes }, { body }) => composes.up(body),
  }),
  route({
    id: 'composePlan', method: 'POST', path: '/v1/compose/plan', summary: 'Says what a run would start, and in which order; starts nothing.', body: composeBody, answer: 'plan',
    errors: ['AGENT_INVALID'], example: { cwd: '/src/app' },
    handle: ({ composes }, { body }) => composes.plan(body),
  }),
  route({
    id: 'listRuns', method: 'GET', path: '/v1/compose', summary: 'The runs that live, and the newest of those that have ended, newest first.', query: listQuery, answer: 'runs', errors: [],
    handle: ({ composes }, { query }) => composes.list(query.limit),
  }),
  route({
    id: 'getRun', method: 'GET', path: '/v1/compose/:ref', summary: 'A run with its nodes.', answer: 'run', errors: [],
    handle: ({ composes }, { ref }) => composes.get(ref),
  }),
  route({
    id: 'resumeNode', method: 'POST', path: '/v1/compose/:ref/resume', summary: 'A node of a run goes on, or a fork of it in its place; then what depends on it runs again.', body: resumeBody, answer: 'run',
    errors: ['CONFLICT', 'NOT_RESUMABLE', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'], example: { node: 'test', message: 'Use pnpm.' },
    handle: ({ composes, removals }, { ref, body }) => removals.alone(ref, (uuid) => composes.resume(uuid, body)),
  }),
]
