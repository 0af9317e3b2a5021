// `reeve crew follow`: follows the events of a crew until it has ended. Test: test/e2e/cli/crew.test.ts.
import { crewInterrupts, followCrew } from '../../follow/crew.ts'
import { resolveCrew } from '../../input/which-crew.ts'
import { CrewPrinter } from '../../follow/crew-printer.ts'
import { hasEnded } from '../../print/process-text.ts'
import { JsonPrinter } from '../../follow/plain-printers.ts'
import type { ProcessView } from '../../../api/views/process.ts'
import type { CommandContext, VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  using interrupts = crewInterrupts(out, true)
  const { uuid } = await resolveCrew(reeve, args.words[0], out)
  // Read before the process: an event that comes in between is printed.
  const { cursor: after } = await reeve.daemon()
  const process = await reeve.get(uuid)
  if (hasEnded(process) && !args.on('all')) return await printFinalState(process, { out, reeve })
  return await followCrew(process, { out, reeve, interrupts, after: args.on('all') ? 0 : after })
}

/** the exit code if that of the crew is unknown */
const UNKNOWN_EXIT_CODE = 125

/** Prints the final state of an ended crew. */
async function printFinalState(process: ProcessView, { out, reeve }: CommandContext): Promise<number> {
  await (out.json ? new JsonPrinter(out) : new CrewPrinter(out, reeve)).printEnd(process)
  return process.exit?.code ?? UNKNOWN_EXIT_CODE
}
