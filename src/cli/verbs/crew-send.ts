// `reeve crew send`: a message to a member, or to who has a task. Test: test/e2e/cli-crew.test.ts.
import { say } from '../crew-command.ts'
import { UsageError } from '../errors.ts'
import type { CrewView } from '../../api/crew-views.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const [ref = '', text = ''] = call.args.words
  const crew = await call.reeve.crews.get(ref)
  return say(call, crew.uuid, { type: 'send_message', text, ...addressee(crew, call.args.text('to')) })
}

function addressee({ coordinator, members, tasks }: CrewView, to: string | undefined): { to: string; task?: string } {
  const living = members.filter(({ state }) => state !== 'gone')
  const workers = living.filter(({ role }) => role !== 'coordinator').map(({ id }) => id)
  if (to === undefined && coordinator === 'engine') throw new UsageError('to whom? The engine reads no messages', `Say --to with all, one of ${workers.join(', ') || 'its workers'}, or a task.`)
  if (to === undefined) return { to: living.findLast(({ role }) => role === 'coordinator')?.id ?? 'coordinator' }
  const task = tasks.find(({ id }) => id === to)
  if (!task) return { to }
  const holder = living.find((member) => member.task === task.id && member.id === task.implementer)
  if (!holder) throw new UsageError(`nobody has the task ${task.id} (${task.state})`, '`reeve crew tasks` says who has which.')
  return { to: holder.id, task: task.id }
}
