// The nodes of a run as bars on an axis of time. The longest path by time has bold names. Test: test/e2e/web/pages/runs.test.ts.
import type { JSX } from 'preact'
import type { RunView } from '../../src/api/views/compose.ts'
import type { SpansView } from '../../src/api/views/spans.ts'
import { runTimes, type NodeTimes } from '../../src/faces/lanes/run-times.ts'
import { callApi } from '../session-api.ts'
import { isNarrow } from '../frame/narrow.ts'
import { useRegularReader } from '../live.ts'
import { rowSignal } from '../rows.ts'
import { daemonNow } from '../parts/clock.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { LaneBar, LaneLegend, LaneTicks } from '../night/lane-bar.tsx'
import { nodeMark } from './node-texts.ts'

/** The spans are read from the journals of all nodes, so they are not read at each change of a row. */
const INTERVAL_MS = 5_000
const MAX_SPANS = 500
/** On a phone fewer texts stand beside each other. */
const MAX_TICKS = { narrow: 3, wide: 8 } as const

export interface TimesProps {
  readonly run: RunView
  /** the address of a node */
  readonly addressOf: (node: string) => string
  readonly selected: string | undefined
}

export function Times({ run, addressOf, selected }: TimesProps): JSX.Element {
  const query = new URLSearchParams({ subtree: '1', since: String(Date.parse(run.createdAt)), max: String(MAX_SPANS) })
  const { value, error } = useRegularReader({ everyMs: INTERVAL_MS, hasEnded: run.exitedAt !== null }, `times ${run.uuid}`, () =>
    callApi<SpansView>(`/v1/processes/${run.uuid}/spans?${query}`),
  )
  if (value.value === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The times are being read.'}</p>
  const { nodes, ticks } = runTimes(run, value.value.processes, daemonNow(), MAX_TICKS[isNarrow.value ? 'narrow' : 'wide'])
  return (
    <section class="run-times" aria-label="Nodes by time">
      <ul class="swim-lanes">
        {nodes.map((times) => (
          <NodeLane key={times.name} times={times} run={run} to={addressOf(times.name)} isSelected={times.name === selected} />
        ))}
      </ul>
      <LaneTicks ticks={ticks} />
      <LaneLegend words={['worked', 'waited for you', 'was held', 'was ready', 'could have begun']} />
    </section>
  )
}

interface NodeLaneProps {
  readonly times: NodeTimes
  readonly run: RunView
  readonly to: string
  readonly isSelected: boolean
}

function NodeLane({ times: { name, parts, wait, isCritical, text }, run, to, isSelected }: NodeLaneProps): JSX.Element | null {
  const node = run.nodes.find((one) => one.name === name)
  if (!node) return null
  const mark = nodeMark(node, node.process ? rowSignal(node.process.uuid).value : undefined)
  return (
    <li class={isSelected ? 'swim-lane selected' : 'swim-lane'} data-node={name} data-state={node.state}>
      <a href={to} class={mark.tone} {...(isSelected ? { 'aria-current': 'true' as const } : {})}>
        <span class="mark">
          <MarkIcon name={mark.icon} />
        </span>{' '}
        {isCritical ? <strong>{name}</strong> : name} <span class="quiet">{mark.word}</span>
      </a>
      <LaneBar parts={parts} wait={wait} label={`${name}: ${text === '' ? mark.word : text}`} />
    </li>
  )
}
