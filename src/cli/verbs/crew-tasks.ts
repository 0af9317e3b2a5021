// `reeve crew tasks`: the tasks of a crew, and who has them. Tests: test/tables/cli-crew.test.ts, test/e2e/cli-crew.test.ts.
import { crewOf } from '../crew-ref.ts'
import { crewNext, crewSummary, crewWaits, taskLines } from '../crew-text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const crew = await crewOf(reeve, args.words[0])
  if (out.json) {
    await out.value({ uuid: crew.uuid, tasks: crew.tasks })
    return 0
  }
  await out.words(crewSummary(crew))
  await out.line(taskLines(crew.tasks, out, out.columns).join('\n'))
  for (const line of crewWaits(crew)) await out.words(out.paintWords('yellow', line))
  for (const line of crewNext(crew)) await out.words(out.paintWords('dim', line))
  return 0
}
