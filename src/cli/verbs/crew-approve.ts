// `reeve crew approve`: a person's yes to the commit of a task. Test: test/e2e/cli-crew.test.ts.
import { say } from '../crew-command.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const [ref = '', task = ''] = call.args.words
  return say(call, ref, { type: 'approve_commit', task })
}
