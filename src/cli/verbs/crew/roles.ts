// `reeve crew roles`: lists the roles of crews, or prints the prompt of one. Test: test/e2e/cli/crew.test.ts.
import { ApiError } from '../../../api/client/api-error.ts'
import type { RoleProblem } from '../../../api/views/crew-up.ts'
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { ERRORS } from '../../../kernel/model/errors.ts'
import { formatTable } from '../../print/format-table.ts'
import { UsageError } from '../../errors.ts'
import { oneLine, stripControls } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { roles, errors } = await reeve.crews.roles()
  const [name] = args.words
  if (name === undefined) {
    if (out.json) await out.value({ roles, errors })
    else
      for (const line of formatTable(
        [{ title: 'ROLE' }, { title: 'SOURCE' }, { title: 'FILE' }],
        roles.map(({ role, source, file }) => [role, source, oneLine(file ?? '-')]),
        out.columns,
        out.ellipsis,
      ))
        await out.line(line)
    if (!out.json) for (const error of errors) await out.message(out.paintMessage('red', oneLine(problemText(error))))
    return 0
  }
  const problem = errors.find(({ role }) => role === name)
  if (problem) throw new ApiError('AGENT_INVALID', problemText(problem), { hint: ERRORS.AGENT_INVALID.hint, details: { ...problem } })
  const found = roles.find(({ role }) => role === name)
  const near = closestWord(
    name,
    roles.map(({ role }) => role),
  )
  if (!found)
    throw new UsageError(`no role "${name}"`, near ? `Did you mean ${near}?` : `The roles are ${roles.map(({ role }) => role).join(', ')}.`)
  if (out.json) await out.value(found)
  else await out.line(out.isTerminal('stdout') ? stripControls(found.prompt) : found.prompt)
  return 0
}

function problemText({ file, line, message }: RoleProblem): string {
  return `${file}${line > 0 ? `:${line}` : ''}: ${message}`
}
