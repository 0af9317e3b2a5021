// Something that a person says to a crew, and what came of it: what most verbs of the family share. Test: test/e2e/cli-crew.test.ts.
import type { CrewCommandBody } from '../api/crew-views.ts'
import { safe } from './text.ts'
import { calledCrew } from './crew-ref.ts'
import type { Call } from './verbs.ts'

export async function say({ out, reeve }: Call, ref: string, command: CrewCommandBody): Promise<number> {
  const { crew, note } = await reeve.crews.command(ref, command)
  if (out.json) await out.value({ crew, note })
  else await out.words(safe(note ?? `${calledCrew(crew)}: done`))
  return 0
}
