// Runs of compose files as the API shows them. Owns the mapping; every number shown is computed here. Test: test/e2e/compose.test.ts.
import { isOver } from '../crew/compose.ts'
import { composeOf, nodesOf } from '../kernel/runs.ts'
import { isLiving, statusOf } from '../kernel/status.ts'
import type { NodeProcessView, NodeView, RunView } from '../api/compose-views.ts'
import type { NodeState } from '../crew/compose-types.ts'
import type { Process } from '../kernel/types.ts'
import type { Reads } from './reads.ts'

const RUN_FIELDS = ['uuid', 'pid', 'name', 'status', 'createdAt', 'exitedAt', 'elapsedMs', 'exit'] as const
const NODE_FIELDS = ['uuid', 'pid', 'status', 'agent', 'model', 'step', 'elapsedMs', 'usage', 'note'] as const

export async function runView(run: Process, reads: Reads): Promise<RunView> {
  const { exit, elapsedMs, ...own } = reads.view(run, RUN_FIELDS)
  const nodes = await Promise.all(nodesOf(run).nodes.map((node, at) => nodeView(run, node, at, reads)))
  const processes = nodes.flatMap(({ process }) => process ?? [])
  return {
    ...own,
    elapsedMs: elapsedMs + earlierMs(run),
    exit: exit && { code: exit.code, reason: exit.reason },
    file: composeOf(run).file,
    costUsd: processes.reduce((sum, { costUsd }) => sum + costUsd, 0),
    unpriced: processes.some(({ unpriced }) => unpriced),
    nodes,
  }
}

async function nodeView(run: Process, { name, state, uuid, attempts, reason }: ReturnType<typeof nodesOf>['nodes'][number], at: number, reads: Reads): Promise<NodeView> {
  const { needs = [], retries = 0 } = composeOf(run).nodes[at] ?? {}
  const row = uuid === null ? undefined : await reads.find(uuid)
  const shown = stateIn(run, state, row)
  return { name, state: shown, reason: shown === state ? reason : 'its run ended before', needs: [...needs], attempts, retries, process: row ? processView(row, reads) : null }
}

/** What was not over when its run ended was stopped with it, or waits for nobody. */
function stateIn(run: Process, state: NodeState, row: Process | undefined): NodeState {
  if (isLiving(run) || isOver(state)) return state
  return state === 'running' && row && isLiving(row) ? state : 'cancelled'
}

function processView(row: Process, reads: Reads): NodeProcessView {
  const { usage, elapsedMs, ...view } = reads.view(row, NODE_FIELDS)
  return { ...view, elapsedMs: elapsedMs + earlierMs(row), status: statusOf(row), costUsd: usage.costUsd, unpriced: usage.unpriced }
}

/** A run, and a node, are as old as all their incarnations. */
function earlierMs({ clock }: Process): number {
  return Math.round(clock.earlierMs ?? 0)
}
