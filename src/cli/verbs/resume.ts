// `reeve resume`: wakes what is suspended, begins a new incarnation of what has ended. Test: test/e2e/cli.test.ts.
import type { Limits } from '../../kernel/types.ts'
import type { Args } from '../args.ts'
import { called, hasEnded, spawned } from '../describe.ts'
import { also } from '../end.ts'
import { shortId } from '../format.ts'
import { effortOf } from '../effort.ts'
import { patiently } from '../patience.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const before = await reeve.get(args.words[0] ?? '')
  const message = args.text('message')
  const model = args.text('model')
  const effort = effortOf(args.text('effort'))
  const asked = reeve.resume(before.uuid, {
    subtree: args.on('subtree'), only: args.on('only'), rerun: args.on('rerun'),
    ...(message === undefined ? {} : { message }), ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }), ...limitsOf(args),
  })
  const answer = await patiently(out, () => 'reading its history', asked)
  const { process } = answer
  if (out.json) await out.value({ ...answer })
  else if (hasEnded(before)) await out.words(safe(`${spawned(process)} | resumed from ${shortId(before.uuid)}${also(answer)}`))
  else await out.words(safe(`${called(process)} ${process.status}${also(answer)}`))
  // Its limits are those of its incarnation: only a new one can have others.
  if (!out.json && process.holds.some(({ reason }) => reason === 'budget')) {
    await out.words(`for a larger budget: reeve stop ${process.pid} && reeve resume --budget-usd X ${process.pid} (or --budget-tokens N)`)
  }
  return 0
}

function limitsOf(args: Args): { limits?: Limits } {
  const given = {
    maxSteps: args.number('max-steps'), timeoutMs: args.duration('timeout'), budgetUsd: args.number('budget-usd'), budgetTokens: args.number('budget-tokens'),
  }
  const limits = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return Object.keys(limits).length === 0 ? {} : { limits }
}
