// `reeve kill`: sends any signal; SIGTERM with a short grace. Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/several-processes.test.ts.
import { processTitle } from '../print/process-text.ts'
import { forEachSelected } from '../actions/for-each-process.ts'
import { dryRun, stakesPreview, withStakesSummary } from '../actions/stakes.ts'
import { deferralNote, outcomeFields, outcomeSuffix } from '../actions/signal-outcome.ts'
import { stopAndWait } from '../actions/stop-and-wait.ts'
import { UsageError } from '../errors.ts'
import { stripControls } from '../print/text.ts'
import { parseSignal } from '../input/signals.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, reeve } = call
  const signal = parseSignal(args.text('signal') ?? 'SIGTERM')
  const grace = args.duration('grace')
  if (grace !== undefined && signal !== 'SIGTERM') throw new UsageError(`${signal} takes no grace`)
  const subtree = args.on('subtree')
  const ends = signal === 'SIGTERM' || signal === 'SIGKILL'
  const isDryRun = args.on('dry-run')
  const request = { signal, subtree }
  return forEachSelected(call, {
    rules: { canActOn: () => true, adjective: 'living', leavesChildrenToOwner: ends },
    question: ends ? 'Kill' : `Send ${signal} to`,
    outcome: isDryRun ? 'examined' : ends ? 'ended' : 'signalled',
    isDryRun,
    preview: async (targets) => (ends ? stakesPreview(reeve, targets, request) : []),
    act: async (ref, _, count) => {
      if (isDryRun) return dryRun(reeve, ref, request)
      if (ends)
        return withStakesSummary(reeve, { ref, count }, request, () =>
          stopAndWait(call, ref, signal === 'SIGTERM' ? { ...request, graceMs: grace } : request),
        )
      const answer = await (subtree ? reeve.signalTree(ref, signal) : reeve.signal(ref, signal))
      const message = stripControls(
        `${processTitle(answer.process)} got ${signal} (${answer.process.status})${outcomeSuffix(answer)}${deferralNote(answer.process, signal)}`,
      )
      return { message, fields: { affected: answer.affected, process: answer.process, ...outcomeFields(answer) } }
    },
  })
}
