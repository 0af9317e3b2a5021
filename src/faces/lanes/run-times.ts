// The nodes of a run on an axis of time: when each could begin, and when it worked, waited or was held. Pure.
// Test: test/tables/faces/lanes/run-times.test.ts.
import type { NodeView, RunView } from '../../api/views/compose.ts'
import type { ProcessSpansView } from '../../api/views/spans.ts'
import { criticalPath, layoutGraph } from '../graph-layout.ts'
import { activityIn, type LanePart } from './period.ts'
import { formatElapsed } from '../format.ts'
import { ticksOf, timeAxis } from '../time-axis.ts'

export interface NodeTimes {
  readonly name: string
  /** the time between the end of what the node needs and its start, as shares of the run; null: none, or not known */
  readonly wait: { readonly from: number; readonly to: number } | null
  readonly parts: readonly LanePart[]
  readonly isCritical: boolean
  /** what the bar shows, as text */
  readonly text: string
}

export interface RunTimes {
  /** nodes in the order of their ranks, then of their starts */
  readonly nodes: readonly NodeTimes[]
  /** the ticks of the axis: their places as shares of the run, and the time since its start */
  readonly ticks: readonly { readonly at: number; readonly text: string }[]
}

type Run = Pick<RunView, 'createdAt' | 'exitedAt'> & { readonly nodes: readonly Pick<NodeView, 'name' | 'needs' | 'process'>[] }
type Spans = Pick<ProcessSpansView, 'uuid' | 'pid' | 'parentUuid' | 'name' | 'spans'>

/** A wait of less than this share of the run is not drawn. */
const MIN_WAIT = 0.002

/** `spans`: of the processes of the nodes. `now`: wall ms. `maxTicks`: the most ticks of the axis. */
export function runTimes(run: Run, spans: readonly Spans[], now: number, maxTicks = 8): RunTimes {
  const from = Date.parse(run.createdAt)
  const to = Math.max(from + 1, run.exitedAt === null ? now : Date.parse(run.exitedAt))
  const lanes = new Map(activityIn(spans, from, to).lanes.map((lane) => [lane.uuid, lane]))
  const partsOf = ({ process }: Run['nodes'][number]): readonly LanePart[] =>
    lanes.get(process?.uuid ?? '')?.parts.filter(({ word }) => word !== 'had ended') ?? []
  const byName = new Map(run.nodes.map((node) => [node.name, partsOf(node)]))
  const { nodes: places } = layoutGraph(run.nodes)
  const path = criticalPath(run.nodes.map(({ name, needs, process }) => ({ name, needs, elapsedMs: process?.elapsedMs ?? 0 })))
  const startOf = (name: string): number => byName.get(name)?.[0]?.from ?? 1
  const sorted = run.nodes.toSorted(
    (a, b) => (places.get(a.name)?.rank ?? 0) - (places.get(b.name)?.rank ?? 0) || startOf(a.name) - startOf(b.name),
  )
  return {
    nodes: sorted.map(({ name, needs }) => {
      const parts = byName.get(name) ?? []
      return { name, wait: waitOf(parts, needs, byName), parts, isCritical: path.includes(name), text: textOf(parts, to - from) }
    }),
    ticks: ticksOf(timeAxis(0, to - from, []), 0, to - from, maxTicks).map((ms) => ({ at: ms / (to - from), text: formatElapsed(ms) })),
  }
}

/** The wait before a node; null: none. Also null if a needed node has run again since: the node then began before the new end. */
function waitOf(parts: readonly LanePart[], needs: readonly string[], byName: ReadonlyMap<string, readonly LanePart[]>): NodeTimes['wait'] {
  const start = parts[0]?.from
  if (start === undefined) return null
  const ready = Math.max(0, ...needs.map((need) => byName.get(need)?.at(-1)?.to ?? 0))
  return start - ready < MIN_WAIT ? null : { from: ready, to: start }
}

function textOf(parts: readonly LanePart[], length: number): string {
  const words = [...new Set(parts.map(({ word }) => word))]
  return words
    .map((word) => {
      const share = parts.filter((part) => part.word === word).reduce((sum, part) => sum + part.to - part.from, 0)
      return `${word} ${formatElapsed(share * length)}`
    })
    .join(', ')
}
