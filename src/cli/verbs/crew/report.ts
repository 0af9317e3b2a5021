// `reeve crew report`: prints the report of a crew as Markdown or JSON. Test: test/e2e/crew/report.test.ts.
import { resolveCrew } from '../../input/which-crew.ts'
import { crewReportText } from '../../print/crew-report.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const report = await reeve.crews.report((await resolveCrew(reeve, args.words[0], out)).uuid)
  if (out.json) await out.value(report)
  else await out.line(crewReportText(report).join('\n'))
  return 0
}
