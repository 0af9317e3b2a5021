// `reeve crew priority`: changes the position of a task. Test: test/e2e/cli/crew-retry.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { UsageError } from '../../errors.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', task = '', priority] = call.args.words
  const before = call.args.text('before')
  if ((priority === undefined) === (before === undefined))
    throw new UsageError('give a priority, or --before TASK', 'For example: `reeve crew priority fix lexer 5`.')
  if (before !== undefined) return sendCrewCommand(call, ref, { type: 'set_priority', task, before })
  return sendCrewCommand(call, ref, { type: 'set_priority', task, priority: parsePriority(priority ?? '') })
}

/** Parses a priority. Errors: usage. */
export function parsePriority(text: string): number {
  if (!/^[+-]?\d{1,6}$/.test(text))
    throw new UsageError(
      `"${text}" is not a priority`,
      'Give a whole number: default 0, higher is earlier. Put `--` before a negative one.',
    )
  return Number(text)
}
