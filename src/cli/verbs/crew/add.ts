// `reeve crew add`: adds a task. Test: test/e2e/cli/crew.test.ts.
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { withAbsoluteScriptPath } from '../../input/script-path.ts'
import { UsageError } from '../../errors.ts'
import type { CrewCommandBody } from '../../../api/views/crew.ts'
import { parseNewLimits } from '../../input/limit-flags.ts'
import { parsePriority } from './priority.ts'
import type { VerbCall } from '../../table/verb.ts'
import { TASK_ROLES } from '../../../kernel/model/crew/words.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  const [ref = '', text = ''] = args.words
  const role = args.text('role')
  const knownRole = TASK_ROLES.find((each) => each === role)
  if (role !== undefined && !knownRole) throw new UsageError(`--role ${role}: choose from ${TASK_ROLES.join(', ')}`)
  const needs = args.list('needs')
  const priority = args.text('priority')
  const limits = parseNewLimits(args)
  const verify = args.text('verify')
  const model = args.text('model')
  const command: CrewCommandBody = {
    type: 'add_task',
    text,
    ...optional('id', args.text('id')),
    ...optional('title', args.text('title')),
    ...optional('acceptance', args.text('acceptance')),
    ...optional('needs', needs && [...needs]),
    ...optional('role', knownRole),
    ...optional('limits', Object.keys(limits).length === 0 ? undefined : limits),
    ...optional('priority', priority === undefined ? undefined : parsePriority(priority)),
    ...optional('agent', args.text('agent')),
    ...optional('model', model === undefined ? undefined : withAbsoluteScriptPath(model)),
    ...(args.on('human') ? { kind: 'human' } : {}),
    ...(args.on('no-reviews') ? { reviews: false } : {}),
    ...(verify === undefined ? {} : verify === 'off' ? { verify: false } : { verify: { command: verify } }),
  }
  return sendCrewCommand(call, ref, command)
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
