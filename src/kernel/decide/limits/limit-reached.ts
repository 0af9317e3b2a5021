// Enforces a reached limit of a process or of its payer. Either the process and the owner of the limit are suspended, or the owner ends,
// together with all processes that it pays for. A process that waits for open calls or for a budget of the home is suspended alone. Adds
// the hold `budget`. The exit is `budget_exceeded`, or `max steps exceeded`.
// Tests: test/tables/kernel/state/limits.test.ts, test/tables/kernel/decide/reports.test.ts.
import { MAX_STEPS_EXIT } from '../../model/exit.ts'
import { addHold } from '../holds/add-hold.ts'
import { limitActionOf, meteringOf, reachedText } from '../../state/limits.ts'
import { paidSubtree } from './payer.ts'
import { terminate } from '../release.ts'
import type { Reached, ReachedLimit } from '../../state/limits.ts'
import type { ReachedHomeBudget } from '../../state/home.ts'
import type { CallEstimate, ExitStatus, Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Uuid } from '../../model/ids.ts'

/**
 * Suspends or ends the process whose action does not fit its limits. `estimate`: the estimate of the call, if the action is a call.
 * Returns `held` if the process waits for room, and `stop` if it has ended.
 */
export function enforceReachedLimit(draft: DecisionDraft, caller: Process, reached: Reached, estimate?: CallEstimate): 'held' | 'stop' {
  const { life } = caller
  if (life.state === 'running' && life.stopping) {
    recordLimitReached(draft, caller.uuid, { reached, action: 'terminate', estimate })
    terminate(draft, draft.mustGet(caller.uuid), life.stopping.exit)
    return 'stop'
  }
  if (reached.scope === 'home') return suspendForHome(draft, caller, reached, estimate)
  const { scope, limit, shouldWait } = reached
  if (shouldWait) return suspendForBudget(draft, caller, { reached, action: 'wait', estimate })
  if (limitActionOf(scope.spec.limits, limit) === 'terminate') return endAllPaidFor(draft, caller, reached)
  if (scope.uuid !== caller.uuid) suspendForBudget(draft, scope, { reached, action: 'suspend', estimate })
  return suspendForBudget(draft, caller, { reached, action: 'suspend', estimate })
}

/** A budget of the home has no owner that could be suspended or ended: each process is held at its next request. */
function suspendForHome(draft: DecisionDraft, caller: Process, reached: ReachedHomeBudget, estimate?: CallEstimate): 'held' {
  if (reached.shouldWait) draft.home = { ...draft.home, hasWaiting: true }
  return suspendForBudget(draft, caller, { reached, action: reached.shouldWait ? 'wait' : 'suspend', estimate })
}

interface LimitReport {
  readonly reached: Reached
  readonly action: 'suspend' | 'terminate' | 'wait'
  readonly estimate: CallEstimate | undefined
}

/**
 * Adds the hold `budget`. A process whose model calls are not requested beforehand is frozen, because nothing else
 * prevents its next call.
 */
function suspendForBudget(draft: DecisionDraft, { uuid }: Process, report: LimitReport): 'held' {
  const process = draft.mustGet(uuid)
  const { life } = process
  if (life.state !== 'running' || life.stopping || life.holds.some(({ reason }) => reason === 'budget')) return 'held'
  const { reached } = report
  // home-budgets.ts releases the hold when the period ends or the budget is raised. The time in `until` alone does not end it.
  const end = reached.scope === 'home' && !reached.shouldWait ? { until: reached.until } : {}
  addHold(draft, uuid, { reason: 'budget', by: 'system', at: draft.now.wall, ...end }, meteringOf(process) !== 'call')
  recordLimitReached(draft, uuid, report)
  return 'held'
}

/** Ends the owner of the limit, and all processes that it pays for. */
function endAllPaidFor(draft: DecisionDraft, caller: Process, reached: ReachedLimit): 'stop' {
  const { scope } = reached
  const exit = exitOf(reached)
  recordLimitReached(draft, scope.uuid, { reached, action: 'terminate', estimate: undefined })
  if (caller.uuid !== scope.uuid) recordLimitReached(draft, caller.uuid, { reached, action: 'terminate', estimate: undefined })
  // Descendants end first, so that their payers still live and count their usage.
  for (const uuid of paidSubtree(draft, scope.uuid).toReversed()) terminate(draft, draft.mustGet(uuid), exit)
  return 'stop'
}

function recordLimitReached(
  draft: DecisionDraft,
  uuid: Uuid,
  { reached: { limit, used, of, scope }, action, estimate }: LimitReport,
): void {
  const owner = scope === 'home' ? uuid : scope.uuid
  draft.emit(uuid, { type: 'limit.reached', limit, used, of, action, scope: owner, ...(estimate ? { ask: estimate } : {}) })
}

function exitOf({ limit, used, of }: ReachedLimit): ExitStatus {
  if (limit === 'maxSteps') return MAX_STEPS_EXIT
  return { code: 2, reason: 'budget_exceeded', error: reachedText({ limit, used, of, whose: null }), cause: 'limit' }
}
