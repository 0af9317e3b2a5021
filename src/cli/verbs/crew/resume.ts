// `reeve crew resume`: resumes a crew with all members that were paused with it. An ended crew gets a new incarnation. Test:
// test/e2e/cli/crew.test.ts.
import { findBlock } from '../../print/blocked.ts'
import { crewTitle, resolveCrew } from '../../input/which-crew.ts'
import { outcomeFields, outcomeSuffix } from '../../actions/signal-outcome.ts'
import { parseLimitChanges } from '../../input/limit-flags.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { uuid } = await resolveCrew(reeve, args.words[0])
  const answer = await reeve.resume(uuid, { subtree: true, ...parseLimitChanges(args) })
  if (out.json) await out.value({ affected: answer.affected, process: answer.process, ...outcomeFields(answer) })
  else await out.message(`${crewTitle(answer.process)} ${answer.process.status}${outcomeSuffix(answer)}`)
  const block = findBlock(answer.process)
  // A crew that is not suspended may have a question. A question is printed with the commands that answer it.
  if (block && !out.json) await out.message(answer.process.status === 'suspended' ? block.next : oneLine(`${block.why}; ${block.next}`))
  // The crew is still suspended, because of another hold.
  return answer.process.status === 'suspended' ? 1 : 0
}
