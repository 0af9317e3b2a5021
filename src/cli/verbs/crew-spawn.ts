// `reeve crew spawn`: one more worker. Test: test/e2e/cli-crew-members.test.ts.
import { say } from '../crew-command.ts'
import { UsageError } from '../errors.ts'
import type { Call } from '../verbs.ts'

const ROLES = ['generic', 'implementer', 'reviewer', 'researcher'] as const

export async function run(call: Call): Promise<number> {
  const [ref = '', word = 'generic'] = call.args.words
  const role = ROLES.find((each) => each === word)
  if (!role) throw new UsageError(`there is no worker "${word}"`, `There are ${ROLES.join(', ')}.`)
  return say(call, ref, { type: 'spawn_worker', role })
}
