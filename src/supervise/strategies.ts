// Who else is stopped and started with a child that failed. Owns the three strategies and nothing of how it is done.
// Test: test/tables/supervise.test.ts, test/simulation/supervision.test.ts.
import type { Strategy } from '../kernel/supervision.ts'

/** The others by their ids, in the order of their start. */
const OTHERS: Readonly<Record<Strategy, (ids: readonly string[], failed: string) => readonly string[]>> = {
  one_for_one: () => [],
  one_for_all: (ids, failed) => ids.filter((id) => id !== failed),
  rest_for_one: (ids, failed) => ids.slice(ids.indexOf(failed) + 1),
}

export function others(strategy: Strategy, ids: readonly string[], failed: string): readonly string[] {
  return OTHERS[strategy](ids, failed)
}
