// The wait before a model is asked again. It stands still while the process is paused: who waits has nothing in flight, so it
// comes to the gate at once, and waits for the rest when it goes on. Owns no decision: how long is the retry policy's to say.
// Tests: test/e2e/native-back-off.test.ts, test/e2e/tree-clocks.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { gate } from './work.ts'
import type { Turn, Work } from './work.ts'

/** Resolves when the process has been awake for so many ms. Rejects when the turn is interrupted. */
export async function backOff(work: Work, turn: Turn, delayMs: number): Promise<void> {
  for (let leftMs = delayMs; leftMs > 0; ) {
    const pausing = work.pausing()
    const since = performance.now()
    if (await passed(leftMs, pausing, turn.signal)) return
    leftMs -= performance.now() - since
    await gate(work, turn)
  }
}

/** False: a pause came first. */
async function passed(ms: number, pausing: AbortSignal, turn: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([pausing, turn]) })
    return true
  } catch {
    turn.throwIfAborted()
    return false
  }
}
