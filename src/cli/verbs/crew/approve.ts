// `reeve crew approve`: approves the commit of a task. Test: test/e2e/cli/crew.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', task = ''] = call.args.words
  return sendCrewCommand(call, ref, { type: 'approve_commit', task })
}
