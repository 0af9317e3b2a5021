// `reeve crew retry`: retries a failed or cancelled task. Test: test/e2e/cli/crew-retry.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', task = ''] = call.args.words
  return sendCrewCommand(call, ref, { type: 'retry_task', task })
}
