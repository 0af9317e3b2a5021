// `reeve compose`: which runs there are. Test: test/e2e/cli-compose.test.ts.
import { runTable } from '../compose-table.ts'
import type { Call } from '../verbs.ts'

export async function run({ out, reeve }: Pick<Call, 'out' | 'reeve'>): Promise<number> {
  const runs = await reeve.compose.list()
  if (out.json) await out.value({ runs })
  else for (const line of runTable(runs, { columns: out.columns, ellipsis: out.ellipsis, paint: (colour, text) => out.paint(colour, text) })) await out.line(line)
  return 0
}
