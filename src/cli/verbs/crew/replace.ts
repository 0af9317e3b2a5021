// `reeve crew replace`: replaces a member with a successor, which takes over its task, files and unread messages. Test:
// test/e2e/cli/crew-members.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

const NO_SUMMARY = 'The user replaced it without a summary.'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', member = '', summary = NO_SUMMARY] = call.args.words
  return sendCrewCommand(call, ref, { type: 'replace_worker', member, summary })
}
