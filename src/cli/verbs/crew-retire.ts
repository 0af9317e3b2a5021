// `reeve crew retire`: a worker is let go. Test: test/e2e/cli-crew-members.test.ts.
import { say } from '../crew-command.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const [ref = '', member = '', reason = 'a person said so'] = call.args.words
  return say(call, ref, { type: 'retire_worker', member, reason })
}
