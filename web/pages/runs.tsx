// The runs of compose files, and one run. Its nodes are shown as a graph, as a table or on an axis of time, each with why it waits.
// Test: test/e2e/web/pages/runs.test.ts.
import type { JSX } from 'preact'
import type { OneRunView, RunsView, RunView } from '../../src/api/views/compose.ts'
import { formatCost, formatCount, formatElapsed } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { callApi } from '../session-api.ts'
import { useReader } from '../live.ts'
import { exitReasonText } from '../parts/exit-reason.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { Graph, type GraphProps } from '../runs/graph.tsx'
import { NodePanel } from '../runs/node-panel.tsx'
import { nodeFigures, nodeMark, nodeWhy } from '../runs/node-texts.ts'
import { Times } from '../runs/times.tsx'
import { hasRows, rows, rowSignal, watchList } from '../rows.ts'
import { query, setQuery, type PageProps } from '../router.ts'
import { WideTable } from '../parts/wide-table.tsx'

export function RunsPage({ path: [, run, part, node] }: PageProps): JSX.Element {
  if (run === undefined) return <RunList />
  return (
    <OneRun key={run} run={decodeURIComponent(run)} node={part === 'node' && node !== undefined ? decodeURIComponent(node) : undefined} />
  )
}

function RunList(): JSX.Element {
  const { value, error } = useReader(
    () => watchList() >= 0 && hasRows(),
    'runs',
    async () => (await callApi<RunsView>('/v1/compose?limit=100')).runs,
  )
  const runs = value.value
  return (
    <section class="runs" aria-label="Runs">
      <h2>Runs</h2>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {runs === null ? (
        error.value === null ? (
          <p class="quiet">The runs are being read.</p>
        ) : null
      ) : runs.length === 0 ? (
        <NoRun />
      ) : (
        <RunTable runs={runs} />
      )}
    </section>
  )
}

function NoRun(): JSX.Element {
  return (
    <section class="empty">
      <p>Nothing was run from a reeve.yaml yet. A run starts agents in the order of what they need from each other:</p>
      <CommandLine words={['reeve', 'compose', 'up']} />
    </section>
  )
}

function RunTable({ runs }: { readonly runs: readonly RunView[] }): JSX.Element {
  return (
    <WideTable
      label="All runs"
      titles={['run', 'status', 'nodes', 'time', 'cost', 'what it waits for']}
      numbers={['nodes', 'time', 'cost']}
    >
      <tbody>
        {runs.map((run) => (
          <tr key={run.uuid} data-run={run.name}>
            <th scope="row">
              <a href={`/runs/${run.uuid}`}>{nameOf(run, 'run')}</a>
            </th>
            <td>{run.status}</td>
            <td class="number">
              {countOf(run, 'completed')} of {run.nodes.length}
            </td>
            <td class="number">{formatElapsed(run.elapsedMs)}</td>
            <td class="number">{run.costUsd === 0 ? '-' : formatCost(run.costUsd, run.unpriced)}</td>
            <td>{run.exit ? exitReasonText(run.exit.reason) : visibleText(rows.get(run.uuid)?.why?.text ?? '')}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}

function countOf({ nodes }: RunView, state: string): number {
  return nodes.filter((node) => node.state === state).length
}

/** Watches the rows of a run and its nodes, so that a change of one is seen. Returns whether the first rows have come. */
function watchRun(reference: string): boolean {
  watchList()
  const run = rows.get(reference) ?? [...rows.values()].findLast(({ kind, name }) => kind === 'run' && name === reference)
  for (const { uuid, parent } of rows.values()) if (uuid === run?.uuid || (run && parent === run.uuid)) void rowSignal(uuid).value
  return hasRows()
}

function OneRun({ run: reference, node }: { readonly run: string; readonly node: string | undefined }): JSX.Element {
  const live = useReader(
    () => watchRun(reference),
    `run ${reference}`,
    async () => (await callApi<OneRunView>(`/v1/compose/${encodeURIComponent(reference)}`)).run,
  )
  const run = live.value.value
  if (run === null) return <p class={live.error.value === null ? 'quiet' : 'problem'}>{live.error.value ?? 'The run is being read.'}</p>
  const selected = run.nodes.find(({ name }) => name === node)
  const search = query.value.toString() === '' ? '' : `?${query.value}`
  const addressOf = (name: string): string => `/runs/${encodeURIComponent(reference)}/node/${encodeURIComponent(name)}${search}`
  return (
    <article class="runs" data-uuid={run.uuid} data-status={run.status}>
      <RunHead run={run} />
      {live.error.value === null ? null : <p class="problem">{live.error.value}</p>}
      <Nodes run={run} addressOf={addressOf} selected={selected} />
      {selected ? <NodePanel run={run} node={selected} /> : <Unselected run={run} addressOf={addressOf} />}
    </article>
  )
}

const VIEWS = ['graph', 'table', 'time'] as const

function Nodes(props: GraphProps): JSX.Element {
  switch (query.value.get('view')) {
    case 'table':
      return <NodeTable {...props} />
    case 'time':
      return <Times {...props} selected={props.selected?.name} />
    default:
      return <Graph {...props} />
  }
}

/** While no node is selected: the failed ones with their reasons, as links to what can be done about them. */
function Unselected({ run, addressOf }: Pick<GraphProps, 'run' | 'addressOf'>): JSX.Element {
  const failed = run.nodes.filter(({ state }) => state === 'failed')
  return (
    <>
      {failed.map(({ name, reason }) => (
        <p key={name} class="failed-node" data-failed={name}>
          <a href={addressOf(name)}>{name}</a> failed{reason === null ? '' : `: ${visibleText(reason)}`}
        </p>
      ))}
      <p class="quiet">Choose a node to see why it waits and what can be done.</p>
    </>
  )
}

function RunHead({ run }: { readonly run: RunView }): JSX.Element {
  const row = rowSignal(run.uuid).value
  const view = query.value.get('view') ?? 'graph'
  return (
    <header class="process-head">
      <nav class="ancestors" aria-label="Ancestors">
        <a href="/runs">Runs</a>
      </nav>
      <div class="title">
        <h2>{nameOf(run, 'run')}</h2>
        <span class="status-word">{run.status}</span>
        <span class="quiet">
          {countOf(run, 'completed')} of {formatCount(run.nodes.length, 'node')} · {formatElapsed(run.elapsedMs)}
          {run.costUsd === 0 ? '' : ` · ${formatCost(run.costUsd, run.unpriced)}`} · <a href={`/p/${run.uuid}`}>its process</a>
        </span>
        {row?.budget ? <BudgetBar row={row} /> : null}
        {row ? <ActionBar row={row} /> : null}
      </div>
      <p class="why-line">{run.exit ? `ended: ${exitReasonText(run.exit.reason)}` : visibleText(row?.why?.text ?? run.note ?? '')}</p>
      <p class="buttons" role="group" aria-label="View">
        {VIEWS.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setQuery('view', name === 'graph' ? '' : name)}>
            {name}
          </button>
        ))}
      </p>
    </header>
  )
}

function NodeTable({ run, addressOf }: Pick<GraphProps, 'run' | 'addressOf'>): JSX.Element {
  return (
    <WideTable label="Nodes" titles={['node', 'state', 'needs', 'agent', 'so far', 'why']}>
      <tbody>
        {run.nodes.map((node) => {
          const row = node.process ? rowSignal(node.process.uuid).value : undefined
          const mark = nodeMark(node, row)
          return (
            <tr key={node.name} data-node={node.name}>
              <th scope="row">
                <a href={addressOf(node.name)}>{node.name}</a>
              </th>
              <td class={`status-word ${mark.tone}`}>
                <MarkIcon name={mark.icon} /> {mark.word}
              </td>
              <td>{node.needs.join(', ')}</td>
              <td>{node.process?.agent ?? ''}</td>
              <td>{nodeFigures(node)}</td>
              <td>{nodeWhy(node, run, row)}</td>
            </tr>
          )
        })}
      </tbody>
    </WideTable>
  )
}
