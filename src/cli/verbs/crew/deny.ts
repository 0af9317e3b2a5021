// `reeve crew deny`: rejects a task, with comments on the change or on its lines. Test: test/e2e/crew/diff.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { UsageError } from '../../errors.ts'
import { readCommentText, parseLineComment } from '../../input/line-comments.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  const [ref = '', task = '', comments] = args.words
  const lines = args.texts('comment').map(parseLineComment)
  if (comments !== undefined && args.on('comments'))
    throw new UsageError('the comments are given both after the task and with --comments', 'Give them once.')
  const reason = comments ?? readCommentText(args.text('comments'))
  if (reason === undefined && lines.length === 0)
    throw new UsageError(
      'the comments are missing',
      'Give them after the task, or with --comments FILE; for one line use --comment FILE:LINE=TEXT.',
    )
  return sendCrewCommand(call, ref, {
    type: 'deny_task',
    task,
    ...(reason === undefined ? {} : { reason }),
    ...(lines.length === 0 ? {} : { lines }),
  })
}
