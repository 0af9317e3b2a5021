// `reeve top`: all processes on one screen, or as text. Test: test/e2e/screen/top.test.ts.
import { parseFilter } from '../../faces/filter.ts'
import { UsageError } from '../errors.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const options = { showsEnded: args.on('all'), filter: args.words.join(' '), isReadOnly: args.on('read-only') }
  // A condition about the tree can only be checked with the rows.
  const wrong = parseFilter(options.filter).find(({ error, text }) => error !== undefined && !text.includes('under:'))
  if (wrong?.error !== undefined) throw new UsageError(wrong.error)
  const { printOnce, printChanges } = await import('../top/plain.ts')
  if (args.on('once')) {
    await printOnce(reeve, out, options)
    return 0
  }
  if (args.on('plain') || out.json || !out.isTerminal('stdout') || !out.canRedraw) {
    await printChanges(reeve, out, options)
    return 0
  }
  return await (await import('../top/top.ts')).runTop(reeve, out, options)
}
