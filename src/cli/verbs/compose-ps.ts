// `reeve compose ps`: the nodes of a run, or the runs. Test: test/e2e/cli-compose.test.ts.
import { pickRun } from '../compose-pick.ts'
import { nodeTable, runSummary } from '../compose-table.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const { args, out, reeve } = call
  const [ref] = args.words
  if (args.on('all')) return (await import('./compose.ts')).run(call)
  const found = ref === undefined ? pickRun(await reeve.compose.list(), process.cwd()) : await reeve.compose.get(ref)
  if (out.json) await out.value({ run: found })
  else {
    await out.words(runSummary(found))
    for (const line of nodeTable(found, { columns: out.columns, ellipsis: out.ellipsis, paint: (colour, text) => out.paint(colour, text) })) await out.line(line)
  }
  return 0
}
