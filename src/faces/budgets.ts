// Which budgets limit a process: those of the processes above it that pay for it. Also when one will be used up, at the present rate of
// spending. Pure. Test: test/tables/faces/budgets.test.ts.
import type { UsageReportView } from '../api/views/usage.ts'
import type { RowBudgetView, RowView } from '../api/views/rows.ts'
import { formatElapsed } from './format.ts'

type Row = Pick<RowView, 'uuid' | 'parent' | 'budget' | 'budgetOf'>

/** The processes above that pay for this one and have a budget, the nearest first. Those that the list does not have are left out. */
export function budgetsAbove<T extends Row>(row: Row, rows: ReadonlyMap<string, T>): T[] {
  const found: T[] = []
  let at: Row | undefined = row
  // A process that has ended has no owner in its row. Its parent may have one.
  while (at) {
    const owner: T | undefined = at.budgetOf === null ? undefined : rows.get(at.budgetOf)
    if (owner && owner.uuid !== row.uuid && owner.budget !== null) found.push(owner)
    at = rows.get((owner ?? at).parent ?? '')
  }
  return found
}

const MINUTE_MS = 60_000
/** No time of more than a day ahead is projected: the rate of spending changes sooner. */
const MAX_MS = 86_400_000

/** When a limit will be used up, such as `full in ~38m`. Null if it is not money, is full, lasts for over a day, or if nothing is spent. */
export function fullInText({ limit, used, of }: Pick<RowBudgetView, 'limit' | 'used' | 'of'>, usdPerMinute: number): string | null {
  if (limit !== 'budgetUsd' || usdPerMinute <= 0 || used >= of) return null
  const ms = ((of - used) / usdPerMinute) * MINUTE_MS
  if (ms > MAX_MS) return null
  return `full in ~${ms < MINUTE_MS ? formatElapsed(ms) : formatElapsed(Math.round(ms / MINUTE_MS) * MINUTE_MS).replace(' 00s', '')}`
}

/**
 * Like `fullInText`, for the budget of a process. Also null while nothing in its tree works. `usdPerMinute`: of the tree; null: not known.
 */
export function budgetFullInText({ budget, sub }: Pick<RowView, 'budget' | 'sub'>, usdPerMinute: number | null): string | null {
  return budget && sub.working > 0 && usdPerMinute !== null ? fullInText(budget, usdPerMinute) : null
}

/** Like `fullInText`, for the budget of the home for a day or a month. Also null if the next period begins before the budget is used up. */
export function periodFullInText(
  { costUsd, budgetUsd, endsAt }: UsageReportView['home']['day'],
  usdPerMinute: number,
  now: number,
): string | null {
  if (budgetUsd === null || ((budgetUsd - costUsd) / usdPerMinute) * 60_000 > Date.parse(endsAt) - now) return null
  return fullInText({ limit: 'budgetUsd', used: costUsd, of: budgetUsd }, usdPerMinute)
}
