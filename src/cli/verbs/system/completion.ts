// `reeve completion`: prints the script for a shell, and answers requests of that script. Such a request must never fail: its error would
// appear in the line that the user types. Test: test/e2e/cli/completion.test.ts.
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { completeLine } from '../../completion/complete-line.ts'
import { UsageError } from '../../errors.ts'
import type { Output } from '../../print/output.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, loadVerbs }: VerbCall): Promise<number> {
  if (args.command !== null) return answerShell(args.command, out, loadVerbs)
  const { COMPLETION_SCRIPTS } = await import('../../completion/shell-scripts.ts')
  const [shell = ''] = args.words
  if (!Object.hasOwn(COMPLETION_SCRIPTS, shell)) {
    const near = closestWord(shell, Object.keys(COMPLETION_SCRIPTS))
    throw new UsageError(
      shell === '' ? 'the shell is missing' : `there is no completion for ${shell}`,
      near ? `Did you mean ${near}?` : `Shells: ${Object.keys(COMPLETION_SCRIPTS).join(', ')}.`,
    )
  }
  await out.raw('stdout', COMPLETION_SCRIPTS[shell] ?? '')
  return 0
}

/** Prints a line per candidate: the word, a tab and its description. A line that begins with a colon is an instruction for the shell. */
async function answerShell(words: readonly string[], out: Output, loadVerbs: VerbCall['loadVerbs']): Promise<number> {
  try {
    const { words: found, shell } = await completeLine(await loadVerbs(), words)
    const lines = found.map(([word, about]) => `${word}\t${about}`)
    if (shell !== undefined) lines.push(shell === 'dirs' ? ':dirs' : `:command ${shell}`)
    if (lines.length > 0) await out.raw('stdout', `${lines.join('\n')}\n`)
  } catch {
    // If the candidates cannot be found, for example because a file is invalid, nothing is offered.
  }
  return 0
}
