// `reeve agents`: what can be run here, and which files cannot be used. Test: test/e2e/cli.test.ts.
import { table } from '../columns.ts'
import { oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ out, reeve }: Call): Promise<number> {
  const { agents, errors } = await reeve.agents()
  if (out.json) {
    await out.value({ agents, errors })
    return 0
  }
  const columns = [{ title: 'NAME' }, { title: 'DRIVER' }, { title: 'MODEL', min: 8 }, { title: 'DESCRIPTION', min: 11 }, { title: 'FILE', min: 8 }]
  const rows = agents.map(({ name, driver, model, description, file, source }) =>
    [name, driver, model ?? '-', description, file ?? source].map(oneLine))
  for (const line of table(columns, rows, out.columns, out.ellipsis)) await out.line(line)
  for (const { name, unsupported } of agents) for (const what of unsupported) await out.words(out.paintWords('yellow', oneLine(`${name}: ${what}`)))
  for (const { file, line, message } of errors) await out.words(out.paintWords('red', oneLine(`${file}${line > 0 ? `:${line}` : ''}: ${message}`)))
  return 0
}
