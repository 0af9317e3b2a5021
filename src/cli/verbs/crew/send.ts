// `reeve crew send`: sends a message to a member, or to the assignee of a task. Test: test/e2e/cli/crew.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { UsageError } from '../../errors.ts'
import type { CrewView } from '../../../api/views/crew.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const [ref = '', text = ''] = call.args.words
  const crew = await call.reeve.crews.get(ref)
  return sendCrewCommand(call, crew.uuid, {
    type: 'send_message',
    text,
    ...(call.args.on('now') ? { now: true } : {}),
    ...recipientOf(crew, call.args.text('to')),
  })
}

function recipientOf({ coordinator, members, tasks }: CrewView, to: string | undefined): { to: string; task?: string } {
  const living = members.filter(({ state }) => state !== 'gone')
  const workers = living.filter(({ role }) => role !== 'coordinator').map(({ id }) => id)
  if (to === undefined && coordinator === 'engine')
    throw new UsageError(
      'the recipient is missing: the engine reads no messages',
      `Give --to with all, one of ${workers.join(', ') || 'its workers'}, or a task.`,
    )
  if (to === undefined) return { to: living.findLast(({ role }) => role === 'coordinator')?.id ?? 'coordinator' }
  const task = tasks.find(({ id }) => id === to)
  if (!task) return { to }
  const assignee = living.find((member) => member.task === task.id && member.id === task.implementer)
  if (!assignee) throw new UsageError(`the task ${task.id} has no assignee (${task.state})`, '`reeve crew tasks` lists the assignees.')
  return { to: assignee.id, task: task.id }
}
