// `reeve crew assign`: assigns a task to a worker, or a task that awaits its review to a reviewer. Test: test/e2e/cli/crew.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', task = '', member = ''] = call.args.words
  const crew = await call.reeve.crews.get(ref)
  const awaitsReview = crew.tasks.some(({ id, state }) => id === task && state === 'awaiting_review')
  return sendCrewCommand(call, crew.uuid, { type: awaitsReview ? 'assign_review' : 'assign_task', task, member })
}
