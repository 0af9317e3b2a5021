// The graph of a run: a card for each node, and a line for each dependency. The longest path by time is bold. While a node is selected,
// what would run again after it is shaded. Test: test/e2e/web/pages/runs.test.ts.
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { NodeView, RunView } from '../../src/api/views/compose.ts'
import { criticalPath, dependentsOf, layoutGraph, type GraphLayout, type Place } from '../../src/faces/graph-layout.ts'
import { isNarrow } from '../frame/narrow.ts'
import { rowSignal } from '../rows.ts'
import { MarkIcon } from '../parts/icons.tsx'
import { nodeFigures, nodeMark, nodeWhy } from './node-texts.ts'

const NODE_WIDTH = 210
const NODE_HEIGHT = 74
/** the distance between two ranks, in pixels */
const RANK_GAP = 56
/** the distance between two nodes of one rank, in pixels */
const NODE_GAP = 16

export interface GraphProps {
  readonly run: RunView
  /** the address of a node */
  readonly addressOf: (node: string) => string
  readonly selected: NodeView | undefined
}

export function Graph({ run, addressOf, selected }: GraphProps): JSX.Element {
  // The layout depends on the names and dependencies only, while each event of the run makes new nodes.
  const shape = run.nodes.map(({ name, needs }) => `${name}:${needs.join()}`).join(' ')
  const layout = useMemo(() => layoutGraph(run.nodes), [shape])
  const path = criticalPath(run.nodes.map(({ name, needs, process }) => ({ name, needs, elapsedMs: process?.elapsedMs ?? 0 })))
  const again = selected ? dependentsOf(run.nodes, selected.name) : new Set<string>()
  const place = placer(isNarrow.value)
  const end = place({ rank: layout.ranks - 1, at: layout.breadth - 1 })
  const size = { width: `${end.x + NODE_WIDTH}px`, height: `${end.y + NODE_HEIGHT}px` }
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Nodes and their dependencies">
      <div style={{ ...size }}>
        <Edges layout={layout} path={path} place={place} />
        {run.nodes.map((node) => {
          const { x, y } = place(layout.nodes.get(node.name) ?? { rank: 0, at: 0 })
          return (
            <NodeCard
              key={node.name}
              node={node}
              run={run}
              to={addressOf(node.name)}
              classes={[
                selected === node ? 'selected' : '',
                again.has(node.name) ? 'again' : '',
                path.includes(node.name) ? 'critical' : '',
              ]}
              style={{ left: `${x}px`, top: `${y}px`, width: `${NODE_WIDTH}px`, height: `${NODE_HEIGHT}px` }}
            />
          )
        })}
      </div>
    </div>
  )
}

type Placer = (place: Place) => { readonly x: number; readonly y: number }

/** Returns the function that places nodes: from left to right, and on a phone from top to bottom. */
function placer(isDown: boolean): Placer {
  return isDown
    ? ({ rank, at }) => ({ x: at * (NODE_WIDTH + NODE_GAP), y: rank * (NODE_HEIGHT + RANK_GAP) })
    : ({ rank, at }) => ({ x: rank * (NODE_WIDTH + RANK_GAP), y: at * (NODE_HEIGHT + NODE_GAP) })
}

function Edges({
  layout,
  path,
  place,
}: {
  readonly layout: GraphLayout
  readonly path: readonly string[]
  readonly place: Placer
}): JSX.Element {
  const isDown = isNarrow.value
  const isCritical = (from: string, to: string): boolean => path.some((name, index) => name === from && path[index + 1] === to)
  return (
    <svg width="100%" height="100%" aria-hidden="true">
      <marker
        id="arrow"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerUnits="userSpaceOnUse"
        markerWidth="9"
        markerHeight="9"
        orient="auto-start-reverse"
      >
        <path d="M1 1l6 3l-6 3" />
      </marker>
      {layout.edges.map(({ from, to, points }) => (
        <path
          key={`${from} ${to}`}
          class={isCritical(from, to) ? 'edge critical' : 'edge'}
          d={curve(points.map(place), isDown)}
          marker-end="url(#arrow)"
        />
      ))}
    </svg>
  )
}

/** A curve from the end of a card, past the places between, to the beginning of another card. `points`: their upper left corners. */
function curve(points: readonly { readonly x: number; readonly y: number }[], isDown: boolean): string {
  const half = RANK_GAP / 2
  const [out, into] = isDown ? ([NODE_WIDTH / 2, NODE_HEIGHT] as const) : ([NODE_WIDTH, NODE_HEIGHT / 2] as const)
  return points
    .slice(1)
    .map((point, index) => {
      const from = points[index] ?? point
      const a = { x: from.x + out, y: from.y + into }
      const b = isDown ? { x: point.x + out, y: point.y } : { x: point.x, y: point.y + into }
      const bend = isDown ? `C${a.x} ${a.y + half} ${b.x} ${b.y - half} ` : `C${a.x + half} ${a.y} ${b.x - half} ${b.y} `
      const past = index === points.length - 2 ? '' : isDown ? `V${b.y + NODE_HEIGHT}` : `H${b.x + NODE_WIDTH}`
      return `${index === 0 ? `M${a.x} ${a.y}` : ''}${bend}${b.x} ${b.y}${past}`
    })
    .join('')
}

interface NodeCardProps {
  readonly node: NodeView
  readonly run: RunView
  readonly to: string
  readonly classes: readonly string[]
  readonly style: Readonly<Record<'left' | 'top' | 'width' | 'height', string>>
}

function NodeCard({ node, run, to, classes, style }: NodeCardProps): JSX.Element {
  const row = node.process ? rowSignal(node.process.uuid).value : undefined
  const mark = nodeMark(node, row)
  const why = nodeWhy(node, run, row)
  return (
    <a
      class={['node', mark.tone, ...classes].filter((one) => one !== '').join(' ')}
      href={to}
      style={{ ...style }}
      data-node={node.name}
      data-state={node.state}
      {...(classes[0] === '' ? {} : { 'aria-current': 'true' as const })}
    >
      <span class="node-name">
        <span class="mark">
          <MarkIcon name={mark.icon} />
        </span>{' '}
        <strong>{node.name}</strong> <span class="status-word">{mark.word}</span>
      </span>
      <span class="node-why" title={why}>
        {why}
      </span>
      <span class="quiet">{nodeFigures(node)}</span>
    </a>
  )
}
