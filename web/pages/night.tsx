// What happened since the user left, or in another period. Lanes show when each process worked, waited and was held. A list has the ends,
// holds, questions and merges. Also the cost. Test: test/e2e/web/pages/night.test.ts.
import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import type { UsageRowView } from '../../src/api/views/usage.ts'
import { costWithSigns } from '../../src/faces/cost-chart.ts'
import { formatClock, formatCount, formatElapsed } from '../../src/faces/format.ts'
import { activityIn, spentInPeriod, type PeriodActivity, type PeriodEvent, type ProcessLane } from '../../src/faces/lanes/period.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { ticksOf, timeAxis } from '../../src/faces/time-axis.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { isNarrow } from '../frame/narrow.ts'
import { useRegularReader } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { daemonNow } from '../parts/clock.tsx'
import { utcOffsetMs } from '../cost/utc-offset.ts'
import { LaneBar, LaneLegend, LaneTicks } from '../night/lane-bar.tsx'
import { leftAt } from '../night/absence.ts'
import { RANGES, readNight, type NightData } from '../night/night-data.ts'
import { hasRows, rows, rowsWithNeeds, watchList } from '../rows.ts'
import { query, setQuery } from '../router.ts'
import { now } from '../connection-state.ts'
import { WideTable } from '../parts/wide-table.tsx'

/** The past is read at intervals, not at each change of a row. */
const INTERVAL_MS = 15_000
const isLoaded = computed(() => watchList() >= 0 && hasRows())

export function NightPage(): JSX.Element {
  const since = query.value.get('since') ?? (leftAt.value === null ? '8h' : 'left')
  const under = query.value.get('under') ?? ''
  const { value, error } = useRegularReader(
    { everyMs: INTERVAL_MS, when: () => isLoaded.value },
    `night ${since} ${since === 'left' ? leftAt.value : ''} ${under}`,
    () => readNight(since, under),
  )
  return (
    <section class="night" aria-label="Night">
      <h2>{titleOfTime(since)}</h2>
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

function titleOfTime(since: string): string {
  if (since === 'left') return 'Since you left'
  return RANGES[since] === undefined ? `Since ${since}` : `The last ${since}`
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
  const night = activityIn(data.spans, data.from, data.to)
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
          <Lane key={lane.uuid} lane={lane} cost={data.costs.get(lane.uuid)} />
        ))}
      </ul>
      <Spent data={data} />
      <LaneTicks ticks={clockTicks(data)} />
      <LaneLegend words={['worked', 'waited for you', 'was held', 'was ready']} />
      {data.more > 0 ? <p class="quiet">{formatCount(data.more, 'older tree')} not shown.</p> : null}
      <Events night={night} merged={data.merged} />
    </>
  )
}

/** What happened and how often. A click shows only these in the list. */
function Summary({ data, night }: { readonly data: NightData; readonly night: PeriodActivity }): JSX.Element {
  const counts = Map.groupBy(listOf(night, data.merged), ({ kind }) => kind)
  const needs = rowsWithNeeds.value.size
  const chosen = query.value.get('kind')
  return (
    <div class="summary">
      {counts.size === 0 ? <strong>Nothing ended, asked or was held</strong> : null}
      <span class="buttons" role="group" aria-label="What happened">
        {KINDS.flatMap((kind) => {
          const number = counts.get(kind)?.length ?? 0
          return number === 0 && chosen !== kind
            ? []
            : [
                <button
                  key={kind}
                  type="button"
                  data-count={kind}
                  aria-pressed={chosen === kind}
                  onClick={() => setQuery('kind', chosen === kind ? '' : kind)}
                >
                  {number} {kind}
                </button>,
              ]
        })}
      </span>
      <span>
        {data.usage === null ? '' : `${costWithSigns(data.usage.total)} · `}
        {formatElapsed(data.to - data.from)}, since {formatClock(new Date(data.from).toISOString(), data.to)}
      </span>
      {needs === 0 ? null : (
        <a href="/needs">
          {formatCount(needs, 'process')} {needs === 1 ? 'needs' : 'need'} you now
        </a>
      )}
    </div>
  )
}

interface LaneProps {
  readonly lane: ProcessLane
  /** what the process spent in the time; absent: nothing, or it is not known */
  readonly cost: UsageRowView | undefined
}

function Lane({ lane: { uuid, name, depth, parts, workedMs, waitedMs }, cost }: LaneProps): JSX.Element {
  const sums = [
    ...(workedMs > 0 ? [`worked ${formatElapsed(workedMs)}`] : []),
    ...(waitedMs > 0 ? [`waited for you ${formatElapsed(waitedMs)}`] : []),
  ].join(', ')
  const task = rows.get(uuid)?.task ?? null
  return (
    <li class="swim-lane" data-uuid={uuid}>
      <a href={`/p/${uuid}`} style={{ paddingInlineStart: `${Math.min(depth, 6)}rem` }} title={sums}>
        {name}{' '}
        <span class="quiet">{[...(task === null ? [] : [visibleText(task)]), ...(cost ? [costWithSigns(cost)] : [])].join(' · ')}</span>
      </a>
      <LaneBar parts={parts} label={`${name}: ${sums === '' ? 'nothing' : sums}`} />
    </li>
  )
}

/** How the cost has grown, below the lanes. */
function Spent({ data: { usage, from, to } }: { readonly data: NightData }): JSX.Element | null {
  const points = usage === null ? [] : spentInPeriod(usage.rows, utcOffsetMs(usage), { from, to })
  const all = points.at(-1)?.usd ?? 0
  if (usage === null || all === 0) return null
  const line = points.map(({ at, usd }) => `${1000 * at},${20 - (19 * usd) / all}`).join(' ')
  return (
    <div class="swim-lane spent">
      <span>
        money <span class="quiet">{costWithSigns(usage.total)}</span>
      </span>
      <svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label={`The cost grew to ${costWithSigns(usage.total)}`}>
        <polygon points={`0,20 ${line} 1000,20`} />
      </svg>
    </div>
  )
}

const MINUTE_MS = 60_000
/** The most ticks of the axis: on a phone fewer texts stand beside each other. */
const TICKS = { narrow: 3, wide: 10 } as const

function clockTicks({ from, to }: NightData): { readonly at: number; readonly text: string }[] {
  const times = ticksOf(timeAxis(from, to, []), 0, to - from, isNarrow.value ? TICKS.narrow : TICKS.wide)
  // Ticks within one minute would have the same text without their seconds.
  const hasSeconds = times.some((time) => time % MINUTE_MS !== 0)
  return times.map((time) => ({
    at: (time - from) / (to - from),
    text: formatClock(new Date(time).toISOString(), time).slice(0, hasSeconds ? 8 : 5),
  }))
}

const KINDS = ['completed', 'failed', 'interrupted', 'stopped', 'held', 'asked', 'continued', 'merged'] as const

/** An event of the list, with the page that shows it. */
interface ListedEvent extends Omit<PeriodEvent, 'kind'> {
  readonly kind: (typeof KINDS)[number]
  readonly to: string
}

/** The events and the merges, the newest first. */
function listOf({ events }: PeriodActivity, merged: NightData['merged']): ListedEvent[] {
  const shown = events.map((event): ListedEvent => ({ ...event, to: `/p/${event.uuid}` }))
  const merges = merged.map(({ uuid, crew, task }): ListedEvent => ({
    at: task.endedAt ?? '',
    uuid,
    name: crew,
    kind: 'merged',
    text: `${task.id}: ${task.title}, ${(task.merged ?? '').slice(0, 7)}`,
    to: `/p/${uuid}/board/${task.id}`,
    isLastAsk: false,
  }))
  return [...shown, ...merges].toSorted((a, b) => (a.at < b.at ? 1 : -1))
}

function Events({ night, merged }: { readonly night: PeriodActivity; readonly merged: NightData['merged'] }): JSX.Element {
  const kind = query.value.get('kind')
  const all = listOf(night, merged).filter((event) => kind === null || event.kind === kind)
  return (
    <WideTable label="What happened" titles={['time', 'process', 'what']} numbers={['time']}>
      <tbody>
        {all.map(({ at, uuid, name, kind: what, text, to, isLastAsk }) => (
          <tr key={`${at} ${uuid} ${what} ${text}`} data-kind={what}>
            <td class="number">{formatClock(at, daemonNow())}</td>
            <th scope="row">
              <a href={to}>{name}</a>
            </th>
            <td class="long">
              <span class={what === 'failed' || what === 'interrupted' ? 'problem' : ''}>{what}</span>
              {text === '' || text === what ? '' : `: ${visibleText(text)}`}
              {isLastAsk && (rows.get(uuid)?.asks ?? 0) > 0 ? (
                <>
                  {' · '}
                  <a href={`/p/${uuid}`}>still open</a>
                </>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}
