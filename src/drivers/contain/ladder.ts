// The one stop ladder: signal and SIGCONT to the programs' groups, grace, kill of all, wait until nobody is left.
// Owns the order and the deadlines; what a rung does is the containment's. Never says `stopped` while a member lives.
// Tests: test/processes/contain.test.ts.
import type { Ladder, StopResult } from './contain.ts'

/** How long to wait after the kill before members are called survivors. */
export const SURVIVE_MS = 5_000

/** What the ladder is climbed on. All looks are synchronous, so that none is old. */
export interface Rungs {
  /** no member lives, and what we started has ended */
  isEmpty(): boolean
  /** each program that we started has ended; others of the containment may live */
  programsEnded(): boolean
  /** asks each program's group to end, and wakes what is frozen so that it can */
  askPrograms(signal: 'SIGTERM' | 'SIGINT'): void
  /** asks each member, one by one */
  askMembers(signal: 'SIGTERM' | 'SIGINT'): void
  /** kills all members that there are now; called again while there are some */
  kill(): void
  members(): readonly number[]
  readonly waiting: Waiting
}

/** How to wait for a change: `watch` wakes at once where the system tells us, `pollMs` is the net below it. */
export interface Waiting {
  watch(wake: () => void): () => void
  readonly pollMs: number
}

export async function climb(rungs: Rungs, ladder: Ladder): Promise<StopResult> {
  if (rungs.isEmpty()) return { outcome: 'gone', survivors: [] }
  if (ladder.signal !== 'SIGKILL' && (await askToEnd(rungs, ladder.signal, ladder.graceMs))) {
    return { outcome: 'stopped', survivors: [] }
  }
  if (ladder.signal !== 'SIGKILL') ladder.onKill?.()
  if (await killAll(rungs)) return { outcome: 'killed', survivors: [] }
  return { outcome: 'survived', survivors: rungs.members() }
}

// A program gets its whole grace to end what it started itself. Once it has ended, what it left is asked as well.
async function askToEnd(rungs: Rungs, signal: 'SIGTERM' | 'SIGINT', graceMs: number): Promise<boolean> {
  const end = performance.now() + graceMs
  const left = () => Math.max(0, end - performance.now())
  rungs.askPrograms(signal)
  await until(() => rungs.programsEnded() || rungs.isEmpty(), left(), rungs.waiting)
  if (rungs.isEmpty()) return true
  if (rungs.programsEnded()) rungs.askMembers(signal)
  return until(() => rungs.isEmpty(), left(), rungs.waiting)
}

// Who was born while we killed is killed at a later look. Most of these find that nothing has to be done but to wait.
function killAll(rungs: Rungs): Promise<boolean> {
  let nextMs = 0
  const gone = () => {
    if (rungs.isEmpty()) return true
    if (performance.now() < nextMs) return false
    rungs.kill()
    nextMs = performance.now() + rungs.waiting.pollMs / 2
    return false
  }
  return until(gone, SURVIVE_MS, rungs.waiting)
}

/** Waits until `done()` holds, `ms` at most; says whether it did. */
export async function until(done: () => boolean, ms: number, waiting: Waiting): Promise<boolean> {
  if (done()) return true
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const look = (last: boolean) => {
    try {
      const held = done()
      if (held || last) resolve(held)
    } catch (error) {
      reject(error)
    }
  }
  const unwatch = waiting.watch(() => look(false))
  const poll = setInterval(look, waiting.pollMs, false)
  const deadline = setTimeout(look, ms, true)
  try {
    look(false)
    return await promise
  } finally {
    clearTimeout(deadline)
    clearInterval(poll)
    unwatch()
  }
}
