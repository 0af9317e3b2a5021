// How much of a limit is used: solid for what is used, pale for what open calls may add, a line where reeve warns. Its label also states
// when the limit will be full at the present rate.
// Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import type { RowBudgetView, RowView } from '../../../src/api/views/rows.ts'
import { formatBytes, formatCost, formatElapsed, formatLimitUsd, formatTokens } from '../../../src/faces/format.ts'
import { fullInText } from '../../../src/faces/budgets.ts'

export interface BudgetBarProps {
  readonly row: Pick<RowView, 'budget'>
  /** what the budget pays for per minute; null: not known */
  readonly usdPerMinute?: number | null
}

export function BudgetBar({ row: { budget }, usdPerMinute = null }: BudgetBarProps): JSX.Element | null {
  if (!budget || budget.of <= 0) return null
  const used = Math.min(1, budget.used / budget.of)
  const reserved = Math.min(1 - used, budget.reserved / budget.of)
  const text = `${amount(budget, budget.used)} / ${amount(budget, budget.of)}`
  const tone = used >= 1 ? 'full' : used >= budget.warnAt ? 'near' : 'free'
  const fullIn = usdPerMinute === null ? null : fullInText(budget, usdPerMinute)
  const label = [
    `${budget.limit}: ${text}`,
    ...(budget.reserved > 0 ? [`open calls may add ${amount(budget, budget.reserved)}`] : []),
    ...(fullIn === null ? [] : [`${formatCost(usdPerMinute)}/min, ${fullIn}`]),
  ].join(' · ')
  return (
    <span class={`budget-bar ${tone}`} role="img" aria-label={label} title={label}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="8" />
        <rect class="used" width={100 * used} height="8" />
        <rect class="reserved" x={100 * used} width={100 * reserved} height="8" />
        <rect class="warn" x={100 * budget.warnAt} width="0.8" height="8" />
      </svg>
      <span>{text}</span>
    </span>
  )
}

function amount({ limit }: RowBudgetView, value: number): string {
  if (limit.endsWith('Usd')) return formatLimitUsd(Math.round(value * 100) / 100)
  if (limit.endsWith('Ms')) return formatElapsed(value)
  if (limit.endsWith('Bytes')) return formatBytes(value)
  return formatTokens(value)
}
