// The stop ladder of a containment. Sends a signal and SIGCONT to the programs' groups, and waits for a grace period. Then kills all
// members, and waits until none is left. The containment supplies the actions. Never returns `stopped` while a member is alive.
// Tests: test/processes/contain/containment.test.ts.
import type { Ladder, StopResult } from './containment-contract.ts'

/** The time after the kill at which living members count as survivors. */
export const SURVIVE_MS = 5_000

/** Checks and actions of the ladder. All are synchronous, so that no result is stale. */
export interface LadderActions {
  /** whether no member is alive and every program that the containment started has ended */
  isEmpty(): boolean
  /** whether every program that the containment started has ended; other members may be alive */
  programsEnded(): boolean
  /** signals each program's group, and thaws frozen members so that they can end */
  signalPrograms(signal: 'SIGTERM' | 'SIGINT'): void
  /** signals each member separately */
  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void
  /** kills all current members; called again while some are left */
  kill(): void
  /** PIDs of the living members */
  members(): readonly number[]
  readonly waiting: WaitOptions
}

/** How to wait for a change. */
export interface WaitOptions {
  /** calls `wake` at each notification of the system; returns a function that ends the watch */
  watch(wake: () => void): () => void
  /** the interval of checks in case a notification is missing */
  readonly pollMs: number
}

/** Runs all steps of the ladder. If the signal is SIGKILL, begins with the kill. */
export async function runStopLadder(actions: LadderActions, ladder: Ladder): Promise<StopResult> {
  if (actions.isEmpty()) return { outcome: 'gone', survivors: [] }
  if (ladder.signal !== 'SIGKILL' && (await signalAndWait(actions, ladder.signal, ladder.graceMs))) {
    return { outcome: 'stopped', survivors: [] }
  }
  if (ladder.signal !== 'SIGKILL') ladder.onKill?.()
  if (await killAll(actions)) return { outcome: 'killed', survivors: [] }
  return { outcome: 'survived', survivors: actions.members() }
}

// A program has the whole grace period to end its own children. Once all programs have ended, the remaining members are signalled.
async function signalAndWait(actions: LadderActions, signal: 'SIGTERM' | 'SIGINT', graceMs: number): Promise<boolean> {
  const end = performance.now() + graceMs
  const remainingMs = () => Math.max(0, end - performance.now())
  actions.signalPrograms(signal)
  await waitUntil(() => actions.programsEnded() || actions.isEmpty(), remainingMs(), actions.waiting)
  if (actions.isEmpty()) return true
  if (actions.programsEnded()) actions.signalMembers(signal)
  return waitUntil(() => actions.isEmpty(), remainingMs(), actions.waiting)
}

// The kill is repeated for processes that were born during the kill, but not at every check.
function killAll(actions: LadderActions): Promise<boolean> {
  let nextKillMs = 0
  const isGone = () => {
    if (actions.isEmpty()) return true
    if (performance.now() < nextKillMs) return false
    actions.kill()
    nextKillMs = performance.now() + actions.waiting.pollMs / 2
    return false
  }
  return waitUntil(isGone, SURVIVE_MS, actions.waiting)
}

/** Waits for at most `ms` until `done()` returns true. Returns whether it did. */
export async function waitUntil(done: () => boolean, ms: number, waiting: WaitOptions): Promise<boolean> {
  if (done()) return true
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const check = (isLast: boolean) => {
    try {
      const isDone = done()
      if (isDone || isLast) resolve(isDone)
    } catch (error) {
      reject(error)
    }
  }
  const unwatch = waiting.watch(() => check(false))
  const poll = setInterval(check, waiting.pollMs, false)
  const deadline = setTimeout(check, ms, true)
  try {
    check(false)
    return await promise
  } finally {
    clearTimeout(deadline)
    clearInterval(poll)
    unwatch()
  }
}
