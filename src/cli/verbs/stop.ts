// `reeve stop`: ends processes with SIGTERM, and gives them time to clean up. Tests: test/e2e/cli/cli.test.ts,
// test/e2e/cli/several-processes.test.ts.
import { forEachSelected } from '../actions/for-each-process.ts'
import { dryRun, stakesPreview, withStakesSummary } from '../actions/stakes.ts'
import { stopAndWait } from '../actions/stop-and-wait.ts'
import type { VerbCall } from '../table/verb.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

const REQUEST = { signal: 'SIGTERM', subtree: false } as const

export async function run(call: VerbCall): Promise<number> {
  const { args, reeve } = call
  const isDryRun = args.on('dry-run')
  return forEachSelected(call, {
    rules: { canActOn: () => true, adjective: 'living', leavesChildrenToOwner: true },
    question: 'Stop',
    outcome: isDryRun ? 'examined' : 'stopped',
    isDryRun,
    preview: (targets) => stakesPreview(reeve, targets, REQUEST),
    act: (ref, _, count) =>
      isDryRun
        ? dryRun(reeve, ref, REQUEST)
        : withStakesSummary(reeve, { ref, count }, REQUEST, () => stopAndWait(call, ref, { ...REQUEST, minGraceMs: STOP_GRACE_MS })),
  })
}
