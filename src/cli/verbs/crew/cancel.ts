// `reeve crew cancel`: cancels a task, or returns it to the queue. Test: test/e2e/cli/crew.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', task = '', reason = 'at the request of the user'] = call.args.words
  return sendCrewCommand(call, ref, { type: 'cancel_task', task, reason, requeue: call.args.on('requeue') })
}
