// `reeve crew pause`: pauses a crew with all its members. Test: test/e2e/cli/crew.test.ts.
import { crewTitle, resolveLivingCrew } from '../../input/which-crew.ts'
import { outcomeFields, outcomeSuffix } from '../../actions/signal-outcome.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { uuid } = await resolveLivingCrew(reeve, args.words[0])
  const answer = await reeve.pause(uuid, { subtree: true, ...(args.on('now') ? { now: true } : {}) })
  if (out.json) await out.value({ affected: answer.affected, process: answer.process, ...outcomeFields(answer) })
  else
    await out.message(
      `${crewTitle(answer.process)} ${answer.process.status === 'suspended' ? `${out.pauseMark} ` : ''}${answer.process.status}${outcomeSuffix(answer)}`,
    )
  return 0
}
