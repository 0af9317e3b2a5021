// `reeve stop`: ends processes by SIGTERM, with time for cleanup. Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/several-processes.test.ts.
import { forEachSelected } from '../actions/for-each-process.ts'
import { stopAndWait } from '../actions/stop-and-wait.ts'
import type { VerbCall } from '../table/verb.ts'

const GRACE_MS = 10_000

export async function run(call: VerbCall): Promise<number> {
  return forEachSelected(call, {
    rules: { canActOn: () => true, adjective: 'living', leavesChildrenToOwner: true },
    question: 'Stop',
    outcome: 'stopped',
    act: (ref) => stopAndWait(call.reeve, ref, { signal: 'SIGTERM', minGraceMs: GRACE_MS, subtree: false }),
  })
}
