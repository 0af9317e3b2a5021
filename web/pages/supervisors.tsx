// The supervisors, and one with its children: who stops and starts with whom, the restarts in the window, and the next start.
// Test: test/e2e/web/pages/supervisors.test.ts.
import type { JSX } from 'preact'
import type { SupervisedView, SupervisorView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatAgo, formatClock, formatElapsed, treeCostText } from '../../src/faces/format.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { readEvents, readProcess } from '../session-api.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import {
  giveUpTexts,
  HISTORY_EVENTS,
  policyText,
  restartWindow,
  supervisorHistory,
  type SupervisorEvent,
} from '../../src/faces/restart-window.ts'
import { useReader } from '../live.ts'
import { exitReasonText } from '../parts/exit-reason.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { daemonNow } from '../parts/clock.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { hasRows, rows, rowSignal, watchList } from '../rows.ts'
import type { PageProps } from '../router.ts'
import { WideTable } from '../parts/wide-table.tsx'

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
        <WideTable
          label="All supervisors"
          titles={['supervisor', 'status', 'living below', 'cost', 'why']}
          numbers={['living below', 'cost']}
        >
          <tbody>
            {all.map(({ uuid }) => (
              <SupervisorLine key={uuid} uuid={uuid} />
            ))}
          </tbody>
        </WideTable>
      )}
    </section>
  )
}

function SupervisorLine({ uuid }: { readonly uuid: string }): JSX.Element | null {
  const row = rowSignal(uuid).value
  if (!row) return null
  return (
    <tr data-supervisor={row.name ?? row.pid}>
      <th scope="row">
        <a href={`/supervisors/${uuid}`}>{titleOf(row)}</a>
      </th>
      <td>
        <Mark row={row} />
      </td>
      <td class="number">{Math.max(0, row.sub.live - (row.endedAt === null ? 1 : 0))}</td>
      <td class="number">{treeCostText(row) || '-'}</td>
      <td class="long">{row.why?.text ?? (row.exit ? exitReasonText(row.exit.reason) : '')}</td>
    </tr>
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

/** Watches the rows of a supervisor and its children, so that a change of one is seen. Returns whether the first rows have come. */
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

/** the number of restarts that are shown at most */
const MAX_HISTORY = 100

interface WholeSupervisor {
  readonly supervisor: SupervisorView | null
  readonly history: readonly SupervisorEvent[]
}

async function readSupervisor(uuid: string): Promise<WholeSupervisor> {
  const [{ supervisor }, events] = await Promise.all([
    readProcess(uuid),
    readEvents(uuid, `tail=${MAX_HISTORY}&types=${HISTORY_EVENTS.join()}`),
  ])
  return { supervisor, history: supervisorHistory(events) }
}

function OneSupervisor({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useReader(
    () => watchChildren(row.uuid),
    `supervisor ${row.uuid}`,
    () => readSupervisor(row.uuid),
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
          {row.budget ? <BudgetBar row={row} /> : null}
          <ActionBar row={row} />
        </div>
        {supervisor ? (
          <p class="why-line">
            {supervisor.strategy}: {STRATEGIES[supervisor.strategy]} · {policyText(supervisor)}
          </p>
        ) : null}
        <p class="why-line">{row.why?.text ?? (row.exit ? exitReasonText(row.exit.reason) : '')}</p>
      </header>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {supervisor ? (
        <Children supervisor={supervisor} history={value.value?.history ?? []} />
      ) : error.value === null ? (
        <p class="quiet">Its children are being read.</p>
      ) : null}
      <CommandLine words={['reeve', 'inspect', commandName(row)]} />
    </article>
  )
}

const TITLES = ['child', 'status', 'restart', 'when done', 'restarts in the window', 'next start', 'failed last with', 'now'] as const

interface ChildrenProps {
  readonly supervisor: SupervisorView
  readonly history: readonly SupervisorEvent[]
}

function Children({ supervisor, history }: ChildrenProps): JSX.Element {
  return (
    <>
      <WideTable label="Children in the order of their start" titles={TITLES}>
        <tbody>
          {supervisor.children.map((child) => (
            <Child
              key={child.id}
              child={child}
              supervisor={supervisor}
              cause={history.find(({ id, cause }) => id === child.id && cause !== null)?.cause ?? null}
            />
          ))}
        </tbody>
      </WideTable>
      {giveUpTexts(supervisor.children, supervisor, daemonNow()).map((text) => (
        <p key={text} class="problem">
          {text}
        </p>
      ))}
      <History history={history} />
    </>
  )
}

function History({ history }: Pick<ChildrenProps, 'history'>): JSX.Element | null {
  if (history.length === 0) return null
  return (
    <WideTable label="Restarts" heading={<h3>Restarts</h3>} titles={['time', 'child', 'what', 'because of']}>
      <tbody>
        {history.map(({ seq, at, id, kind, cause, text }) => (
          <tr key={seq} data-kind={kind}>
            <td>{formatClock(at, daemonNow())}</td>
            <th scope="row">{id}</th>
            <td>
              <span class={kind === 'restarted' ? '' : 'problem'}>{kind}</span>
              {text === '' ? '' : `, ${text}`}
            </td>
            <td class="long">{cause ?? '-'}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}

interface ChildProps {
  readonly child: SupervisedView
  readonly supervisor: SupervisorView
}

function Child({ child, supervisor, cause }: ChildProps & { readonly cause: string | null }): JSX.Element {
  const row = rowSignal(child.uuid).value
  return (
    <tr data-child={child.id}>
      <th scope="row">
        <a href={row?.kind === 'supervisor' ? `/supervisors/${child.uuid}` : `/p/${child.uuid}`}>{child.id}</a>
      </th>
      <td>{row ? <Mark row={row} /> : (child.status ?? 'ended')}</td>
      <td>{child.restart}</td>
      <td>{child.onComplete ?? '-'}</td>
      <td>
        <Restarts child={child} supervisor={supervisor} />
      </td>
      <td>{nextStartText(child)}</td>
      <td class="long">{cause ?? '-'}</td>
      <td class="long">{row?.why?.text ?? (row?.exit ? exitReasonText(row.exit.reason) : '')}</td>
    </tr>
  )
}

/** The restarts as marks on a line, which ends now. */
function Restarts({ child, supervisor }: ChildProps): JSX.Element {
  const { marks, text, isFull } = restartWindow(child, supervisor, daemonNow())
  const last = child.restartedAt.at(-1)
  const label = `${text} restarts in the last ${formatElapsed(supervisor.windowMs)}${last === undefined ? '' : `, the last one ${formatAgo(daemonNow() - Date.parse(last))}`}`
  return (
    <span class={isFull ? 'restart-window full' : 'restart-window'} title={label}>
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={label}>
        <rect class="track" y="5" width="100" height="2" />
        {marks.map((at, index) => (
          <rect key={index} class="mark-of-restart" x={Math.min(98.5, 98.5 * at)} width="1.5" height="12" />
        ))}
      </svg>{' '}
      <span class="number">{text}</span>
    </span>
  )
}

function nextStartText({ nextStart }: SupervisedView): string {
  if (nextStart === null) return '-'
  const inMs = Date.parse(nextStart) - daemonNow()
  return `${inMs <= 0 ? 'now' : `in ${formatElapsed(inMs)}`}, at ${formatClock(nextStart, daemonNow())}`
}
