// The machine of the daemon: the daemon itself, the load, memory and disk, the programs that use the most memory. Also the checks of
// `reeve doctor`, the agents, and the directories in use. Test: test/e2e/web/pages/supervisors.test.ts.
import type { JSX } from 'preact'
import type { AgentsView, PlacesView } from '../../src/api/views/agents.ts'
import type { CheckView, DaemonView } from '../../src/api/views/daemon.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import { formatAgo, formatBytes, formatCount, formatDuration, formatElapsed } from '../../src/faces/format.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { callApi } from '../session-api.ts'
import { useRegularReader } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { may } from '../connection-state.ts'
import { WideTable } from '../parts/wide-table.tsx'

interface Machine {
  readonly daemon: DaemonView
  readonly checks: readonly CheckView[]
  /** the living processes */
  readonly processes: readonly LivingProcess[]
  readonly places: PlacesView['places']
  /** null: the session may not see them */
  readonly agents: AgentsView['agents'] | null
}

type LivingProcess = Pick<ProcessView, 'uuid' | 'pid' | 'name' | 'agent' | 'status' | 'usage'>

async function readMachine(): Promise<Machine> {
  const fields = new URLSearchParams({ fields: 'uuid,pid,name,agent,status,usage' })
  const [daemon, { processes }, { checks }, { places }] = await Promise.all([
    callApi<DaemonView>('/v1/daemon'),
    callApi<{ processes: LivingProcess[] }>(`/v1/processes?${fields}`),
    callApi<{ checks: CheckView[] }>('/v1/doctor'),
    callApi<PlacesView>('/v1/places'),
  ])
  const dir = places.find(({ exists }) => exists)?.dir
  const agents =
    may('start') && dir !== undefined ? (await callApi<AgentsView>(`/v1/agents?${new URLSearchParams({ cwd: dir })}`)).agents : null
  return { daemon, processes, checks, places, agents }
}

const INTERVAL_MS = 15_000

export function MachinePage(): JSX.Element {
  const { value, error } = useRegularReader({ everyMs: INTERVAL_MS }, 'machine', readMachine)
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

function Content({ machine: { daemon, processes, checks, places, agents } }: { readonly machine: Machine }): JSX.Element {
  const { live, suspended, max } = daemon.processes
  const figures = [
    ['reeve', `${daemon.reeve}${daemon.build === null ? '' : `, build ${daemon.build}`}`],
    ['runs', formatElapsed(daemonNow() - Date.parse(daemon.startedAt))],
    ['PID', String(daemon.pid)],
    ['containment', daemon.containment],
    ['processes', `${live} live, ${suspended} held, at most ${max}`],
    ['load', loadText(daemon.load)],
    ['memory', memoryText(daemon.memory)],
    ['store', storeText(daemon.disk)],
    ...(daemon.osProcesses === null ? [] : [['OS processes', String(daemon.osProcesses)] as const]),
    ['home', daemon.home],
  ] as const
  const failed = checks.filter(({ ok, optional }) => !ok && optional === undefined).length
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
      <Programs processes={processes} />
      <Table
        title={failed === 0 ? 'Checks' : `Checks, ${failed} failed`}
        titles={['check', 'state', 'detail']}
        rows={checks.toSorted((a, b) => Number(a.ok) - Number(b.ok)).map(checkCells)}
      />
      {agents === null ? null : (
        <Table
          title="Agents"
          titles={['agent', 'state', 'what it is']}
          rows={agents.map(({ name, usable, reason, description }) => [name, usable ? 'usable' : (reason ?? 'not usable'), description])}
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

function loadText({ cores, oneMinute, fiveMinutes, fifteenMinutes }: DaemonView['load']): string {
  return `${[oneMinute, fiveMinutes, fifteenMinutes].map((load) => load.toFixed(1)).join(', ')} of ${formatCount(cores, 'core')}`
}

/** How much memory is free, and how much the daemon and the programs of processes use. */
function memoryText({ totalBytes, availableBytes, programsBytes, daemonBytes }: DaemonView['memory']): string {
  const parts = `programs ${formatBytes(programsBytes)}, the daemon ${formatBytes(daemonBytes)}`
  return `${formatBytes(availableBytes)} free of ${formatBytes(totalBytes)}; ${parts}`
}

function storeText(disk: DaemonView['disk']): string {
  if (disk === null) return 'not known'
  return `${formatBytes(disk.storeBytes)}; ${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`
}

const MAX_PROGRAMS = 10

/** The processes whose programs use the most memory. */
function Programs({ processes }: Pick<Machine, 'processes'>): JSX.Element | null {
  const running = processes.filter(({ usage: { rssBytes } }) => (rssBytes ?? 0) > 0)
  if (running.length === 0) return null
  const sorted = running.toSorted((a, b) => (b.usage.rssBytes ?? 0) - (a.usage.rssBytes ?? 0))
  return (
    <WideTable
      label="Programs"
      heading={
        <h3>
          Programs <span class="quiet">{`of ${formatCount(running.length, 'process')}, by memory`}</span>
        </h3>
      }
      titles={['process', 'agent', 'status', 'memory', 'at most', 'CPU time']}
      numbers={['memory', 'at most', 'CPU time']}
    >
      <tbody>
        {sorted.slice(0, MAX_PROGRAMS).map(({ uuid, pid, name, agent, status, usage }) => (
          <tr key={uuid} data-process={uuid}>
            <th scope="row">
              <a href={`/p/${uuid}`}>{nameOf({ name, pid })}</a>
            </th>
            <td>{agent}</td>
            <td>{status}</td>
            <td class="number">{formatBytes(usage.rssBytes ?? 0)}</td>
            <td class="number">{usage.peakRssBytes === null ? '-' : formatBytes(usage.peakRssBytes)}</td>
            <td class="number">{usage.cpuTimeMs === null ? '-' : formatDuration(usage.cpuTimeMs)}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
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
    <WideTable label={title} heading={<h3>{title}</h3>} titles={titles}>
      <tbody>
        {rows.map(([first = '', state = '', ...rest]) => (
          <tr key={first} data-name={first}>
            <th scope="row">{first}</th>
            <td class={state === 'failed' ? 'problem' : ''}>{state}</td>
            <td class="long">{rest.join(' ')}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}
