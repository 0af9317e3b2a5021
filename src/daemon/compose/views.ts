// Builds the API views of compose runs from process rows. Test: test/e2e/compose/compose.test.ts.
import { knownCostSum } from '../../api/known-cost.ts'
import { isFinalState } from '../../kernel/compose/run.ts'
import { composeSpecOf, composeRunOf } from '../../kernel/compose/run-row.ts'
import { isLiving, statusOf } from '../../kernel/model/status.ts'
import type { NodeProcessView, NodeView, RunView } from '../../api/views/compose.ts'
import type { ComposeNode, NodeState } from '../../kernel/model/compose.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessQueries } from '../views/process-queries.ts'

const RUN_FIELDS = ['uuid', 'pid', 'name', 'status', 'createdAt', 'exitedAt', 'elapsedMs', 'exit', 'note', 'holds', 'asks'] as const
const NODE_FIELDS = ['uuid', 'pid', 'status', 'agent', 'model', 'step', 'elapsedMs', 'usage', 'note', 'holds', 'asks'] as const

export async function runView(run: Process, reads: ProcessQueries): Promise<RunView> {
  const { exit, elapsedMs, ...processFields } = reads.view(run, RUN_FIELDS)
  const nodes = await Promise.all(composeRunOf(run).nodes.map((node, index) => nodeView(run, node, index, reads)))
  const processes = nodes.flatMap(({ process }) => process ?? [])
  return {
    ...processFields,
    elapsedMs: elapsedMs + earlierElapsedMs(run),
    exit: exit && { code: exit.code, reason: exit.reason },
    file: composeSpecOf(run).file,
    ...knownCostSum(processes),
    nodes,
  }
}

async function nodeView(
  run: Process,
  { name, state, uuid, attempts, reason }: ComposeNode,
  index: number,
  reads: ProcessQueries,
): Promise<NodeView> {
  const { needs = [], retries = 0 } = composeSpecOf(run).nodes[index] ?? {}
  const row = uuid === null ? undefined : await reads.find(uuid)
  const shownState = shownStateOf(run, state, row)
  return {
    name,
    state: shownState,
    reason: shownState === state ? reason : 'its run had already ended',
    needs: [...needs],
    attempts,
    retries,
    process: row ? processView(row, reads) : null,
  }
}

/** The state to show. After the end of a run, an unfinished node counts as cancelled, unless its process still runs. */
function shownStateOf(run: Process, state: NodeState, row: Process | undefined): NodeState {
  if (isLiving(run) || isFinalState(state)) return state
  return state === 'running' && row && isLiving(row) ? state : 'cancelled'
}

function processView(row: Process, reads: ProcessQueries): NodeProcessView {
  const { usage, elapsedMs, ...view } = reads.view(row, NODE_FIELDS)
  return { ...view, elapsedMs: elapsedMs + earlierElapsedMs(row), status: statusOf(row), costUsd: usage.costUsd, unpriced: usage.unpriced }
}

/** The duration of all earlier incarnations of a run or node, in ms. */
function earlierElapsedMs({ clock }: Process): number {
  return Math.round(clock.earlierMs ?? 0)
}
