// Decides which siblings stop and start with a failed child. Has the three strategies; decide/supervision.ts applies them.
// Test: test/tables/kernel/supervise/restart-decision.test.ts, test/simulation/supervision.test.ts.
import type { Strategy } from '../model/supervision.ts'

/** For each strategy, the ids of the siblings to restart. `ids`: all children, in starting order. */
const SIBLINGS: Readonly<Record<Strategy, (ids: readonly string[], failed: string) => readonly string[]>> = {
  one_for_one: () => [],
  one_for_all: (ids, failed) => ids.filter((id) => id !== failed),
  rest_for_one: (ids, failed) => ids.slice(ids.indexOf(failed) + 1),
}

export function siblingsToRestart(strategy: Strategy, ids: readonly string[], failed: string): readonly string[] {
  return SIBLINGS[strategy](ids, failed)
}
