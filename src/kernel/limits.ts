// Budgets of one process: what it has used against what it may use, asked before each call, or after each report of an
// agent that others wrote. Owns the hold `budget`. Test: test/tables/reporting.test.ts.
import { isExternal } from './capabilities.ts'
import { hold } from './holding.ts'
import { terminate } from './release.ts'
import type { LimitName, Limits, Process, Usage, Uuid } from './types.ts'
import type { Work } from './work.ts'

export const LIMIT_NAMES = [
  'maxSteps', 'maxTurns', 'maxMessages', 'maxToolCalls', 'maxChildren', 'maxDepth',
  'maxInputTokens', 'maxOutputTokens', 'maxCacheReadTokens', 'maxCacheWriteTokens', 'budgetTokens', 'budgetUsd',
  'cpuTimeMs', 'timeoutMs', 'memoryBytes', 'outputBytes',
] as const satisfies readonly LimitName[]

/** Not null if the budget is used up: the process is then held, with the figures as its note; one that wraps up is done. `freeze`: at once, in the middle of what it does. */
export function heldByBudget(work: Work, process: Process, freeze = false): 'held' | 'stop' | null {
  const spent = overBudget(process.usage, process.spec.limits)
  if (spent === null) return null
  const { life } = process
  if (life.state === 'running' && life.stopping) {
    work.emit(process.uuid, { type: 'process.note', text: spent })
    terminate(work, process, life.stopping.exit)
    return 'stop'
  }
  hold(work, process.uuid, { reason: 'budget', by: 'system', at: work.now.wall }, freeze)
  work.emit(process.uuid, { type: 'process.note', text: spent })
  return 'held'
}

/** After a report of an agent that asks nobody before it calls its model: what it does next would be paid for too, so it is frozen. */
export function holdIfOverBudget(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  if (!isExternal(process.spec) || process.life.state !== 'running' || process.life.stopping) return
  if (!process.life.holds.some(({ reason }) => reason === 'budget')) heldByBudget(work, process, true)
}

function overBudget(usage: Usage, limits: Limits): string | null {
  if (limits.budgetUsd !== undefined && usage.costUsd >= limits.budgetUsd) {
    return `budget: $${usage.costUsd.toFixed(4)} of $${limits.budgetUsd} are spent`
  }
  const tokens = tokensOf(usage)
  if (limits.budgetTokens !== undefined && tokens >= limits.budgetTokens) return `budget: ${tokens} of ${limits.budgetTokens} tokens are used`
  return null
}

/** Steps that may still begin; those that a fork has from its origin do not count. */
export function stepsLeft({ usage, spec: { limits } }: Pick<Process, 'usage' | 'spec'>): number {
  return Math.max(0, (limits.maxSteps ?? Infinity) - usage.steps)
}

/** Of all four kinds. */
export function tokensOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}
