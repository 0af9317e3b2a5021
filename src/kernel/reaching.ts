// What becomes of a process that has reached a limit, its own or that of one who pays for it: it is suspended, and so is the one
// whose limit it is; or that one ends, with all that it pays for, so that nobody spends on below a budget that is gone.
// Owns the hold `budget` and the exit `budget_exceeded`. Tests: test/tables/limits.test.ts, test/tables/reporting.test.ts.
import { MAX_STEPS } from './exit.ts'
import { hold } from './holding.ts'
import { actionOf, meteringOf, reachedWords } from './limits.ts'
import { paidSubtree } from './payers.ts'
import { terminate } from './release.ts'
import type { Reached } from './limits.ts'
import type { CallAsk, ExitStatus, Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** `held`: it waits until there is room again; `stop`: it has ended, or ends. `ask` is the call that there is no room for. */
export function reach(work: Work, caller: Process, reached: Reached, ask?: CallAsk): 'held' | 'stop' {
  const { life } = caller
  if (life.state === 'running' && life.stopping) {
    tell(work, caller.uuid, { reached, action: 'terminate', ask })
    terminate(work, work.need(caller.uuid), life.stopping.exit)
    return 'stop'
  }
  const { scope, limit, waits } = reached
  if (waits) return suspend(work, caller, { reached, action: 'wait', ask })
  if (actionOf(scope.spec.limits, limit) === 'terminate') return endAll(work, caller, reached)
  if (scope.uuid !== caller.uuid) suspend(work, scope, { reached, action: 'suspend', ask })
  return suspend(work, caller, { reached, action: 'suspend', ask })
}

interface Telling {
  readonly reached: Reached
  readonly action: 'suspend' | 'terminate' | 'wait'
  readonly ask: CallAsk | undefined
}

/** One that nobody asks before it calls is frozen: what it does next would be paid for too. */
function suspend(work: Work, { uuid }: Process, telling: Telling): 'held' {
  const process = work.need(uuid)
  const { life } = process
  if (life.state !== 'running' || life.stopping || life.holds.some(({ reason }) => reason === 'budget')) return 'held'
  hold(work, uuid, { reason: 'budget', by: 'system', at: work.now.wall }, meteringOf(process) !== 'call')
  tell(work, uuid, telling)
  return 'held'
}

function endAll(work: Work, caller: Process, reached: Reached): 'stop' {
  const { scope } = reached
  const exit = exitOf(reached)
  tell(work, scope.uuid, { reached, action: 'terminate', ask: undefined })
  if (caller.uuid !== scope.uuid) tell(work, caller.uuid, { reached, action: 'terminate', ask: undefined })
  // From below, so that each is settled with one that lives.
  for (const uuid of paidSubtree(work, scope.uuid).toReversed()) terminate(work, work.need(uuid), exit)
  return 'stop'
}

function tell(work: Work, uuid: Uuid, { reached: { limit, used, of, scope }, action, ask }: Telling): void {
  work.emit(uuid, { type: 'limit.reached', limit, used, of, action, scope: scope.uuid, ...(ask ? { ask } : {}) })
}

function exitOf({ limit, used, of }: Reached): ExitStatus {
  if (limit === 'maxSteps') return MAX_STEPS
  return { code: 2, reason: 'budget_exceeded', error: reachedWords({ limit, used, of, whose: null }), cause: 'limit' }
}
