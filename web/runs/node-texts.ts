// What a node of a run shows: its mark, why it waits, its figures, and whether it can be resumed. Test: test/e2e/web/pages/runs.test.ts.
import { reasonText } from '../../src/api/text/exit-reason.ts'
import type { NodeView, RunView } from '../../src/api/views/compose.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCost, formatElapsed } from '../../src/faces/format.ts'
import { markNameOf, markOf, type MarkName, type Tone } from '../../src/faces/marks.ts'
import { visibleText } from '../../src/faces/visible-text.ts'

export interface NodeMark {
  readonly icon: MarkName
  readonly word: string
  readonly tone: Tone
}

const MARKS = {
  waiting: { icon: 'waiting', word: 'waits', tone: 'calm' },
  starting: { icon: 'starting', word: 'starting', tone: 'calm' },
  running: { icon: 'working', word: 'working', tone: 'good' },
  completed: { icon: 'completed', word: 'completed', tone: 'faded' },
  failed: { icon: 'failed', word: 'failed', tone: 'bad' },
  blocked: { icon: 'held', word: 'blocked', tone: 'bad' },
  cancelled: { icon: 'stopped', word: 'cancelled', tone: 'faded' },
} as const satisfies Readonly<Record<NodeView['state'], NodeMark>>

/** A running node has the mark of its process. */
export function nodeMark({ state }: NodeView, row: RowView | undefined): NodeMark {
  if (state !== 'running' || !row || row.endedAt !== null) return MARKS[state]
  return { icon: markNameOf(row), ...markOf(row) }
}

/** Why a node is in its state, as one sentence without a period or hidden characters; empty: the state needs no reason. */
export function nodeWhy(node: NodeView, run: RunView, row: RowView | undefined): string {
  if (node.reason !== null) return visibleText(reasonText(node.reason))
  if (node.state === 'running') return visibleText(row?.why?.text ?? node.process?.note ?? '')
  if (node.state !== 'waiting') return ''
  const open = run.nodes.filter(({ name, state }) => node.needs.includes(name) && state !== 'completed')
  if (open.length > 0) return `waits for ${open.map(({ name }) => name).join(', ')}`
  return run.holds.length > 0 ? 'waits until the run continues' : 'waits for a free place: as many nodes work as are allowed'
}

/** Whether a node can be resumed: it has a process, and has ended. */
export function canResume({ state, process }: NodeView): boolean {
  return process !== null && (state === 'failed' || state === 'cancelled' || state === 'completed')
}

/** The time, the steps, the money and the attempts of a node. */
export function nodeFigures({ process, attempts, retries }: NodeView): string {
  return [
    ...(process ? [formatElapsed(process.elapsedMs)] : []),
    ...(process && process.step > 0 ? [`step ${process.step}`] : []),
    ...(process && process.costUsd !== 0 ? [formatCost(process.costUsd, process.unpriced)] : []),
    ...(attempts > 0 ? [`attempt ${attempts + 1} of ${retries + 1}`] : []),
  ].join(' · ')
}
