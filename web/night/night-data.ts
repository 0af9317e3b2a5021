// The data of the night page: the processes that lived in a period, what they did, their costs, and the tasks that crews merged.
// Test: test/e2e/web/pages/night.test.ts.
import type { CrewTaskView, CrewView } from '../../src/api/views/crew.ts'
import type { SpansView } from '../../src/api/views/spans.ts'
import type { UsageBy, UsageReportView, UsageRowView } from '../../src/api/views/usage.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { rows } from '../rows.ts'
import { daemonNow } from '../parts/clock.tsx'
import { leftAt } from './absence.ts'

/** The greatest number of trees whose spans are read. */
const MAX_TREES = 24
/** The greatest number of spans of each tree. */
const MAX_SPANS = 500
const HOUR_MS = 3_600_000
/** The length of each selectable period, in hours. */
export const RANGES: Readonly<Record<string, number>> = { '1h': 1, '4h': 4, '8h': 8, '12h': 12, '24h': 24 }

export interface NightData {
  /** ms since the epoch, by the daemon's clock; also `to` */
  readonly from: number
  readonly to: number
  readonly spans: SpansView['processes']
  /** the number of trees that are left out */
  readonly more: number
  /** by hour; null: the session may not read it */
  readonly usage: UsageReportView | null
  /** the cost of each process in the period, by its UUID */
  readonly costs: ReadonlyMap<string, UsageRowView>
  readonly merged: readonly { readonly crew: string; readonly uuid: string; readonly task: CrewTaskView }[]
}

/**
 * The beginning of the period that an address names, in ms since the epoch by the daemon's clock. A text without a meaning: 8 hours ago.
 */
function periodStart(text: string): number {
  const hours = RANGES[text]
  if (hours !== undefined) return daemonNow() - hours * HOUR_MS
  const at = text === 'left' ? leftAt.value : Date.parse(text)
  return at === null || Number.isNaN(at) ? daemonNow() - 8 * HOUR_MS : at
}

/** Reads what happened since a time; with `under` only of one process and all below it, but merged tasks only of that process. */
export async function readNight(since: string, under: string): Promise<NightData> {
  const [from, to] = [periodStart(since), daemonNow()]
  const roots = [...rows.values()].filter(({ uuid, parent, endedAt }) =>
    under === '' ? (parent === null || !rows.has(parent)) && (endedAt === null || Date.parse(endedAt) >= from) : uuid === under,
  )
  const query = new URLSearchParams({ subtree: '1', since: String(Math.floor(from)), max: String(MAX_SPANS) })
  const newest = roots.toReversed().slice(0, MAX_TREES)
  const trees = await Promise.all(newest.toReversed().map(({ uuid }) => callApi<SpansView>(`/v1/processes/${uuid}/spans?${query}`)))
  // A session of one subtree may not read the usage.
  const readUsage = (by: UsageBy): Promise<UsageReportView | null> =>
    callApi<UsageReportView>(
      `/v1/usage?${new URLSearchParams({ by, since: String(Math.floor(from)), ...(under === '' ? {} : { under }) })}`,
    ).catch(() => null)
  const [usage, byProcess] = await Promise.all([readUsage('hour'), readUsage('process')])
  return {
    from,
    to,
    spans: trees.flatMap(({ processes }) => processes),
    more: roots.length - newest.length,
    usage,
    costs: new Map(byProcess?.rows.map((row) => [row.key, row])),
    merged: await readMerged(from, under),
  }
}

/** The tasks that crews merged since `from`; with `under` only those of this crew. */
async function readMerged(from: number, under: string): Promise<NightData['merged']> {
  const crews = [...rows.values()].filter(
    ({ kind, uuid, endedAt }) => kind === 'crew' && (under === '' || uuid === under) && (endedAt === null || Date.parse(endedAt) >= from),
  )
  const views = await Promise.all(
    crews.map(async ({ uuid, name }) => ({ uuid, name, ...(await callApi<{ crew: CrewView }>(`/v1/crews/${uuid}`)) })),
  )
  return views.flatMap(({ uuid, name, crew }) =>
    crew.tasks
      .filter(({ merged, endedAt }) => merged !== null && endedAt !== null && Date.parse(endedAt) >= from)
      .map((task) => ({ uuid, crew: visibleText(name ?? 'crew'), task })),
  )
}
