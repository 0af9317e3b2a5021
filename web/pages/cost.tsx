// The page of money and tokens over time, by agent, model, label, project, tree or process. Test: test/e2e/web/pages/cost.test.ts.
import type { JSX } from 'preact'
import { costChart, MEASURES } from '../../src/faces/cost-chart.ts'
import { formatLimitUsd } from '../../src/faces/format.ts'
import { useRegularReader } from '../live.ts'
import { Chart } from '../cost/chart.tsx'
import {
  chartRange,
  costCommand,
  costQueryOf,
  hoursOfDay,
  RANGES,
  readCost,
  SPLITS,
  TIMES,
  type CostData,
  type CostQuery,
} from '../cost/cost-query.ts'
import { CostFigures } from '../cost/figures.tsx'
import { csvOf, GroupTable, TimeTable } from '../cost/tables.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { rows, watchList } from '../rows.ts'
import { query, setQuery } from '../router.ts'

/** how often the numbers are read again, in ms */
const INTERVAL_MS = 10_000

export function CostPage(): JSX.Element {
  const wanted = costQueryOf(query.value)
  const { measure: _, ...request } = wanted
  const { value, error } = useRegularReader({ everyMs: INTERVAL_MS }, `cost ${JSON.stringify(request)}`, () => readCost(wanted))
  const data = value.value
  return (
    <section class="cost" aria-label="Cost">
      <h2>Cost</h2>
      <CostControls wanted={wanted} />
      {error.value === null ? null : (
        <p class="problem" role="alert">
          {error.value}
        </p>
      )}
      {data === null ? (
        error.value === null ? (
          <p class="quiet">The usage is being added up.</p>
        ) : null
      ) : (
        <CostContent wanted={wanted} data={data} />
      )}
    </section>
  )
}

function CostContent({ wanted, data }: { readonly wanted: CostQuery; readonly data: CostData }): JSX.Element {
  const { chart: report, table } = data
  const chart = costChart(report, wanted.measure, chartRange(wanted, report))
  const { budgetUsd } = report.home.day
  const isMoneyOfDays = wanted.measure === 'cost' && wanted.by === 'day'
  const open = (time: string): void => Object.entries(hoursOfDay(time, report)).forEach(([name, text]) => setQuery(name, text))
  return (
    <>
      <CostFigures data={data} />
      {report.rows.length === 0 ? (
        <NothingSpent wanted={wanted} />
      ) : (
        <>
          {query.value.get('view') === 'table' ? (
            <TimeTable chart={chart} by={wanted.by} />
          ) : (
            <Chart
              chart={chart}
              line={isMoneyOfDays && budgetUsd !== null ? { value: budgetUsd, text: `${formatLimitUsd(budgetUsd)} a day` } : null}
              onOpen={wanted.by === 'day' ? open : undefined}
            />
          )}
          <GroupTable report={table} query={wanted} />
          <p class="quiet">
            <code>+</code> a lower bound: a price is not known · <code>?</code> no price is known · <code>~</code> partly estimated ·{' '}
            <code>$0.00</code> free · <code>-</code> no model was called
          </p>
        </>
      )}
      {report.unread > 0 ? (
        <p class="problem">{report.unread} records of the store cannot be read, and are in no sum: reeve doctor --verify</p>
      ) : null}
      <CommandLine words={costCommand(wanted)} />
      <p class="buttons">
        <button type="button" onClick={() => saveFile('reeve-usage.csv', csvOf(report))}>
          Save as CSV
        </button>
        <button type="button" onClick={() => saveFile('reeve-usage.json', `${JSON.stringify(report, null, 2)}\n`)}>
          Save as JSON
        </button>
      </p>
    </>
  )
}

function NothingSpent({ wanted }: { readonly wanted: CostQuery }): JSX.Element {
  return (
    <section class="empty">
      <p>No model was called in this time{wanted.under === '' ? '' : ` by ${wanted.under} or below it`}.</p>
      <p class="buttons">
        {wanted.since === 'all' ? null : (
          <button type="button" onClick={() => ['until', 'since'].forEach((name) => setQuery(name, name === 'since' ? 'all' : ''))}>
            All time
          </button>
        )}
        {wanted.under === '' ? null : (
          <button type="button" onClick={() => setQuery('under', '')}>
            All processes
          </button>
        )}
      </p>
    </section>
  )
}

const RANGE_OPTIONS = [...Object.keys(RANGES).map((range) => [range, `the last ${range}`] as const), ['all', 'all time'] as const]
const VIEWS = [
  ['', 'chart'],
  ['table', 'table'],
] as const

function CostControls({ wanted }: { readonly wanted: CostQuery }): JSX.Element {
  const isCustom = wanted.since !== 'all' && RANGES[wanted.since] === undefined
  const ranges = [...(isCustom ? [[wanted.since, `since ${wanted.since.slice(0, 10)}`] as const] : []), ...RANGE_OPTIONS]
  const changeRange = (since: string): void => {
    setQuery('until', '')
    setQuery('since', since)
    if (wanted.by === 'hour' && since !== '24h' && since !== '7d') setQuery('by', 'day')
  }
  return (
    <div class="filter-bar" role="search">
      <Menu name="since" value={wanted.since} options={ranges} onChange={changeRange} />
      <Menu name="by" value={wanted.by} options={TIMES.map((by) => [by, `by ${by}`])} onChange={(by) => setQuery('by', by)} />
      <SplitMenu wanted={wanted} />
      <Menu name="of" value={wanted.measure} options={MEASURES.map((one) => [one, one])} onChange={(of) => setQuery('of', of)} />
      <Menu name="view" value={query.value.get('view') ?? ''} options={VIEWS} onChange={(view) => setQuery('view', view)} />
      <label>
        <span class="hidden">Only this process and all below it</span>
        <input
          type="search"
          name="under"
          placeholder="under: a process"
          value={wanted.under}
          onChange={(event) => setQuery('under', event.currentTarget.value.trim())}
          spellcheck={false}
          autocomplete="off"
        />
      </label>
    </div>
  )
}

/** The groups; each key of a label that a process in the list has is one of them. */
function SplitMenu({ wanted: { split, label } }: { readonly wanted: CostQuery }): JSX.Element {
  watchList()
  const labels = new Set([...(split === 'label' ? [label] : []), ...[...rows.values()].flatMap((row) => Object.keys(row.labels))])
  const options = SPLITS.flatMap((name): (readonly [string, string])[] =>
    name === 'label' ? [...labels].toSorted().map((key) => [`label:${key}`, `split: ${key}`]) : [[name, `split: ${name}`]],
  )
  const change = (value: string): void => {
    setQuery('label', /^label:(.+)$/.exec(value)?.[1] ?? '')
    setQuery('split', value.replace(/:.+$/, ''))
  }
  return <Menu name="split" value={split === 'label' ? `label:${label}` : split} options={options} onChange={change} />
}

interface MenuProps {
  readonly name: string
  readonly value: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onChange: (value: string) => void
}

function Menu({ name, value, options, onChange }: MenuProps): JSX.Element {
  return (
    <label>
      <span class="hidden">{name}</span>
      <select name={name} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Gives the browser a file to save. */
function saveFile(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: name.endsWith('.json') ? 'application/json' : 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
