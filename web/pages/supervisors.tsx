// The supervisors, and one with its children: who stops and starts with whom, the restarts in the window, and the next start.
// Test: test/e2e/web/pages/supervisors.test.ts.
import type { JSX } from 'preact'
import type { SupervisedView, SupervisorView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount, formatElapsed } from '../../src/faces/format.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { readProcess } from '../actions.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import { useReader } from '../live.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { daemonNow } from '../parts/clock.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { hasRows, rows, rowSignal, watchList } from '../rows.ts'
import type { PageProps } from '../router.ts'

export function SupervisorsPage({ path: [, uuid] }: PageProps): JSX.Element {
  watchList()
  if (!hasRows()) return <p class="quiet">The supervisors are being read.</p>
  if (uuid === undefined) return <SupervisorList />
  const row = rowSignal(uuid).value
  return row ? (
    <OneSupervisor key={uuid} row={row} />
  ) : (
    <p class="problem">This supervisor is not in the list: it was removed, or it ended more than a day ago.</p>
  )
}

function SupervisorList(): JSX.Element {
  const all = [...rows.values()].filter(({ kind }) => kind === 'supervisor')
  return (
    <section class="runs" aria-label="Supervisors">
      <h2>Supervisors</h2>
      {all.length === 0 ? (
        <section class="empty">
          <p>No supervisor is in the list. A supervisor starts its children again when they end:</p>
          <CommandLine words={['reeve', 'run', '-d', '--supervisor', 'NAME']} />
        </section>
      ) : (
        <ul>
          {all.map((row) => (
            <li key={row.uuid}>
              <a href={`/supervisors/${row.uuid}`}>{titleOf(row)}</a> <Mark row={row} /> <span class="quiet">{row.why?.text}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Mark({ row }: { readonly row: RowView }): JSX.Element {
  const mark = markOf(row)
  return (
    <span class={`status-word ${mark.tone}`}>
      <MarkIcon name={markNameOf(row)} /> {mark.word}
    </span>
  )
}

/** Reads the rows of a supervisor and its children, so that a change of one is seen. */
function watchChildren(uuid: string): boolean {
  watchList()
  for (const row of rows.values()) if (row.uuid === uuid || row.parent === uuid) void rowSignal(row.uuid).value
  return hasRows()
}

const STRATEGIES: Readonly<Record<SupervisorView['strategy'], string>> = {
  one_for_one: 'a child is started again alone',
  one_for_all: 'all children stop and start together',
  rest_for_one: 'a child stops and starts with those after it',
}

function OneSupervisor({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useReader(
    () => watchChildren(row.uuid),
    `supervisor ${row.uuid}`,
    () => readProcess(row.uuid),
  )
  const supervisor = value.value?.supervisor
  return (
    <article class="runs" data-uuid={row.uuid}>
      <header class="process-head">
        <nav class="ancestors" aria-label="Ancestors">
          <a href="/supervisors">Supervisors</a>
        </nav>
        <div class="title">
          <h2>{titleOf(row)}</h2>
          <Mark row={row} />
          <a href={`/p/${row.uuid}`}>its process</a>
          <ActionBar row={row} />
        </div>
        {supervisor ? <p class="why-line">{policyText(supervisor)}</p> : null}
        <p class="why-line">{row.why?.text ?? row.exit?.reason ?? ''}</p>
      </header>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {supervisor ? <Children supervisor={supervisor} /> : error.value === null ? <p class="quiet">Its children are being read.</p> : null}
      <CommandLine words={['reeve', 'inspect', commandName(row)]} />
    </article>
  )
}

function policyText({ strategy, maxRestarts, windowMs, backoff }: SupervisorView): string {
  return `${strategy}: ${STRATEGIES[strategy]} · at most ${formatCount(maxRestarts, 'restart')} in ${formatElapsed(windowMs)} · waits ${formatElapsed(backoff.initialMs)} to ${formatElapsed(backoff.maxMs)}`
}

const TITLES = ['child', 'status', 'restart', 'when done', 'restarts in the window', 'next start', 'why'] as const

function Children({ supervisor }: { readonly supervisor: SupervisorView }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="Children in the order of their start">
      <table>
        <thead>
          <tr>
            {TITLES.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {supervisor.children.map((child) => (
            <Child key={child.id} child={child} supervisor={supervisor} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Child({
  child,
  supervisor: { maxRestarts },
}: {
  readonly child: SupervisedView
  readonly supervisor: SupervisorView
}): JSX.Element {
  const row = rowSignal(child.uuid).value
  return (
    <tr data-child={child.id}>
      <th scope="row">
        <a href={row?.kind === 'supervisor' ? `/supervisors/${child.uuid}` : `/p/${child.uuid}`}>{child.id}</a>
      </th>
      <td>{row ? <Mark row={row} /> : (child.status ?? 'ended')}</td>
      <td>{child.restart}</td>
      <td>{child.onComplete ?? '-'}</td>
      <td class={child.restarts >= maxRestarts ? 'number problem' : 'number'}>
        {child.restarts} of {maxRestarts}
      </td>
      <td>{child.nextStart === null ? '-' : `in ${formatElapsed(Date.parse(child.nextStart) - daemonNow())}`}</td>
      <td class="long">{row?.why?.text ?? row?.exit?.reason ?? ''}</td>
    </tr>
  )
}
