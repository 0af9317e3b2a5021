// `reeve crew ps`: the crews, or the members of one. Tests: test/tables/cli-crew.test.ts, test/e2e/cli-crew.test.ts.
import { crewLines, crewSummary, crewWaits, memberLines } from '../crew-text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref] = args.words
  const all = args.on('all')
  if (ref !== undefined) {
    const crew = await reeve.crews.get(ref)
    if (out.json) {
      await out.value({ crew })
      return 0
    }
    await out.words(crewSummary(crew))
    await out.line(memberLines(crew, out, out.columns, all || crew.exit !== null).join('\n'))
    for (const line of crewWaits(crew)) await out.words(out.paintWords('yellow', line))
    return 0
  }
  const crews = await reeve.crews.list({ all })
  if (out.json) await out.value({ crews })
  else if (!args.on('quiet')) await out.line(crewLines(crews, out, out.columns).join('\n'))
  else if (crews.length > 0) await out.line(crews.map(({ uuid }) => uuid).join('\n'))
  return 0
}
