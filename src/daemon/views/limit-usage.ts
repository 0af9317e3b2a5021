// Maps the usage of a subtree, and the usage of each limit, to the API view. The kernel computes the figures.
// Tests: test/properties/rows.test.ts, test/e2e/limits/budgets.test.ts.
import { knownCost } from '../../api/known-cost.ts'
import { toUsd } from '../../kernel/state/accounts.ts'
import { LIMITS, payerChainOf, limitActionOf, configuredLimits, tallyWithBelow, usedOf } from '../../kernel/state/limits.ts'
import { livingChildren } from '../../kernel/state/tree.ts'
import type { LimitUseView, SubtreeUsageView } from '../../api/views/process.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import type { LimitName } from '../../kernel/model/words.ts'

/** Returns the usage of a process and all its descendants. */
export function subtreeUsage(table: LiveTable, process: Process): SubtreeUsageView {
  const {
    nanoUsd,
    unpriced,
    estimated,
    rssBytes,
    waiting: _,
    openCalls,
    reservedNanoUsd,
    reservedTokens,
    reservedOutputTokens: __,
    ...counters
  } = tallyWithBelow(table, process)
  return {
    ...counters,
    costUsd: knownCost({ costUsd: toUsd(nanoUsd), unpriced: unpriced > 0 }),
    rssBytes,
    unpriced: unpriced > 0,
    estimated: estimated > 0,
    openCalls,
    reservedTokens,
    reservedUsd: toUsd(reservedNanoUsd),
  }
}

/** Returns the usage of the process's own limits, then of its ancestors' limits that count its usage. `mono`: now, in ms. */
export function limitUse(table: LiveTable, process: Process, mono: number): LimitUseView[] {
  return payerChainOf(table, process).flatMap((scope) => {
    const names = configuredLimits(scope.spec.limits).filter(
      (name) => scope.uuid === process.uuid || LIMITS[name].when === 'call' || LIMITS[name].when === 'step',
    )
    return names.map((limit) => ({
      limit,
      of: scope.spec.limits[limit] ?? 0,
      used: limitUsage(table, scope, limit, mono),
      action: limitActionOf(scope.spec.limits, limit) ?? 'refuse',
      scope: scope.uuid === process.uuid ? null : scope.uuid,
      source: sourceOf(scope.spec, limit),
    }))
  })
}

/** Where a limit comes from. A limit that was changed after the start counts as the process's own. */
function sourceOf({ limits, homeLimits }: Process['spec'], limit: LimitName): LimitUseView['source'] {
  return homeLimits?.[limit] !== undefined && homeLimits[limit] === limits[limit] ? 'config' : 'process'
}

function limitUsage(table: LiveTable, process: Process, limit: LimitName, mono: number): number {
  if (limit === 'maxChildren') return livingChildren(table, process.uuid).length
  return limit === 'maxDepth' ? 0 : Math.round(usedOf(table, process, limit, mono) * 1e9) / 1e9
}
