// `reeve crew replace`: another takes a member's place, with its task, its files and what it never read. Test: test/e2e/cli-crew-members.test.ts.
import { say } from '../crew-command.ts'
import type { Call } from '../verbs.ts'

const NOTHING = 'A person replaced it, and said nothing more.'

export async function run(call: Call): Promise<number> {
  const [ref = '', member = '', summary = NOTHING] = call.args.words
  return say(call, ref, { type: 'replace_worker', member, summary })
}
