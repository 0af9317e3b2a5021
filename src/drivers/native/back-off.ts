// Waits before a failed model call is repeated. The wait stops counting while the process is paused, and continues after the
// pause. A waiting agent has no call in flight, so it is drained at once. The retry policy decides how long the wait is.
// Tests: test/processes/native/back-off.test.ts, test/e2e/lifecycle/tree-clocks.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntilUnheld } from './run-context.ts'
import type { Turn, RunContext } from './run-context.ts'

/** Resolves after `delayMs` of unpaused time. Rejects when the turn is interrupted. */
export async function backOff(run: RunContext, turn: Turn, delayMs: number): Promise<void> {
  for (let leftMs = delayMs; leftMs > 0;) {
    const pauseSignal = run.pauseSignal()
    const startedAt = performance.now()
    if (await waitUnlessPaused(leftMs, pauseSignal, turn.signal)) return
    leftMs -= performance.now() - startedAt
    await waitUntilUnheld(run, turn)
  }
}

/** Waits for `ms`. False if a pause begins first. Rejects when the turn is interrupted. */
async function waitUnlessPaused(ms: number, pauseSignal: AbortSignal, turnSignal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([pauseSignal, turnSignal]) })
    return true
  } catch {
    turnSignal.throwIfAborted()
    return false
  }
}
