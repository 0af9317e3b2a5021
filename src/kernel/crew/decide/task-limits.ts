// Limits of a task: money, tokens, steps and time of one attempt, reviews included. An attempt that reaches a limit fails. The limits are
// checked after each model call and at the end of each turn. Must never end a reported task, which waits for its review.
// Test: test/tables/kernel/crew/decide/task-limits.test.ts.
import { addTotals } from '../../model/usage-totals.ts'
import { requeueTask } from './release-task.ts'
import type { Command } from '../../model/crew/commands.ts'
import type { CrewDraft } from './draft.ts'
import type { Member, Task } from '../../model/crew/crew.ts'
import type { UsageTotals } from '../../model/usage.ts'

/** States in which a worker implements the task. */
const IMPLEMENTING_STATES: ReadonlySet<Task['state']> = new Set(['implementing', 'addressing_feedback'])

function totalTokens({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 }: UsageTotals): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

/**
 * Describes the limit that the attempt has reached; null if it has reached none.
 * `turnUsage`: the usage of the current turn. `now`: wall time in ms.
 */
export function reachedLimitText(
  { limits, used = {}, triedAt }: Pick<Task, 'limits' | 'used' | 'triedAt'>,
  turnUsage: UsageTotals,
  now: number,
): string | null {
  if (!limits) return null
  const total = addTotals(used, turnUsage)
  const { budgetUsd = Infinity, budgetTokens = Infinity, maxSteps = Infinity, timeoutMs = Infinity } = limits
  const ms = triedAt === undefined ? 0 : now - triedAt
  if ((total.costUsd ?? 0) >= budgetUsd) return `it has cost $${(total.costUsd ?? 0).toFixed(2)} of $${budgetUsd}`
  if (totalTokens(total) >= budgetTokens) return `it has used ${totalTokens(total)} of ${budgetTokens} tokens`
  if ((total.steps ?? 0) >= maxSteps) return `it has taken ${total.steps} of ${maxSteps} steps`
  return ms >= timeoutMs ? `it has taken ${Math.round(ms / 1_000)} of ${Math.round(timeoutMs / 1_000)} s` : null
}

/** Ends the attempt if the turn has reached a limit of the task. `spent`: usage since the turn began. */
export function enforceTaskLimits(draft: CrewDraft, { member: id, spent }: Extract<Command, { type: 'member_usage' }>): string {
  const member = draft.findMember(id)
  if (member && member.turn.open !== null && member.turn.task === member.task) stopAtLimit(draft, member, spent)
  return 'noted'
}

/** Requeues the member's task if a limit is reached. Returns whether it was. `turnUsage`: usage that is not added to the task yet. */
export function stopAtLimit(draft: CrewDraft, { id, task: taskId }: Member, turnUsage: UsageTotals): boolean {
  const task = draft.findTask(taskId)
  if (!task || task.implementer !== id || !IMPLEMENTING_STATES.has(task.state)) return false
  const reachedLimit = reachedLimitText(task, turnUsage, draft.context.at)
  if (reachedLimit === null) return false
  requeueTask(draft, task, { reason: `an attempt reached its limit: ${reachedLimit}`, counts: true })
  return true
}
