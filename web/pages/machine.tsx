// This machine: the daemon, the checks of `reeve doctor`, the agents that can be run, and the directories in use.
// Test: test/e2e/web/pages/supervisors.test.ts.
import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import type { AgentsView, PlacesView } from '../../src/api/views/agents.ts'
import type { CheckView, DaemonView } from '../../src/api/views/daemon.ts'
import { formatAgo, formatElapsed } from '../../src/faces/format.ts'
import { callApi } from '../actions.ts'
import { useReader } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { isStale, may, now } from '../store.ts'

interface Machine {
  readonly daemon: DaemonView
  readonly checks: readonly CheckView[]
  readonly places: PlacesView['places']
  /** null: the session may not see them */
  readonly agents: AgentsView['agents'] | null
}

async function readMachine(): Promise<Machine> {
  const [daemon, { checks }, { places }] = await Promise.all([
    callApi<DaemonView>('/v1/daemon'),
    callApi<{ checks: CheckView[] }>('/v1/doctor'),
    callApi<PlacesView>('/v1/places'),
  ])
  const dir = places.find(({ exists }) => exists)?.dir
  const agents =
    may('start') && dir !== undefined ? (await callApi<AgentsView>(`/v1/agents?${new URLSearchParams({ cwd: dir })}`)).agents : null
  return { daemon, checks, places, agents }
}

const INTERVAL_MS = 60_000
const moment = computed(() => (isStale.value ? null : Math.floor(now.value / INTERVAL_MS)))

export function MachinePage(): JSX.Element {
  const { value, error } = useReader(() => moment.value !== null, 'machine', readMachine)
  const machine = value.value
  return (
    <section class="runs" aria-label="Machine">
      <h2>Machine</h2>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {machine === null ? error.value === null ? <p class="quiet">The daemon is being asked.</p> : null : <Content machine={machine} />}
      <CommandLine words={['reeve', 'doctor']} />
    </section>
  )
}

function Content({ machine: { daemon, checks, places, agents } }: { readonly machine: Machine }): JSX.Element {
  const { live, suspended, max } = daemon.processes
  const figures = [
    ['reeve', `${daemon.reeve}${daemon.build === null ? '' : `, build ${daemon.build}`}`],
    ['runs', formatElapsed(daemonNow() - Date.parse(daemon.startedAt))],
    ['PID', String(daemon.pid)],
    ['containment', daemon.containment],
    ['processes', `${live} live, ${suspended} held, at most ${max}`],
    ['home', daemon.home],
  ] as const
  return (
    <>
      <dl class="figures">
        {figures.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Table title="Checks" titles={['check', 'state', 'detail']} rows={checks.map(checkCells)} />
      {agents === null ? null : (
        <Table
          title="Agents"
          titles={['agent', 'state', 'what it is']}
          rows={agents.map(({ name, usable, reason, description, install }) => [
            name,
            usable ? 'usable' : (reason ?? 'not usable'),
            install ?? description,
          ])}
        />
      )}
      <Table
        title="Directories"
        titles={['directory', 'processes', 'last used']}
        rows={places.map(({ dir, exists, living, processes, lastUsedAt, trusted }) => [
          `${dir}${exists ? '' : ' (gone)'}${trusted ? ' (trusted)' : ''}`,
          `${living} living of ${processes}`,
          formatAgo(daemonNow() - Date.parse(lastUsedAt)),
        ])}
      />
    </>
  )
}

function checkCells({ name, ok, optional, detail, hint }: CheckView): readonly string[] {
  return [name, ok ? 'ok' : optional ? 'missing, optional' : 'failed', hint === undefined || ok ? detail : `${detail}. ${hint}`]
}

interface TableProps {
  readonly title: string
  readonly titles: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function Table({ title, titles, rows }: TableProps): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={title}>
      <h3>{title}</h3>
      <table>
        <thead>
          <tr>
            {titles.map((one) => (
              <th key={one} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first = '', state = '', ...rest]) => (
            <tr key={first} data-name={first}>
              <th scope="row">{first}</th>
              <td class={state === 'failed' ? 'problem' : ''}>{state}</td>
              <td class="long">{rest.join(' ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
