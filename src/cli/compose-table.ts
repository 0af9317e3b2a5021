// Runs and their nodes as lines: tables, and the words for what has become of a node. Pure. Test: test/tables/cli-compose.test.ts.
import type { NodeView, RunView } from '../api/compose-views.ts'
import { table, type Column } from './columns.ts'
import { cost, elapsed, plural } from './format.ts'
import { STATUS_COLOURS, type Colour } from './status-colours.ts'
import { oneLine } from './text.ts'

export interface Look {
  readonly columns: number
  readonly ellipsis: string
  readonly paint: (colour: Colour, text: string) => string
}

/** What a node is about: the status of its process where a person has to do something about it. */
export function stateOf({ state, process }: NodeView): string {
  return state === 'running' && process && (process.status === 'waiting' || process.status === 'suspended') ? process.status : state
}

const COLOURS: Readonly<Record<string, Colour>> = { ...STATUS_COLOURS, running: 'green', blocked: 'yellow', cancelled: 'yellow' }

export function nodeTable({ nodes }: Pick<RunView, 'nodes'>, look: Look, sinceMs = 0): string[] {
  const painted = (cell: string, row: number): string => {
    const node = nodes[row]
    const colour = node && COLOURS[stateOf(node)]
    return colour ? look.paint(colour, cell) : cell
  }
  const columns: Column[] = [{ title: 'NODE', min: 8 }, { title: 'STATE', paint: painted }, { title: 'PID', side: 'right' }, { title: 'TRIES', side: 'right' }, { title: 'ELAPSED', side: 'right' }, { title: 'COST', side: 'right' }, { title: 'NOTE', min: 4 }]
  return table(columns, nodes.map((node) => nodeRow(node, sinceMs)), look.columns, look.ellipsis)
}

const CLOCK_RUNS: ReadonlySet<string> = new Set(['starting', 'ready', 'working', 'waiting', 'stopping'])

function nodeRow(node: NodeView, sinceMs: number): string[] {
  const { process, attempts, retries } = node
  const time = process ? elapsed(process.elapsedMs + (CLOCK_RUNS.has(process.status) ? sinceMs : 0)) : '-'
  return [node.name, stateOf(node), process ? String(process.pid) : '-', retries === 0 ? '-' : `${attempts}/${retries}`, time, process ? cost(process.costUsd, process.unpriced) : '-', oneLine(noteOf(node))]
}

function noteOf({ state, reason, needs, process }: NodeView): string {
  if (reason !== null) return state === 'running' ? `again after: ${reason}` : reason
  if (state === 'waiting') return needs.length === 0 ? '' : `needs ${needs.join(', ')}`
  return state === 'running' ? (process?.note ?? '') : ''
}

/** What has become of a node, when that is news. */
export function nodeLine(node: NodeView, width: number): string {
  const { name, process, reason } = node
  const state = stateOf(node)
  const why = reason === null ? '' : `${state === 'running' ? ' again after' : ''}: ${oneLine(reason)}`
  const parts = [`${name.padEnd(width)}  ${state}${why}`]
  if (process && state === 'running') parts.push(`PID ${process.pid} (${oneLine(process.model ?? process.agent)})`)
  if (process && node.state === 'running' && state !== 'running' && process.note) parts.push(oneLine(process.note))
  if (process && node.state !== 'running') parts.push(elapsed(process.elapsedMs), ...(process.costUsd > 0 || process.unpriced ? [cost(process.costUsd, process.unpriced)] : []))
  return parts.join('  ')
}

export function runTable(runs: readonly RunView[], look: Look): string[] {
  const painted = (cell: string, row: number): string => {
    const run = runs[row]
    const colour = run && STATUS_COLOURS[run.status]
    return colour ? look.paint(colour, cell) : cell
  }
  const columns: Column[] = [{ title: 'RUN', min: 8 }, { title: 'PID', side: 'right' }, { title: 'ID' }, { title: 'STATUS', paint: painted }, { title: 'NODES' }, { title: 'ELAPSED', side: 'right' }, { title: 'COST', side: 'right' }, { title: 'FILE', min: 8 }]
  return table(columns, runs.map((run) => [run.name ?? '-', String(run.pid), run.uuid.slice(-8), run.status, counted(run), elapsed(run.elapsedMs), cost(run.costUsd, run.unpriced), oneLine(run.file)]), look.columns, look.ellipsis)
}

/** `3 of 5`, and what did not. */
function counted({ nodes }: RunView): string {
  const lost = nodes.filter(({ state }) => state === 'failed' || state === 'cancelled' || state === 'blocked').length
  return `${nodes.filter(({ state }) => state === 'completed').length} of ${nodes.length}${lost > 0 ? `, ${lost} not` : ''}`
}

/** The line that closes a run. */
export function runSummary(run: RunView): string {
  const { name, pid, status, exit, nodes, elapsedMs, costUsd, unpriced } = run
  const reason = exit && exit.reason !== status ? `: ${oneLine(exit.reason)}` : ''
  return [`run ${name ?? pid} ${status}${reason}`, plural(nodes.length, 'node'), ...(costUsd > 0 || unpriced ? [cost(costUsd, unpriced)] : []), elapsed(elapsedMs)].join(' | ')
}
