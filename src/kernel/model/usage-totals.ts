// Sums of usage counters: of a process, of its ended descendants, and of the part that its payer has counted. Pure. An absent counter is
// zero. Tests: test/tables/kernel/state/accounts.test.ts, test/properties/budgets.test.ts.
import type { Process } from './process.ts'
import { COUNTERS, type Counter, type Usage, type UsageTotals } from './usage.ts'

/** Adds two sums. `unpriced` and `estimated` are set if they are set in either. */
export function addTotals(a: UsageTotals | undefined, b: UsageTotals): UsageTotals {
  return combine((name) => (a?.[name] ?? 0) + (b[name] ?? 0), a?.unpriced ?? b.unpriced, a?.estimated ?? b.estimated)
}

/** The usage of a process and its ended descendants. */
export function totalUsage({ usage, below }: Pick<Process, 'usage' | 'below'>): UsageTotals {
  return addTotals(below, usageTotals(usage))
}

/** The usage that the payer has not counted yet; null: none. */
export function unsettledUsage(process: Pick<Process, 'usage' | 'below' | 'settled'>): UsageTotals | null {
  const all = totalUsage(process)
  const { settled } = process
  const left = combine(
    (name) => (all[name] ?? 0) - (settled?.[name] ?? 0),
    settled?.unpriced ? undefined : all.unpriced,
    settled?.estimated ? undefined : all.estimated,
  )
  return Object.keys(left).length === 0 ? null : left
}

/** The difference between `usage` and an earlier sum. `unpriced` and `estimated` are set only if they were not set in the earlier sum. */
export function usageSince(usage: Usage, before: UsageTotals | undefined): UsageTotals {
  return combine(
    (name) => (usage[name] ?? 0) - (before?.[name] ?? 0),
    before?.unpriced ? undefined : usage.unpriced || undefined,
    before?.estimated ? undefined : usage.estimated || undefined,
  )
}

/** The counters of `usage` that are not zero. */
export function usageTotals(usage: Usage): UsageTotals {
  return combine((name) => usage[name] ?? 0, usage.unpriced || undefined, usage.estimated || undefined)
}

function combine(value: (name: Counter) => number, unpriced: true | undefined, estimated: true | undefined): UsageTotals {
  const counted = COUNTERS.flatMap((name) => {
    const count = value(name)
    return count === 0 ? [] : [[name, count] as const]
  })
  return { ...Object.fromEntries(counted), ...(unpriced ? { unpriced } : {}), ...(estimated ? { estimated } : {}) }
}
