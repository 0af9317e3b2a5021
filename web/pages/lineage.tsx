// The forks of a process and its origins, as a tree: each fork stands below its origin. A fork has its step, its cost, its end and its
// changed settings. The user can compare two of them. Test: test/e2e/web/pages/compare.test.ts.
import type { JSX } from 'preact'
import type { LineageNodeView, LineageView } from '../../src/api/views/lineage.ts'
import { formatCost, formatCount } from '../../src/faces/format.ts'
import { callApi } from '../session-api.ts'
import { commandName, nameOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { useReader } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { KindMark } from '../parts/icons.tsx'
import { NodeMark } from '../compare/node-mark.tsx'
import { hasRows, rowSignal, watchList } from '../rows.ts'
import { query, setQuery, type PageProps } from '../router.ts'

export function LineagePage({ path: [, uuid = ''] }: PageProps): JSX.Element {
  const { value, error } = useReader(
    () => watchList() >= 0 && rowSignal(uuid).value !== null && hasRows(),
    `lineage ${uuid}`,
    () => callApi<LineageView>(`/v1/processes/${encodeURIComponent(uuid)}/lineage`),
  )
  const lineage = value.value
  const own = lineage?.processes.find((process) => process.uuid === uuid)
  return (
    <section class="lineage" aria-label="Forks">
      <nav class="ancestors" aria-label="Ancestors">
        <a href="/">Fleet</a>
        {' / '}
        <a href={`/p/${uuid}`}>{own ? nameOf(own) : 'the process'}</a>
      </nav>
      <h2>Forks</h2>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {lineage === null ? error.value === null ? <p class="quiet">The forks are being read.</p> : null : <Lanes lineage={lineage} />}
      {own ? <CommandLine words={['reeve', 'lineage', commandName(own)]} /> : null}
    </section>
  )
}

/** Each process after its origin, with its depth. */
function Lanes({ lineage: { uuid, processes, truncated } }: { readonly lineage: LineageView }): JSX.Element {
  const depths = new Map<string, number>()
  for (const { uuid: own, originUuid } of processes) depths.set(own, originUuid === null ? 0 : (depths.get(originUuid) ?? -1) + 1)
  const marked = processes.find((process) => process.uuid === query.value.get('mark'))
  return (
    <>
      {processes.length === 1 ? (
        <p class="quiet">It has no forks, and is not a fork. “Fork after this step” under a step of the process makes one.</p>
      ) : null}
      <ul class="lanes-of-forks">
        {processes.map((process) => (
          <Lane key={process.uuid} process={process} depth={depths.get(process.uuid) ?? 0} isOwn={process.uuid === uuid} marked={marked} />
        ))}
      </ul>
      {truncated ? <p class="problem">The tree has more processes than are shown.</p> : null}
    </>
  )
}

interface LaneProps {
  readonly process: LineageNodeView
  readonly depth: number
  readonly isOwn: boolean
  readonly marked: LineageNodeView | undefined
}

function Lane({ process, depth, isOwn, marked }: LaneProps): JSX.Element {
  const { uuid, originUuid, originStep, changed, lastText, exit, model, status } = process
  const isGone = status === 'collected'
  return (
    <li
      class={isOwn ? 'lane-of-fork own' : 'lane-of-fork'}
      style={{ paddingInlineStart: `${0.5 + Math.min(depth, 8) * 1.4}rem` }}
      data-uuid={uuid}
    >
      {originUuid === null ? null : (
        <span class="quiet" title={`a fork after step ${originStep ?? '?'}`}>
          <KindMark name="fork" />
          {originStep ?? '?'}{' '}
        </span>
      )}
      <NodeMark node={process} /> {isGone ? nameOf(process) : <a href={`/p/${uuid}`}>{nameOf(process)}</a>}{' '}
      <span class="number">{formatCount(process.step ?? 0, 'step')}</span>{' '}
      <span class="number">{process.costUsd === 0 ? '' : formatCost(process.costUsd)}</span>{' '}
      <span class="quiet">
        {[
          ...(changed.length > 0 ? [`other ${changed.join(', ')}`] : []),
          ...(model === null ? [] : [model]),
          ...(exit ? [visibleText(exit.reason)] : []),
        ].join(' · ')}
      </span>{' '}
      {lastText === null ? null : <q class="quiet">{visibleText(lastText)}</q>}{' '}
      {isGone ? null : <CompareLinks process={process} marked={marked} />}
    </li>
  )
}

function CompareLinks({ process: { uuid, name, pid, originUuid }, marked }: Pick<LaneProps, 'process' | 'marked'>): JSX.Element {
  const title = nameOf({ name, pid })
  if (marked?.uuid === uuid)
    return (
      <button type="button" aria-pressed="true" onClick={() => setQuery('mark', '')}>
        marked
      </button>
    )
  return (
    <span class="compare-links">
      {originUuid === null || marked ? null : <a href={`/compare/${originUuid}/${uuid}`}>compare with its origin</a>}{' '}
      {marked ? (
        <a href={`/compare/${marked.uuid}/${uuid}`}>
          compare {title} with {nameOf(marked)}
        </a>
      ) : (
        <button type="button" aria-label={`mark ${title} to compare it`} onClick={() => setQuery('mark', uuid)}>
          mark
        </button>
      )}
    </span>
  )
}
