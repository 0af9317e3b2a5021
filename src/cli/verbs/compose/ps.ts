// `reeve compose ps`: lists the nodes of a run, or the runs. Test: test/e2e/cli/compose.test.ts.
import { pickRun } from '../../input/which-run.ts'
import { nodeTable, runSummary } from '../../print/compose-table.ts'
import { resolveForRead } from '../../input/which-process.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const [ref] = args.words
  if (args.on('all')) return (await import('./compose.ts')).run(call)
  const runs = ref === undefined ? await reeve.compose.list() : []
  // Without any run, a program gets an empty list, and a user an error with a hint.
  if (out.json && ref === undefined && runs.length === 0) {
    await out.value({ runs })
    return 0
  }
  const found =
    ref === undefined ? pickRun(runs, process.cwd()) : await resolveForRead(ref, out, (resolvedRef) => reeve.compose.get(resolvedRef))
  if (out.json) await out.value({ run: found })
  else {
    await out.message(runSummary(found))
    for (const line of nodeTable(found, { columns: out.columns, ellipsis: out.ellipsis, paint: (colour, text) => out.paint(colour, text) }))
      await out.line(line)
  }
  return 0
}
