// `reeve crew`: lists the verbs for crews. Test: test/e2e/cli/crew.test.ts.
import { padWidth } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ out, loadVerbs }: VerbCall): Promise<number> {
  const parts = Object.entries((await loadVerbs())['crew']?.parts ?? {})
  if (out.json) await out.value({ verbs: parts.map(([name, { summary, usage }]) => ({ name: `crew ${name}`, summary, usage })) })
  else
    for (const [name, { summary }] of parts)
      await out.line(`reeve crew ${padWidth(name, 9)}${summary.charAt(0).toLowerCase()}${summary.slice(1)}`)
  return 0
}
