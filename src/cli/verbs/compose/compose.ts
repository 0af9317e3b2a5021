// `reeve compose`: lists the runs. Test: test/e2e/cli/compose.test.ts.
import { runTable } from '../../print/compose-table.ts'
import type { CommandContext } from '../../table/verb.ts'

export async function run({ out, reeve }: CommandContext): Promise<number> {
  const runs = await reeve.compose.list()
  if (out.json) await out.value({ runs })
  else
    for (const line of runTable(runs, { columns: out.columns, ellipsis: out.ellipsis, paint: (colour, text) => out.paint(colour, text) }))
      await out.line(line)
  return 0
}
