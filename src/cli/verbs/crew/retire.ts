// `reeve crew retire`: retires a worker. Test: test/e2e/cli/crew-members.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', member = '', reason = 'at the request of the user'] = call.args.words
  return sendCrewCommand(call, ref, { type: 'retire_worker', member, reason })
}
