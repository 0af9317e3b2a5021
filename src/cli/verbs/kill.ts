// `reeve kill`: any signal; SIGTERM with a short grace. Test: test/e2e/cli.test.ts.
import { called } from '../describe.ts'
import { forEach } from '../each.ts'
import { also, end, putOff, rest } from '../end.ts'
import { UsageError } from '../errors.ts'
import { safe } from '../text.ts'
import { signalOf } from '../signals.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const { args, reeve } = call
  const signal = signalOf(args.text('signal') ?? 'SIGTERM')
  const grace = args.duration('grace')
  if (grace !== undefined && signal !== 'SIGTERM') throw new UsageError(`${signal} has no grace`)
  const subtree = args.on('subtree')
  return forEach(call, async (ref) => {
    if (signal === 'SIGTERM') return end(reeve, ref, { signal, graceMs: grace, subtree })
    if (signal === 'SIGKILL') return end(reeve, ref, { signal, subtree })
    const answer = await (subtree ? reeve.signalTree(ref, signal) : reeve.signal(ref, signal))
    const words = safe(`${called(answer.process)} got ${signal} (${answer.process.status})${also(answer)}${putOff(answer.process, signal)}`)
    return { words, fields: { affected: answer.affected, process: answer.process, ...rest(answer) } }
  })
}
