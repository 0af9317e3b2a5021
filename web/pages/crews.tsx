// The crews: how far each is and what it waits for, and a form that starts one. A crew itself is the page of its process.
// Test: test/e2e/web/pages/crews.test.ts.
import type { JSX } from 'preact'
import type { CrewsView, CrewView } from '../../src/api/views/crew.ts'
import { formatCost, formatElapsed } from '../../src/faces/format.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { callApi } from '../session-api.ts'
import { StartCrew } from '../crew/start.tsx'
import { useReader } from '../live.ts'
import { exitReasonText } from '../parts/exit-reason.ts'
import { MarkIcon } from '../parts/icons.tsx'
import { hasRows, rows, rowSignal, watchList } from '../rows.ts'
import type { PageProps } from '../router.ts'
import { may } from '../connection-state.ts'
import { WideTable } from '../parts/wide-table.tsx'

export function CrewsPage({ path: [, part] }: PageProps): JSX.Element {
  if (part === 'start') return <StartCrew />
  return <CrewList {...(part === undefined ? {} : { name: decodeURIComponent(part) })} />
}

/** Watches the rows of all crews, so that a change of one is seen. Returns whether the first rows have come. */
function watchCrews(): boolean {
  watchList()
  for (const { uuid, kind } of rows.values()) if (kind === 'crew') void rowSignal(uuid).value
  return hasRows()
}

/** All crews, or those of one name. */
function CrewList({ name }: { readonly name?: string }): JSX.Element {
  const { value, error } = useReader(watchCrews, 'crews', async () => (await callApi<CrewsView>('/v1/crews?all=1')).crews)
  const crews = value.value?.filter((crew) => name === undefined || crew.name === name || crew.uuid === name)
  return (
    <section class="runs" aria-label="Crews">
      <div class="title">
        <h2>Crews</h2>
        {name === undefined ? null : <a href="/crews">All crews</a>}
        {may('start') ? (
          <a class="button" href="/crews/start">
            Start a crew …
          </a>
        ) : null}
      </div>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {crews === undefined ? (
        error.value === null ? (
          <p class="quiet">The crews are being read.</p>
        ) : null
      ) : crews.length === 0 ? (
        <p class="quiet">There is no crew. A crew is several agents that work on a list of tasks, with reviews and commits.</p>
      ) : (
        <CrewTable crews={crews} />
      )}
    </section>
  )
}

function CrewTable({ crews }: { readonly crews: readonly CrewView[] }): JSX.Element {
  return (
    <WideTable
      label="All crews"
      titles={['crew', 'status', 'tasks', 'members', 'time', 'cost', 'what it waits for']}
      numbers={['tasks', 'members', 'time', 'cost']}
    >
      <tbody>
        {crews.toReversed().map((crew) => (
          <CrewLine key={crew.uuid} crew={crew} />
        ))}
      </tbody>
    </WideTable>
  )
}

function CrewLine({ crew }: { readonly crew: CrewView }): JSX.Element {
  const { uuid, pid, name, status, tasks, members, elapsedMs, costUsd, unpriced, exit, waitsFor, note } = crew
  const row = rowSignal(uuid).value
  const mark = row === undefined ? null : markOf(row)
  return (
    <tr data-crew={name ?? pid}>
      <th scope="row">
        <a href={`/p/${uuid}`}>{nameOf({ name, pid }, 'crew')}</a>
      </th>
      <td class={mark?.tone ?? ''}>
        {row === undefined ? null : (
          <span class="mark">
            <MarkIcon name={markNameOf(row)} />{' '}
          </span>
        )}
        {mark?.word ?? status}
      </td>
      <td class="number">
        {tasks.filter(({ state }) => state === 'done').length} of {tasks.length}
      </td>
      <td class="number">{members.filter(({ state }) => state !== 'gone').length}</td>
      <td class="number">{formatElapsed(elapsedMs)}</td>
      <td class="number">{costUsd === 0 ? '-' : formatCost(costUsd, unpriced)}</td>
      <td class="long">{exit ? exitReasonText(exit.reason) : visibleText(waitsFor.join(' · ') || (note ?? ''))}</td>
    </tr>
  )
}
