// `reeve crew`: which parts the family has. Test: test/e2e/cli-crew.test.ts.
import { pad } from '../text.ts'
import { verbNamed } from '../verb-names.ts'
import type { Call } from '../verbs.ts'

export async function run({ out }: Call): Promise<number> {
  const parts = Object.entries(verbNamed('crew')?.parts ?? {})
  if (out.json) await out.value({ verbs: parts.map(([name, { summary, usage }]) => ({ name: `crew ${name}`, summary, usage })) })
  else for (const [name, { summary }] of parts) await out.line(`reeve crew ${pad(name, 9)}${summary.charAt(0).toLowerCase()}${summary.slice(1)}`)
  return 0
}
