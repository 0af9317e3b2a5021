// `reeve crew report`: the account of a crew, as Markdown or JSON. Test: test/e2e/crew-report.test.ts.
import { crewOf } from '../crew-ref.ts'
import { crewReportText } from '../crew-report-text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const report = await reeve.crews.report((await crewOf(reeve, args.words[0])).uuid)
  if (out.json) await out.value(report)
  else await out.line(crewReportText(report).join('\n'))
  return 0
}
