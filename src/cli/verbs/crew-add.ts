// `reeve crew add`: one more task. Test: test/e2e/cli-crew.test.ts.
import { say } from '../crew-command.ts'
import { UsageError } from '../errors.ts'
import type { CrewCommandBody } from '../../api/crew-views.ts'
import type { Call } from '../verbs.ts'

const TASK_ROLES = ['generic', 'implementer', 'researcher'] as const

export async function run(call: Call): Promise<number> {
  const { args } = call
  const [ref = '', text = ''] = args.words
  const role = args.text('role')
  const known = TASK_ROLES.find((each) => each === role)
  if (role !== undefined && !known) throw new UsageError(`--role ${role}: there is ${TASK_ROLES.join(', ')}`)
  const needs = args.list('needs')
  const command: CrewCommandBody = {
    type: 'add_task', text,
    ...given('id', args.text('id')), ...given('title', args.text('title')), ...given('acceptance', args.text('acceptance')), ...given('needs', needs && [...needs]), ...given('role', known),
    ...(args.on('human') ? { kind: 'human' } : {}), ...(args.on('no-reviews') ? { reviews: false } : {}),
  }
  return say(call, ref, command)
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
