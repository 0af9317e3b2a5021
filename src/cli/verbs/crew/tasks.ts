// `reeve crew tasks`: lists the tasks of a crew with their assignees. Test: test/e2e/cli/crew.test.ts.
import { resolveCrew } from '../../input/which-crew.ts'
import { crewResultLines, crewSummary, crewWaitLines, taskLines } from '../../print/crew.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const crew = await resolveCrew(reeve, args.words[0], out)
  if (out.json) {
    await out.value({ uuid: crew.uuid, tasks: crew.tasks })
    return 0
  }
  await out.message(crewSummary(crew))
  await out.line(taskLines(crew.tasks, out, out.columns).join('\n'))
  for (const line of crewWaitLines(crew)) await out.message(out.paintMessage('yellow', line))
  for (const line of crewResultLines(crew)) await out.message(out.paintMessage('dim', line))
  return 0
}
