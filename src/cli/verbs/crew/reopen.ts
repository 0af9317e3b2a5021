// `reeve crew reopen`: returns a finished task to the queue, with comments. Test: test/e2e/cli/crew-retry.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { UsageError } from '../../errors.ts'
import { readCommentText, parseLineComment } from '../../input/line-comments.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  const [ref = '', task = ''] = args.words
  const comments = readCommentText(args.text('comments'))
  const lines = args.texts('comment').map(parseLineComment)
  if (comments === undefined && lines.length === 0)
    throw new UsageError(
      'the comments are missing',
      'For example: `reeve crew reopen fix lexer --comments "empty strings are not covered"`.',
    )
  return sendCrewCommand(call, ref, {
    type: 'reopen_task',
    task,
    ...(comments === undefined ? {} : { comments }),
    ...(lines.length === 0 ? {} : { lines }),
  })
}
