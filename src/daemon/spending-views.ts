// What a process and all below it have used, and how much of which limit that is, as the API shows it.
// Owns the mapping alone: the figures are the kernel's. Test: test/tables/views.test.ts, test/e2e/budgets.test.ts.
import { usdOf } from '../kernel/accounts.ts'
import { LIMITS, accountsOver, actionOf, limitsSet, tallyWithBelow, usedOf } from '../kernel/limits.ts'
import { livingChildren } from '../kernel/tree.ts'
import type { LimitUseView, SubtreeUsageView } from '../api/views.ts'
import type { LimitName, Process } from '../kernel/types.ts'
import type { View } from '../kernel/view.ts'

export function subtreeUsage(view: View, process: Process): SubtreeUsageView {
  const { nanoUsd, unpriced, estimated, rssBytes, waiting: _, openCalls, reservedNanoUsd, reservedTokens, reservedOutputTokens: __, ...counters } = tallyWithBelow(view, process)
  return { ...counters, costUsd: usdOf(nanoUsd), rssBytes, unpriced: unpriced > 0, estimated: estimated > 0, openCalls, reservedTokens, reservedUsd: usdOf(reservedNanoUsd) }
}

/** Its own limits, then those above it that it counts for. */
export function limitUse(view: View, process: Process, mono: number): LimitUseView[] {
  return accountsOver(view, process).flatMap((scope) => {
    const names = limitsSet(scope.spec.limits).filter((name) => scope.uuid === process.uuid || LIMITS[name].when === 'call' || LIMITS[name].when === 'step')
    return names.map((limit) => ({
      limit, of: scope.spec.limits[limit] ?? 0, used: used(view, scope, limit, mono), action: actionOf(scope.spec.limits, limit) ?? 'refuse',
      scope: scope.uuid === process.uuid ? null : scope.uuid,
    }))
  })
}

function used(view: View, process: Process, limit: LimitName, mono: number): number {
  if (limit === 'maxChildren') return livingChildren(view, process.uuid).length
  return limit === 'maxDepth' ? 0 : Math.round(usedOf(view, process, limit, mono) * 1e9) / 1e9
}
