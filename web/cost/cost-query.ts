// The query of the cost page, which is its address. Also the requests for its data, and the command that prints the same table.
// Test: test/e2e/web/pages/cost.test.ts.
import type { UsageBy, UsageRateView, UsageReportView } from '../../src/api/views/usage.ts'
import { MEASURES, type Measure } from '../../src/faces/cost-chart.ts'
import { callApi } from '../session-api.ts'
import { daemonNow } from '../parts/clock.tsx'
import { utcOffsetMs } from './utc-offset.ts'

export const SPLITS = ['agent', 'model', 'label', 'project', 'tree', 'process'] as const satisfies readonly UsageBy[]
/** the length of a column of the chart */
export const TIMES = ['day', 'hour'] as const
/** the time ranges of the menu, in hours */
export const RANGES: Readonly<Record<string, number>> = { '24h': 24, '7d': 168, '30d': 720, '90d': 2_160, '365d': 8_760 }
const HOUR_MS = 3_600_000

export interface CostQuery {
  readonly by: (typeof TIMES)[number]
  readonly split: (typeof SPLITS)[number]
  /** the key of the label by which `split` groups; empty: none */
  readonly label: string
  /** a range of the menu, a time, or `all` */
  readonly since: string
  /** a time; empty: up to now */
  readonly until: string
  /** the process whose tree counts; empty: all processes count */
  readonly under: string
  readonly measure: Measure
}

export interface CostData {
  readonly chart: UsageReportView
  readonly table: UsageReportView
  readonly rate: UsageRateView
}

export function costQueryOf(query: URLSearchParams): CostQuery {
  const text = (name: string): string => query.get(name) ?? ''
  return {
    by: TIMES.find((name) => name === text('by')) ?? 'day',
    split: SPLITS.find((name) => name === text('split') && (name !== 'label' || text('label') !== '')) ?? 'model',
    label: text('label'),
    since: text('since') || '30d',
    until: text('until'),
    under: text('under'),
    measure: MEASURES.find((name) => name === text('of')) ?? 'cost',
  }
}

export async function readCost(query: CostQuery): Promise<CostData> {
  const { by, split, label, until, under } = query
  const since = sinceOf(query)
  const common = {
    ...(split === 'label' ? { label } : {}),
    ...(since === null ? {} : { since }),
    ...(until === '' ? {} : { until }),
    ...(under === '' ? {} : { under }),
  }
  const [chart, table, rate] = await Promise.all([
    callApi<UsageReportView>(`/v1/usage?${new URLSearchParams({ ...common, by: `${by},${split}` })}`),
    callApi<UsageReportView>(`/v1/usage?${new URLSearchParams({ ...common, by: split })}`),
    callApi<UsageRateView>('/v1/usage/rate'),
  ])
  return { chart, table, rate }
}

/** The start of the time range as the API takes it; null: all usage. */
function sinceOf({ since }: CostQuery): string | null {
  if (since === 'all') return null
  const hours = RANGES[since]
  return hours === undefined ? since : String(daemonNow() - hours * HOUR_MS)
}

/** The day or hour of a time on the daemon's clock, as the rows of a report name it. */
function timeKey(at: number, by: CostQuery['by'], report: UsageReportView): string {
  const iso = new Date(at + utcOffsetMs(report)).toISOString()
  return by === 'day' ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 13)}:00`
}

/** The first and the last time of the chart; the last one is now, unless the query has an end. */
export function chartRange(query: CostQuery, report: UsageReportView): { readonly from?: string; readonly to: string } {
  const until = report.until === null ? daemonNow() : Date.parse(report.until) - 1
  return {
    ...(report.since === null ? {} : { from: timeKey(Date.parse(report.since), query.by, report) }),
    to: timeKey(until, query.by, report),
  }
}

/** The hours of one day, as changes of the address. */
export function hoursOfDay(day: string, report: UsageReportView): Readonly<Record<'by' | 'since' | 'until', string>> {
  const from = Date.parse(`${day}T00:00Z`) - utcOffsetMs(report)
  return { by: 'hour', since: new Date(from).toISOString(), until: new Date(from + 24 * HOUR_MS).toISOString() }
}

/** The command that prints the usage by time and group. It has no flag for the measure: its table has all of them. */
export function costCommand({ by, split, label, since, until, under }: CostQuery): string[] {
  return [
    'reeve',
    'usage',
    '--by',
    `${by},${split === 'label' ? `label:${label}` : split}`,
    ...(since === 'all' ? [] : ['--since', since]),
    ...(until === '' ? [] : ['--until', until]),
    ...(under === '' ? [] : [under]),
  ]
}
