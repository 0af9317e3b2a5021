// `reeve crew resume`: a crew goes on with all that was paused with it; one that has ended begins again. Test: test/e2e/cli-crew.test.ts.
import { calledCrew, crewOf } from '../crew-ref.ts'
import { also, rest } from '../end.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { uuid } = await crewOf(reeve, args.words[0])
  const answer = await reeve.resume(uuid, { subtree: true })
  if (out.json) await out.value({ affected: answer.affected, process: answer.process, ...rest(answer) })
  else await out.words(`${calledCrew(answer.process)} ${answer.process.status}${also(answer)}`)
  return 0
}
