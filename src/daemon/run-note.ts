// How far a run of a compose file is, in one line for the table. Test: test/e2e/cli-compose.test.ts.
import { isRun, nodesOf } from '../kernel/runs.ts'
import type { Process } from '../kernel/types.ts'

/** `2 of 5 nodes completed, 1 running, 1 failed`; null for what is no run. */
export function runNote(process: Process): string | null {
  if (!isRun(process)) return null
  const { nodes } = nodesOf(process)
  const counts = (['running', 'failed', 'cancelled', 'blocked'] as const).flatMap((state) => {
    const count = nodes.filter((node) => node.state === state).length
    return count === 0 ? [] : [`${count} ${state}`]
  })
  return [`${nodes.filter(({ state }) => state === 'completed').length} of ${nodes.length} nodes completed`, ...counts].join(', ')
}
