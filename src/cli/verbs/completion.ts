// `reeve completion`: the script for a shell, and what that script asks. An answer to a shell is never an error: it would
// stand in the middle of what somebody types. Test: test/e2e/completion.test.ts.
import { nearest } from '../../config/nearest.ts'
import { complete } from '../completion.ts'
import { UsageError } from '../errors.ts'
import type { Output } from '../output.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out }: Call): Promise<number> {
  if (args.command !== null) return answer(args.command, out)
  const { SCRIPTS } = await import('../completion-scripts.ts')
  const [shell = ''] = args.words
  if (!Object.hasOwn(SCRIPTS, shell)) {
    const near = nearest(shell, Object.keys(SCRIPTS))
    throw new UsageError(shell === '' ? 'for which shell?' : `there is no completion for ${shell}`, near ? `Did you mean ${near}?` : `There is ${Object.keys(SCRIPTS).join(', ')}.`)
  }
  await out.raw('stdout', SCRIPTS[shell] ?? '')
  return 0
}

/** A line for each word, its meaning behind a tab; what the shell is to do itself begins with a colon. */
async function answer(words: readonly string[], out: Output): Promise<number> {
  try {
    const { words: found, shell } = await complete(words)
    const lines = found.map(([word, about]) => `${word}\t${about}`)
    if (shell !== undefined) lines.push(shell === 'dirs' ? ':dirs' : `:command ${shell}`)
    if (lines.length > 0) await out.raw('stdout', `${lines.join('\n')}\n`)
  } catch {
    // A bad file, say: then there is nothing to offer.
  }
  return 0
}
