// Describes the progress of a compose run in one line, for the NOTE column. Test: test/e2e/cli/compose.test.ts.
import { isComposeRun, composeRunOf } from '../../kernel/compose/run-row.ts'
import type { Process } from '../../kernel/model/process.ts'

/** Returns for example `2 of 5 nodes completed, 1 running, 1 failed`; null if the process is not a compose run. */
export function runNote(process: Process): string | null {
  if (!isComposeRun(process)) return null
  const { nodes } = composeRunOf(process)
  const counts = (['running', 'failed', 'cancelled', 'blocked'] as const).flatMap((state) => {
    const count = nodes.filter((node) => node.state === state).length
    return count === 0 ? [] : [`${count} ${state}`]
  })
  return [`${nodes.filter(({ state }) => state === 'completed').length} of ${nodes.length} nodes completed`, ...counts].join(', ')
}
