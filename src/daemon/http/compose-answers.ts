// What the API answers about runs of compose files, as zod schemas held to their views in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { NodeProcessView, NodeView, OneRunView, PlanView, RunsView, RunView } from '../../api/compose-views.ts'

const time = z.iso.datetime({ offset: true })
const version = z.literal(1)
const count = z.int().min(0)
const ms = z.number().min(0)
const usd = z.number().min(0)
const status = z.enum(['pending', 'starting', 'ready', 'working', 'waiting', 'suspended', 'stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted'])

const process = of<NodeProcessView>()(z.object({
  uuid: z.string(), pid: count, status, agent: z.string(), model: z.string().nullable(), step: count, elapsedMs: ms, costUsd: usd, unpriced: z.boolean(), note: z.string().nullable(),
})).meta({ id: 'NodeProcessView', description: 'The process of a node, as it is now.' })

const node = of<NodeView>()(z.object({
  name: z.string(), state: z.enum(['waiting', 'starting', 'running', 'completed', 'failed', 'blocked', 'cancelled']), reason: z.string().nullable(), needs: z.array(z.string()),
  attempts: count.describe('how often it was started again after a failure'), retries: count, process: process.nullable(),
})).meta({ id: 'NodeView', description: 'A node of a run.' })

const run = of<RunView>()(z.object({
  uuid: z.string(), pid: count, name: z.string().nullable(), status, file: z.string(), createdAt: time, exitedAt: time.nullable(), elapsedMs: ms,
  exit: z.object({ code: z.int(), reason: z.string() }).nullable(), costUsd: usd.describe('of all its nodes'), unpriced: z.boolean(), nodes: z.array(node),
})).meta({ id: 'RunView', description: 'A run of a compose file.' })

export const composeAnswers = {
  run: of<OneRunView>()(z.object({ version, run, note: z.string().exactOptional() })),
  runs: of<RunsView>()(z.object({ version, runs: z.array(run) })),
  plan: of<PlanView>()(z.object({
    version, file: z.string(), name: z.string(),
    nodes: z.array(z.object({ name: z.string(), row: count.describe('those of one row may run side by side'), needs: z.array(z.string()), agent: z.string(), model: z.string().nullable(), retries: count, worktree: z.boolean() })),
  })),
}
