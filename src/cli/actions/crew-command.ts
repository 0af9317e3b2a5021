// Sends a command of the user to a crew, and prints the outcome. Most verbs of `reeve crew` use it. Test: test/e2e/cli/crew.test.ts.
import type { CrewCommandBody } from '../../api/views/crew.ts'
import { stripControls } from '../print/text.ts'
import { crewTitle } from '../input/which-crew.ts'
import { resolveForAction } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

export async function sendCrewCommand({ out, reeve }: VerbCall, ref: string, command: CrewCommandBody): Promise<number> {
  const { crew, note } = await resolveForAction(ref, (crewRef) => reeve.crews.command(crewRef, command))
  if (out.json) await out.value({ crew, note })
  else await out.message(stripControls(note ?? `${crewTitle(crew)}: done`))
  return 0
}
