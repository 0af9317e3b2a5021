// Budgets of one process: what it has used against what it may use, asked before each call.
// Owns the hold `budget`. Test: test/tables/reporting.test.ts.
import { hold } from './pausing.ts'
import type { Limits, Process, Usage } from './types.ts'
import type { Work } from './work.ts'

/** True if the budget is used up: the process is then held, with the figures as its note. */
export function heldByBudget(work: Work, process: Process): boolean {
  const spent = overBudget(process.usage, process.spec.limits)
  if (spent === null) return false
  hold(work, process.uuid, { reason: 'budget', by: 'system', at: work.now.wall }, false)
  work.emit(process.uuid, { type: 'process.note', text: spent })
  return true
}

function overBudget(usage: Usage, limits: Limits): string | null {
  if (limits.budgetUsd !== undefined && usage.costUsd >= limits.budgetUsd) {
    return `budget: $${usage.costUsd.toFixed(4)} of $${limits.budgetUsd} are spent`
  }
  const tokens = usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  if (limits.budgetTokens !== undefined && tokens >= limits.budgetTokens) return `budget: ${tokens} of ${limits.budgetTokens} tokens are used`
  return null
}
