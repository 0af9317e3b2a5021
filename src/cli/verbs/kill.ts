// `reeve kill`: sends any signal; SIGTERM with a short grace. Test: test/e2e/cli/cli.test.ts.
import { processTitle } from '../print/describe.ts'
import { forEachProcess } from '../actions/for-each-process.ts'
import { outcomeSuffix, stopAndWait, deferralNote, optionalFields } from '../actions/stop-and-wait.ts'
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
  return forEachProcess(call, async (ref) => {
    if (signal === 'SIGTERM') return stopAndWait(reeve, ref, { signal, graceMs: grace, subtree })
    if (signal === 'SIGKILL') return stopAndWait(reeve, ref, { signal, subtree })
    const answer = await (subtree ? reeve.signalTree(ref, signal) : reeve.signal(ref, signal))
    const message = stripControls(
      `${processTitle(answer.process)} got ${signal} (${answer.process.status})${outcomeSuffix(answer)}${deferralNote(answer.process, signal)}`,
    )
    return { message, fields: { affected: answer.affected, process: answer.process, ...optionalFields(answer) } }
  })
}
