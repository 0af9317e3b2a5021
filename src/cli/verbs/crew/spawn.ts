// `reeve crew spawn`: starts another worker. Test: test/e2e/cli/crew-members.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { UsageError } from '../../errors.ts'
import type { VerbCall } from '../../table/verb.ts'
import { WORKER_ROLES } from '../../../kernel/model/crew/words.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', word = 'generic'] = call.args.words
  const role = WORKER_ROLES.find((each) => each === word)
  if (!role) throw new UsageError(`no role "${word}"`, `The roles are ${WORKER_ROLES.join(', ')}.`)
  const task = call.args.text('task')
  return sendCrewCommand(call, ref, { type: 'spawn_worker', role, ...(task === undefined ? {} : { task }) })
}
