// Arranges a usage report for a chart: a column for each day or hour, with parts for the largest groups. Also formats costs with their
// signs, and names groups. Pure. Test: test/tables/faces/cost-chart.test.ts.
import { costCell, formatLimitUsd, formatTokens } from './format.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../api/views/usage.ts'
import { visibleText } from './visible-text.ts'

/** What the height of a column means. */
export const MEASURES = ['cost', 'tokens', 'steps'] as const
export type Measure = (typeof MEASURES)[number]

/** One of the largest groups, or all others together. */
export interface ChartSeries {
  /** null: all other groups */
  readonly key: string | null
  readonly name: string
}

export interface ChartColumn {
  /** a day or an hour, such as `2026-11-24` or `2026-11-24 09:00` */
  readonly time: string
  /** one value for each series */
  readonly values: readonly number[]
  readonly value: number
  /** the values and the sum as text, with their signs */
  readonly text: string
}

export interface CostChart {
  readonly series: readonly ChartSeries[]
  readonly columns: readonly ChartColumn[]
  /** the marks of the axis, from 0 to at least the highest column */
  readonly ticks: readonly { readonly value: number; readonly text: string }[]
}

type Sum = Omit<UsageSumView, 'processes'>

/** The number of largest groups. If only one more group exists, it is among them. */
const MAX_SERIES = 5
/** A chart of more times than this shows the last ones only. */
const MAX_COLUMNS = 400
const HOUR_MS = 3_600_000

/** A cost with its signs: `?` not known, `-` no model was called, `+` a lower bound, `~` partly estimated. */
export function costWithSigns(sum: Pick<UsageSumView, 'costUsd' | 'unpriced' | 'estimated' | 'steps'>): string {
  return `${sum.estimated ? '~' : ''}${costCell(sum, sum.steps > 0)}`
}

/** The share of the read tokens that came from a cache, in percent; null: nothing was read. */
export function cachedShare({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Pick<UsageSumView, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>): number | null {
  const read = inputTokens + cacheReadTokens + cacheWriteTokens
  return read === 0 ? null : Math.round((100 * cacheReadTokens) / read)
}

/** Returns the name of a group as text. For a process it is its name, or else its agent. An empty key gets a text with its meaning. */
export function groupName(by: UsageBy, key: string, root: UsageRowView['root']): string {
  if ((by === 'tree' || by === 'process') && root) return `${visibleText(root.name ?? root.agent)}${root.removed ? ' (removed)' : ''}`
  if (key !== '') return visibleText(key)
  return by === 'label' ? 'without a value' : 'not known'
}

/**
 * Makes the chart of a report whose first group is a time. Times without usage have an empty column, from `from` to `to`; by default from
 * the first to the last row.
 */
export function costChart(
  report: UsageReportView,
  measure: Measure,
  range: { readonly from?: string; readonly to?: string } = {},
): CostChart {
  const all = seriesOf(report, measure)
  const keys = new Map(all.map(({ key }, index) => [key, index]))
  const other = keys.get(null)
  const byTime = Map.groupBy(report.rows, ({ key }) => key)
  const times = timesOf([...byTime.keys()], report.by === 'hour' ? HOUR_MS : 24 * HOUR_MS, range)
  const columns = times.map((time): ChartColumn => {
    const rows = byTime.get(time) ?? []
    const values = all.map(() => 0)
    for (const row of rows) {
      const index = keys.get(row.part) ?? other ?? 0
      values[index] = (values[index] ?? 0) + valueOf(row, measure)
    }
    return { time, values, value: values.reduce((sum, value) => sum + value, 0), text: columnText(rows, report, measure) }
  })
  return { series: all, columns, ticks: ticksOf(Math.max(0, ...columns.map(({ value }) => value)), measure) }
}

/** The groups by their size, the largest first. */
function seriesOf({ rows, split }: UsageReportView, measure: Measure): ChartSeries[] {
  if (split === null) return [{ key: null, name: 'all' }]
  const sizes = [...Map.groupBy(rows, ({ part }) => part ?? '')].map(([key, its]) => ({
    key,
    name: groupName(split, key, its[0]?.root ?? null),
    size: its.reduce((sum, row) => sum + valueOf(row, measure), 0),
  }))
  const sorted = sizes.toSorted((a, b) => b.size - a.size || (a.key < b.key ? -1 : 1))
  const own = sorted.slice(0, sorted.length === MAX_SERIES + 1 ? MAX_SERIES + 1 : MAX_SERIES).map(({ key, name }) => ({ key, name }))
  return own.length === sorted.length ? own : [...own, { key: null, name: `${sorted.length - own.length} others` }]
}

function valueOf(row: Sum, measure: Measure): number {
  switch (measure) {
    case 'cost':
      return row.costUsd ?? 0
    case 'tokens':
      return row.inputTokens + row.outputTokens + row.cacheReadTokens + row.cacheWriteTokens
    case 'steps':
      return row.steps
  }
}

function columnText(rows: readonly UsageRowView[], { split }: UsageReportView, measure: Measure): string {
  const parts = rows
    .toSorted((a, b) => valueOf(b, measure) - valueOf(a, measure))
    .slice(0, MAX_SERIES)
    .map((row) => `${groupName(split ?? 'agent', row.part ?? '', row.root)} ${valueText(row, measure)}`)
  return [valueText(sumOf(rows), measure), ...(split === null ? [] : parts)].join(' · ')
}

function valueText(row: Sum, measure: Measure): string {
  const value = valueOf(row, measure)
  return measure === 'cost' ? costWithSigns(row) : measure === 'tokens' ? `${formatTokens(value)} tokens` : `${value} steps`
}

function sumOf(rows: readonly UsageRowView[]): Sum {
  const add = (name: 'steps' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'): number =>
    rows.reduce((sum, row) => sum + row[name], 0)
  const known = rows.filter(({ costUsd }) => costUsd !== null)
  return {
    steps: add('steps'),
    inputTokens: add('inputTokens'),
    outputTokens: add('outputTokens'),
    cacheReadTokens: add('cacheReadTokens'),
    cacheWriteTokens: add('cacheWriteTokens'),
    costUsd: known.length === 0 && rows.length > 0 ? null : known.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
    unpriced: rows.some(({ unpriced }) => unpriced),
    estimated: rows.some(({ estimated }) => estimated),
  }
}

/** All times from the first to the last one. They are times of the daemon's clock, so they are counted as if they were UTC. */
function timesOf(keys: readonly string[], stepMs: number, { from, to }: { readonly from?: string; readonly to?: string }): string[] {
  const sorted = [...keys, ...(from === undefined ? [] : [from]), ...(to === undefined ? [] : [to])].toSorted()
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return []
  const times: string[] = []
  const end = epochMsOf(last)
  for (let at = Math.max(epochMsOf(first), end - (MAX_COLUMNS - 1) * stepMs); at <= end; at += stepMs) times.push(timeText(at, stepMs))
  return times
}

function epochMsOf(time: string): number {
  return Date.parse(`${time.slice(0, 10)}T${time.slice(11) === '' ? '00:00' : time.slice(11)}Z`)
}

function timeText(at: number, stepMs: number): string {
  const iso = new Date(at).toISOString()
  return stepMs === HOUR_MS ? `${iso.slice(0, 10)} ${iso.slice(11, 13)}:00` : iso.slice(0, 10)
}

/** About three marks, at round values. */
function ticksOf(max: number, measure: Measure): { readonly value: number; readonly text: string }[] {
  if (max <= 0) return [{ value: 0, text: '0' }]
  const rough = max / 3
  const unit = 10 ** Math.floor(Math.log10(rough))
  const round = ([1, 2, 5].find((factor) => factor * unit >= rough) ?? 10) * unit
  const step = measure === 'cost' ? round : Math.max(1, round)
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => {
    const value = Number((index * step).toPrecision(12))
    return { value, text: measure === 'cost' ? formatLimitUsd(value) : formatTokens(value) }
  })
}
