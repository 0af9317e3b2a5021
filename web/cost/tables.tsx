// The tables of the cost page: the groups with their tokens and money, and the values of the chart. Test: test/e2e/web/pages/cost.test.ts.
import type { JSX } from 'preact'
import type { UsageReportView, UsageRowView, UsageSumView } from '../../src/api/views/usage.ts'
import { cachedShare, costWithSigns, groupName, type CostChart } from '../../src/faces/cost-chart.ts'
import { formatCount, formatTokens } from '../../src/faces/format.ts'
import type { CostQuery } from './cost-query.ts'
import { WideTable } from '../parts/wide-table.tsx'

const TITLES = ['cost', 'processes', 'steps', 'input', 'output', 'cache read', 'cache write', 'cached'] as const

export function GroupTable({ report, query }: { readonly report: UsageReportView; readonly query: CostQuery }): JSX.Element {
  return (
    <>
      <WideTable
        label={`Usage by ${query.split}`}
        titles={[query.split === 'label' ? query.label : query.split, ...TITLES]}
        numbers={TITLES}
      >
        <tbody>
          {report.rows.map((row) => (
            <tr key={row.key} data-key={row.key}>
              <th scope="row">
                <GroupLink row={row} query={query} />
              </th>
              <Counts sum={row} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">total</th>
            <Counts sum={report.total} />
          </tr>
        </tfoot>
      </WideTable>
      {report.more > 0 ? <p class="quiet">{formatCount(report.more, 'more row')} not shown; a shorter time has fewer.</p> : null}
    </>
  )
}

function Counts({ sum }: { readonly sum: UsageSumView }): JSX.Element {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = sum
  const share = cachedShare(sum)
  const cells = [
    costWithSigns(sum),
    String(sum.processes),
    String(sum.steps),
    ...[inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].map(formatTokens),
    share === null ? '-' : `${share} %`,
  ]
  return (
    <>
      {cells.map((text, index) => (
        <td key={TITLES[index]} class="number">
          {text}
        </td>
      ))}
    </>
  )
}

/** The name of a group, as a link to its processes. */
function GroupLink({ row, query }: { readonly row: UsageRowView; readonly query: CostQuery }): JSX.Element {
  const name = groupName(query.split, row.key, row.root)
  const to = groupAddress(row, query)
  return to === null ? <>{name}</> : <a href={to}>{name}</a>
}

function groupAddress({ key, root }: UsageRowView, { split, label }: CostQuery): string | null {
  const filtered = (condition: string): string | null =>
    key === '' || /[\s"]/.test(condition) ? null : `/?${new URLSearchParams({ q: condition })}`
  switch (split) {
    case 'tree':
    case 'process':
      return root && !root.removed ? `/p/${root.uuid}` : null
    case 'label':
      return filtered(`label:${label}=${key}`)
    case 'agent':
      return filtered(`agent:${key}`)
    case 'model':
      // A row has the model without its provider if the user gave it so.
      return filtered(`model:${key.slice(key.indexOf('/') + 1)}`)
    case 'project':
      return null
  }
}

/** The values of the chart as a table, the newest first. */
export function TimeTable({ chart, by }: { readonly chart: CostChart; readonly by: CostQuery['by'] }): JSX.Element {
  return (
    <WideTable label={`Usage by ${by}`} titles={[by, 'together · the largest parts']} kind="times">
      <tbody>
        {chart.columns.toReversed().map(({ time, text }) => (
          <tr key={time}>
            <th scope="row">{time}</th>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}

/** The rows of the report as comma-separated values, with all digits. */
export function csvOf({ rows, by, split }: UsageReportView): string {
  const fields = [
    'processes',
    'steps',
    'inputTokens',
    'outputTokens',
    'cacheReadTokens',
    'cacheWriteTokens',
    'costUsd',
    'unpriced',
    'estimated',
  ] as const
  const quoted = (value: unknown): string => `"${String(value ?? '').replaceAll('"', '""')}"`
  const lines = rows.map((row) => [row.key, row.part, ...fields.map((name) => row[name])].map(quoted).join(','))
  return [[by, split, ...fields].map(quoted).join(','), ...lines, ''].join('\n')
}
