// `reeve crew roles`: the roles of crews, and the prompt of one. Test: test/e2e/cli-crew.test.ts.
import { ApiError } from '../../api/client.ts'
import type { RoleProblem } from '../../api/role-views.ts'
import { nearest } from '../../config/nearest.ts'
import { ERRORS } from '../../kernel/errors.ts'
import { table } from '../columns.ts'
import { UsageError } from '../errors.ts'
import { oneLine, safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { roles, errors } = await reeve.crews.roles()
  const [name] = args.words
  if (name === undefined) {
    if (out.json) await out.value({ roles, errors })
    else for (const line of table([{ title: 'ROLE' }, { title: 'SOURCE' }, { title: 'FILE' }], roles.map(({ role, source, file }) => [role, source, oneLine(file ?? '-')]), out.columns, out.ellipsis)) await out.line(line)
    if (!out.json) for (const error of errors) await out.words(out.paintWords('red', oneLine(placed(error))))
    return 0
  }
  const wrong = errors.find(({ role }) => role === name)
  if (wrong) throw new ApiError('AGENT_INVALID', placed(wrong), { hint: ERRORS.AGENT_INVALID.hint, details: { ...wrong } })
  const found = roles.find(({ role }) => role === name)
  const near = nearest(name, roles.map(({ role }) => role))
  if (!found) throw new UsageError(`there is no role "${name}"`, near ? `Did you mean ${near}?` : `There are ${roles.map(({ role }) => role).join(', ')}.`)
  if (out.json) await out.value(found)
  else await out.line(out.isTerminal('stdout') ? safe(found.prompt) : found.prompt)
  return 0
}

function placed({ file, line, message }: RoleProblem): string {
  return `${file}${line > 0 ? `:${line}` : ''}: ${message}`
}
