// Formats runs and their nodes as tables and lines. Pure. Test: test/tables/cli/print/compose-table.test.ts.
import { reasonText } from '../../api/text/exit-reason.ts'
import type { NodeView, RunView } from '../../api/views/compose.ts'
import type { BlockableProcess } from './blocked.ts'
import { formatTable, type Column } from './format-table.ts'
import { formatCost, costCell, formatElapsed, formatCount } from '../../faces/format.ts'
import { STATUS_COLOURS, type Colour } from './status-colours.ts'
import { oneLine } from './text.ts'
import { RUNNING_STATUSES } from '../../kernel/model/words.ts'

export interface TableStyle {
  readonly columns: number
  readonly ellipsis: string
  readonly paint: (colour: Colour, text: string) => string
}

/** Returns the state of a node, or the status of its process if the process needs the user. */
export function shownState({ state, process }: NodeView): string {
  return state === 'running' && process && (process.status === 'waiting' || process.status === 'suspended') ? process.status : state
}

const COLOURS: Readonly<Record<string, Colour>> = { ...STATUS_COLOURS, running: 'green', blocked: 'yellow', cancelled: 'yellow' }

/** Returns the lines of the nodes, titles first. `sinceMs`: the time since the run was read, which elapsed times include. */
export function nodeTable({ nodes }: Pick<RunView, 'nodes'>, style: TableStyle, sinceMs = 0): string[] {
  const paintState = (cell: string, row: number): string => {
    const node = nodes[row]
    const colour = node && COLOURS[shownState(node)]
    return colour ? style.paint(colour, cell) : cell
  }
  const columns: Column[] = [
    { title: 'NODE', min: 8 },
    { title: 'STATE', paint: paintState },
    { title: 'PID', side: 'right' },
    { title: 'ATTEMPTS', side: 'right' },
    { title: 'ELAPSED', side: 'right' },
    { title: 'COST', side: 'right' },
    { title: 'NOTE', min: 4 },
  ]
  return formatTable(
    columns,
    nodes.map((node) => nodeRow(node, sinceMs)),
    style.columns,
    style.ellipsis,
  )
}

const RUNNING: ReadonlySet<string> = new Set(RUNNING_STATUSES)

function nodeRow(node: NodeView, sinceMs: number): string[] {
  const { process, attempts, retries } = node
  const time = process ? formatElapsed(process.elapsedMs + (RUNNING.has(process.status) ? sinceMs : 0)) : '-'
  return [
    node.name,
    shownState(node),
    process ? String(process.pid) : '-',
    retries === 0 ? '-' : `${attempts}/${retries}`,
    time,
    process ? costCell(process, process.step > 0) : '-',
    oneLine(noteOf(node)),
  ]
}

function noteOf({ state, reason, needs, process }: NodeView): string {
  if (reason !== null) return `${state === 'running' ? 'again after: ' : ''}${reasonText(reason)}`
  if (state === 'waiting') return needs.length === 0 ? '' : `needs ${needs.join(', ')}`
  return state === 'running' ? (process?.note ?? '') : ''
}

/** Returns the run and the processes of its nodes, for notices. */
export function runProcesses(run: RunView): BlockableProcess[] {
  return [run, ...run.nodes.flatMap((node) => (node.process ? [{ ...node.process, name: node.name }] : []))]
}

/** Returns the line about the current state of a node. `width`: the width of its name. */
export function nodeLine(node: NodeView, width: number): string {
  const { name, process, reason } = node
  const state = shownState(node)
  const why = reason === null ? '' : `${state === 'running' ? ' again after' : ''}: ${oneLine(reasonText(reason))}`
  const parts = [`${name.padEnd(width)}  ${state}${why}`]
  if (process && state === 'running') parts.push(`PID ${process.pid} (${oneLine(process.model ?? process.agent)})`)
  if (process && node.state !== 'running')
    parts.push(formatElapsed(process.elapsedMs), ...(process.costUsd !== 0 ? [formatCost(process.costUsd, process.unpriced)] : []))
  return parts.join('  ')
}

/** Returns the lines of the runs, titles first. */
export function runTable(runs: readonly RunView[], style: TableStyle): string[] {
  const paintState = (cell: string, row: number): string => {
    const run = runs[row]
    const colour = run && STATUS_COLOURS[run.status]
    return colour ? style.paint(colour, cell) : cell
  }
  const columns: Column[] = [
    { title: 'RUN', min: 8 },
    { title: 'PID', side: 'right' },
    { title: 'ID' },
    { title: 'STATUS', paint: paintState },
    { title: 'NODES' },
    { title: 'ELAPSED', side: 'right' },
    { title: 'COST', side: 'right' },
    { title: 'FILE', min: 8 },
  ]
  return formatTable(
    columns,
    runs.map((run) => [
      run.name ?? '-',
      String(run.pid),
      run.uuid.slice(-8),
      run.status,
      countText(run),
      formatElapsed(run.elapsedMs),
      formatCost(run.costUsd, run.unpriced),
      oneLine(run.file),
    ]),
    style.columns,
    style.ellipsis,
  )
}

/** Returns the number of completed nodes, and of nodes that did not complete: `3 of 5, 1 not`. */
function countText({ nodes }: RunView): string {
  const failedCount = nodes.filter(({ state }) => state === 'failed' || state === 'cancelled' || state === 'blocked').length
  return `${nodes.filter(({ state }) => state === 'completed').length} of ${nodes.length}${failedCount > 0 ? `, ${failedCount} not` : ''}`
}

/** Returns the last line that is printed about a run. */
export function runSummary(run: RunView): string {
  const { name, pid, status, exit, nodes, elapsedMs, costUsd, unpriced } = run
  const reason = exit && exit.reason !== status ? `: ${oneLine(reasonText(exit.reason))}` : ''
  return [
    `run ${name ?? pid} ${status}${reason}`,
    formatCount(nodes.length, 'node'),
    ...(costUsd !== 0 ? [formatCost(costUsd, unpriced)] : []),
    formatElapsed(elapsedMs),
  ].join(' | ')
}
