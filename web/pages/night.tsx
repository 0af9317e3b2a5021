// What happened since the user left: who worked, waited and was held, as lanes; ends, holds, questions and merges as a list; and the money.
// Test: test/e2e/web/pages/night.test.ts.
import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import { costSigns } from '../../src/faces/cost-chart.ts'
import { formatClock, formatCount, formatElapsed } from '../../src/faces/format.ts'
import { nightOf, type Night, type NightLane } from '../../src/faces/night.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { useReader } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { daemonNow } from '../parts/clock.tsx'
import { leftAt, RANGES, readNight, type NightData } from '../parts/night/night-data.ts'
import { hasRows, rows, rowsWithNeeds, watchList } from '../rows.ts'
import { query, setQuery } from '../router.ts'
import { isStale, now } from '../store.ts'

const INTERVAL_MS = 15_000
const moment = computed(() => (isStale.value ? null : Math.floor(now.value / INTERVAL_MS)))
/** The past is read again as time passes, and not at each change of a row. */
const isLoaded = computed(() => watchList() >= 0 && hasRows())

export function NightPage(): JSX.Element {
  const since = query.value.get('since') ?? (leftAt.value === null ? '8h' : 'left')
  const under = query.value.get('under') ?? ''
  const { value, error } = useReader(
    () => moment.value !== null && isLoaded.value,
    `night ${since} ${since === 'left' ? leftAt.value : ''} ${under}`,
    () => readNight(since, under),
  )
  return (
    <section class="night" aria-label="Night">
      <h2>Since you left</h2>
      <NightControls since={since} under={under} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? (
        error.value === null ? (
          <p class="quiet">The past is being read.</p>
        ) : null
      ) : (
        <NightContent data={value.value} />
      )}
      <CommandLine
        words={['reeve', 'logs', '--since', RANGES[since] === undefined ? '8h' : since, ...(under === '' ? ['--all'] : ['--tree', under])]}
      />
    </section>
  )
}

function NightControls({ since, under }: { readonly since: string; readonly under: string }): JSX.Element {
  watchList()
  const roots = [...rows.values()].filter(({ parent, uuid }) => parent === null || uuid === under)
  const ranges = [
    ...(leftAt.value === null
      ? []
      : [['left', `since you left, ${formatClock(new Date(leftAt.value).toISOString(), now.value)}`] as const]),
    ...Object.keys(RANGES).map((range) => [range, `the last ${range}`] as const),
    ...(since === 'left' || RANGES[since] !== undefined ? [] : [[since, `since ${since}`] as const]),
  ]
  return (
    <div class="filter-bar" role="search">
      <label>
        <span class="hidden">since</span>
        <select name="since" value={since} onChange={(event) => setQuery('since', event.currentTarget.value)}>
          {ranges.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">under</span>
        <select name="under" value={under} onChange={(event) => setQuery('under', event.currentTarget.value)}>
          <option value="">all processes</option>
          {roots.map((row) => (
            <option key={row.uuid} value={row.uuid}>
              {titleOf(row)}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

function NightContent({ data }: { readonly data: NightData }): JSX.Element {
  const night = nightOf(data.spans, data.from, data.to)
  if (night.lanes.length === 0 && night.events.length === 0)
    return (
      <section class="empty">
        <p>Nothing happened in this time.</p>
      </section>
    )
  return (
    <>
      <Summary data={data} night={night} />
      <ul class="swim-lanes" aria-label="Who worked, waited and was held">
        {night.lanes.map((lane) => (
          <Lane key={lane.uuid} lane={lane} />
        ))}
      </ul>
      <p class="lane-axis quiet" aria-hidden="true">
        <span>{formatClock(new Date(data.from).toISOString(), data.to)}</span>
        <span>{formatClock(new Date((data.from + data.to) / 2).toISOString(), data.to)}</span>
        <span>now</span>
      </p>
      <p class="legend-of-lanes quiet">
        <i class="worked" /> worked <i class="asked" /> waited for you <i class="held" /> was held <i class="ready" /> was ready
      </p>
      {data.more > 0 ? <p class="quiet">{formatCount(data.more, 'older tree')} not shown.</p> : null}
      <Events night={night} merged={data.merged} />
    </>
  )
}

function Summary({ data, night: { events } }: { readonly data: NightData; readonly night: Night }): JSX.Element {
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length
  const parts = (
    [
      [count('completed'), 'completed'],
      [count('failed'), 'failed'],
      [count('stopped'), 'stopped'],
      [count('held'), 'held'],
      [count('asked'), 'asked'],
      [data.merged.length, 'merged'],
    ] as const
  ).flatMap(([number, word]) => (number === 0 ? [] : [`${number} ${word}`]))
  const needs = rowsWithNeeds.value.size
  return (
    <p class="summary">
      <strong>{parts.length === 0 ? 'Nothing ended, asked or was held' : parts.join(' · ')}</strong>
      {data.usage === null ? '' : ` · ${costSigns(data.usage.total)}`} · {formatElapsed(data.to - data.from)}
      {needs === 0 ? null : (
        <>
          {' · '}
          <a href="/">{formatCount(needs, 'process')} need you now</a>
        </>
      )}
    </p>
  )
}

const CLASS_OF: Readonly<Record<NightLane['parts'][number]['word'], string>> = {
  worked: 'worked',
  'waited for you': 'asked',
  'was held': 'held',
  'was ready': 'ready',
  'had ended': 'ended',
}

/** the least width of a part, in thousandths of the lane, so that a short part can be seen */
const MIN_PART = 2

function Lane({ lane: { uuid, name, depth, parts, worked, waited } }: { readonly lane: NightLane }): JSX.Element {
  const sums = [
    ...(worked > 0 ? [`worked ${formatElapsed(worked)}`] : []),
    ...(waited > 0 ? [`waited for you ${formatElapsed(waited)}`] : []),
  ].join(', ')
  return (
    <li class="swim-lane" data-uuid={uuid}>
      <a href={`/p/${uuid}`} style={{ paddingInlineStart: `${Math.min(depth, 6)}rem` }}>
        {name}
      </a>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={`${name}: ${sums === '' ? 'nothing' : sums}`}>
        {parts.map(({ word, from, to, text }) => {
          const width = Math.max(MIN_PART, 1000 * (to - from))
          return (
            <rect key={from} class={CLASS_OF[word]} x={Math.min(1000 * from, 1000 - width)} width={width} height="10">
              <title>{text}</title>
            </rect>
          )
        })}
      </svg>
    </li>
  )
}

function Events({ night: { events }, merged }: { readonly night: Night; readonly merged: NightData['merged'] }): JSX.Element {
  const merges = merged.map(({ uuid, crew, task }) => ({
    at: task.endedAt ?? '',
    uuid,
    name: crew,
    kind: 'merged',
    text: `${task.id}: ${task.title}, ${(task.merged ?? '').slice(0, 7)}`,
  }))
  const all = [...events, ...merges].toSorted((a, b) => (a.at < b.at ? 1 : -1))
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="What happened">
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            <th scope="col">process</th>
            <th scope="col">what</th>
          </tr>
        </thead>
        <tbody>
          {all.map(({ at, uuid, name, kind, text }) => (
            <tr key={`${at} ${uuid} ${kind}`} data-kind={kind}>
              <td class="number">{formatClock(at, daemonNow())}</td>
              <th scope="row">
                <a href={`/p/${uuid}`}>{name}</a>
              </th>
              <td class="long">
                <span class={kind === 'failed' ? 'problem' : ''}>{kind}</span>
                {text === '' || text === kind ? '' : `: ${text}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
