// `reeve crew assign`: a task to a worker; one that is done and not reviewed yet, to its reviewer. Test: test/e2e/cli-crew.test.ts.
import { say } from '../crew-command.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const [ref = '', task = '', member = ''] = call.args.words
  const crew = await call.reeve.crews.get(ref)
  const isDone = crew.tasks.some(({ id, state }) => id === task && state === 'awaiting_review')
  return say(call, crew.uuid, { type: isDone ? 'assign_review' : 'assign_task', task, member })
}
