// The figures above the chart: the cost of the chosen period, of today and of this month, with the budgets of the home. Also the cost per
// minute now, and the processes near a limit. Test: test/e2e/web/pages/cost.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import type { UsageReportView, UsageSumView } from '../../src/api/views/usage.ts'
import { cachedShare, costWithSigns } from '../../src/faces/cost-chart.ts'
import { formatCost } from '../../src/faces/format.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { budgetFullInText, periodFullInText } from '../../src/faces/budgets.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { rows, watchList } from '../rows.ts'
import { perMinuteOf } from '../spending.ts'
import { daemonNow } from '../parts/clock.tsx'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import type { CostData } from './cost-query.ts'

export function CostFigures({ data: { chart, rate } }: { readonly data: CostData }): JSX.Element {
  const perMinute = rate.total.find(({ minutes }) => minutes === 5)?.costUsd ?? 0
  return (
    <>
      <dl class="figures">
        <Figure name="in this time">
          <strong>{costWithSigns(chart.total)}</strong>
          {cachedText(chart.total)}
        </Figure>
        <Figure name="today">
          <Period name="dailyUsd" period={chart.home.day} usdPerMinute={perMinute} />
        </Figure>
        <Figure name="this month">
          <Period name="monthlyUsd" period={chart.home.month} usdPerMinute={perMinute} />
        </Figure>
        <Figure name="now">
          {formatCost(perMinute)}/min{perMinute > 0 ? ` · ~${formatCost(60 * perMinute)} in an hour at this rate` : ''}
        </Figure>
      </dl>
      <Trees rate={rate} />
      <NearLimit />
    </>
  )
}

function Figure({
  name,
  children,
}: {
  readonly name: string
  readonly children: JSX.Element | readonly (JSX.Element | string)[]
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Which share of what the models read came from a cache. */
function cachedText(sum: UsageSumView): string {
  const share = cachedShare(sum)
  return share === null ? '' : ` · ${share} % of the input from a cache`
}

interface PeriodProps {
  readonly name: string
  readonly period: UsageReportView['home']['day']
  readonly usdPerMinute: number
}

/** The cost of a day or a month, with the budget of the home, and when that budget is full at the present rate. */
function Period({ name, period, usdPerMinute }: PeriodProps): JSX.Element {
  const { costUsd, budgetUsd } = period
  if (budgetUsd === null) return <>{formatCost(costUsd)}</>
  const budget = { limit: name as 'budgetUsd', used: costUsd, reserved: 0, of: budgetUsd, warnAt: 0.8 }
  const fullIn = periodFullInText(period, usdPerMinute, daemonNow())
  return (
    <>
      <BudgetBar row={{ budget }} /> {fullIn === null ? null : <span class="quiet">{fullIn}</span>}
    </>
  )
}

const MAX_SHOWN = 3

function Trees({ rate: { trees } }: Pick<CostData, 'rate'>): JSX.Element | null {
  const spending = trees.flatMap(({ root, rates }) => {
    const perMinute = rates.find(({ minutes }) => minutes === 5)?.costUsd ?? 0
    return perMinute > 0 ? [{ root, perMinute }] : []
  })
  if (spending.length === 0) return null
  return (
    <p class="quiet">
      spending now:{' '}
      {spending.slice(0, MAX_SHOWN).map(({ root, perMinute }, index) => (
        <span key={root.uuid}>
          {index === 0 ? '' : ' · '}
          <a href={`/p/${root.uuid}`}>{visibleText(root.name ?? root.agent)}</a> {formatCost(perMinute)}/min
        </span>
      ))}
    </p>
  )
}

/** The living processes that have used at least half of a limit. */
function NearLimit(): JSX.Element | null {
  watchList()
  const near = [...rows.values()]
    .flatMap((row) => (row.budget && row.budget.of > 0 && row.endedAt === null ? [{ row, share: row.budget.used / row.budget.of }] : []))
    .filter(({ share }) => share >= 0.5)
    .toSorted((a, b) => b.share - a.share)
  if (near.length === 0) return null
  return (
    <p class="quiet">
      near their limit:{' '}
      {near.slice(0, MAX_SHOWN).map(({ row, share }, index) => (
        <span key={row.uuid}>
          {index === 0 ? '' : ' · '}
          <a href={`/p/${row.uuid}`}>{titleOf(row)}</a> {Math.round(100 * share)} % of {row.budget?.limit}
          <FullIn row={row} />
        </span>
      ))}
    </p>
  )
}

/** When the budget is full at the present rate of its tree, which is known only for the root of a tree. */
function FullIn({ row }: { readonly row: RowView }): JSX.Element | null {
  const text = budgetFullInText(row, perMinuteOf(row.uuid))
  return text === null ? null : <>, {text}</>
}
