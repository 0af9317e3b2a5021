// `reeve crew ps`: lists the crews, or the members of one. Test: test/e2e/cli/crew.test.ts.
import { resolveCrew } from '../../input/which-crew.ts'
import { crewLines, crewSummary, crewWaitLines, memberLines } from '../../print/crew.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const all = args.on('all')
  if (ref !== undefined) {
    const crew = await resolveCrew(reeve, ref, out)
    if (out.json) {
      await out.value({ crew })
      return 0
    }
    await out.message(crewSummary(crew))
    await out.line(memberLines(crew, out, out.columns, all || crew.exit !== null).join('\n'))
    for (const line of crewWaitLines(crew)) await out.message(out.paintMessage('yellow', line))
    return 0
  }
  const crews = await reeve.crews.list({ all })
  if (out.json) await out.value({ crews })
  else if (!args.on('quiet')) await out.line(crewLines(crews, out, out.columns).join('\n'))
  else if (crews.length > 0) await out.line(crews.map(({ uuid }) => uuid).join('\n'))
  return 0
}
