// `reeve crew pause`: a crew with all its members. Test: test/e2e/cli-crew.test.ts.
import { calledCrew, crewOf } from '../crew-ref.ts'
import { also, rest } from '../end.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { uuid } = await crewOf(reeve, args.words[0])
  const answer = await reeve.pause(uuid, { subtree: true, ...(args.on('now') ? { now: true } : {}) })
  if (out.json) await out.value({ affected: answer.affected, process: answer.process, ...rest(answer) })
  else await out.words(`${calledCrew(answer.process)} ${answer.process.status === 'suspended' ? `${out.pauseMark} ` : ''}${answer.process.status}${also(answer)}`)
  return 0
}
