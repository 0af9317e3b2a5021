// `reeve crew cancel`: a task is given up, or goes back to the queue. Test: test/e2e/cli-crew.test.ts.
import { say } from '../crew-command.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const [ref = '', task = '', reason = 'a person said so'] = call.args.words
  return say(call, ref, { type: 'cancel_task', task, reason, requeue: call.args.on('requeue') })
}
