// How much of a limit is used: solid for what is used, pale for what open calls may add, a line where reeve warns.
// Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import type { RowBudgetView, RowView } from '../../src/api/views/rows.ts'
import { formatBytes, formatElapsed, formatLimitUsd, formatTokens } from '../../src/faces/format.ts'

export function BudgetBar({ row: { budget } }: { readonly row: Pick<RowView, 'budget'> }): JSX.Element | null {
  if (!budget || budget.of <= 0) return null
  const used = Math.min(1, budget.used / budget.of)
  const reserved = Math.min(1 - used, budget.reserved / budget.of)
  const text = `${amount(budget, budget.used)} / ${amount(budget, budget.of)}`
  const tone = used >= 1 ? 'full' : used >= budget.warnAt ? 'near' : 'free'
  return (
    <span class={`budget-bar ${tone}`} role="img" aria-label={`${budget.limit}: ${text}`} title={`${budget.limit}: ${text}`}>
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
