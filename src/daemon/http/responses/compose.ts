// Schemas of compose runs, for src/api/views/compose.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, ms, status, text, texts, time, usd, version } from './fields.ts'
import { ask, hold } from './process.ts'
import { NODE_STATES } from '../../../kernel/model/compose.ts'

const nodeState = z.enum(NODE_STATES)
const note = text.nullable().describe('the text of the NOTE column')
const holds = z.array(hold).describe('why the process is suspended')

const process = z
  .object({
    uuid: text,
    pid: count,
    status,
    agent: text,
    model: text.nullable(),
    step: count,
    elapsedMs: ms,
    costUsd: usd.nullable(),
    unpriced: z.boolean(),
    note: text.nullable(),
    holds,
    asks: z.array(ask).describe('the open questions for the user'),
  })
  .meta({ id: 'NodeProcessView', description: 'The current process of a node.' })

const node = z
  .object({
    name: text,
    state: nodeState,
    reason: text.nullable().describe('why the node failed, is blocked, was cancelled or is being restarted'),
    needs: texts,
    attempts: count.describe('the number of restarts after failures'),
    retries: count.describe('the largest number of `attempts`'),
    process: process.nullable().describe('null: the node has no process yet, or it was removed'),
  })
  .meta({ id: 'NodeView', description: 'A node of a run.' })

const run = z
  .object({
    uuid: text,
    pid: count,
    name: text.nullable(),
    status,
    file: text,
    createdAt: time,
    exitedAt: time.nullable(),
    elapsedMs: ms,
    exit: z.object({ code: z.int(), reason: text }).nullable().describe('how the run ended; null while it runs'),
    costUsd: usd.nullable().describe('the cost of the processes of its nodes, without the processes that these have started'),
    unpriced: z.boolean(),
    note,
    holds,
    asks: z.array(ask),
    nodes: z.array(node),
  })
  .meta({ id: 'RunView', description: 'A run of a compose file.' })

const plannedNode = z
  .object({
    name: text,
    row: count,
    needs: texts,
    agent: text,
    model: text.nullable(),
    retries: count,
    worktree: z.boolean(),
  })
  .describe('A node of a plan. Nodes with the same `row` (from 0) can run in parallel.')

const runs = z.object({ version, runs: z.array(run) })
const oneRun = z.object({ version, run, note: text.exactOptional() })
const plan = z.object({ version, file: text, name: text, nodes: z.array(plannedNode) })

export const composeAnswers = { run: oneRun, runs, plan }

export const COMPOSE_TYPES = {
  NodeStateWord: nodeState,
  NodeProcessView: process,
  NodeView: node,
  RunView: run,
  RunsView: runs,
  OneRunView: oneRun,
  PlannedNodeView: plannedNode,
  PlanView: plan,
}
