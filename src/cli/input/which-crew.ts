// Finds the crew of a verb. Without a name it is the only living crew, or if none is alive, the crew that ended last. Test:
// test/e2e/cli/crew.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import { resumeCommandText } from '../../api/text/crew-end.ts'
import type { CrewView } from '../../api/views/crew.ts'
import type { Reeve } from '../../index.ts'
import { Failure, UsageError } from '../errors.ts'
import { resolveForRead, resolveForEnd } from './which-process.ts'
import type { Output } from '../print/output.ts'
import { crewEndText, crewResultLines } from '../print/crew.ts'
import { oneLine } from '../print/text.ts'

/**
 * Returns the crew with this name, PID or ID. `noteOutput`: the output of a verb that only reads. If several ended crews share the name,
 * such a verb gets the newest, and prints a note. Errors: usage if several crews are alive and none is named; exit 3 if there is no crew.
 */
export async function resolveCrew(reeve: Reeve, ref: string | undefined, noteOutput?: Output): Promise<CrewView> {
  if (ref !== undefined)
    return noteOutput ? resolveForRead(ref, noteOutput, (resolvedRef) => reeve.crews.get(resolvedRef)) : reeve.crews.get(ref)
  const living = await reeve.crews.list()
  const [first] = living
  if (first && living.length === 1) return first
  if (living.length > 1)
    throw new UsageError(`several crews are alive: ${living.map(crewTitle).join(', ')}`, 'Name one by name, PID or ID.')
  const last = (await reeve.crews.list({ all: true })).at(-1)
  if (last) return last
  throw new Failure(3, 'there is no crew', '`reeve crew up` starts one; see `reeve help crew up`.')
}

/** Returns the crew for a verb that ends or pauses it. Errors: those of `resolveCrew`; `NOT_FOUND` (exit 3) if it has ended. */
export async function resolveLivingCrew(reeve: Reeve, ref: string | undefined): Promise<CrewView> {
  const crew = ref === undefined ? await resolveCrew(reeve, ref) : await resolveForEnd(ref, (resolvedRef) => reeve.crews.get(resolvedRef))
  if (crew.exit === null) return crew
  throw new ApiError('NOT_FOUND', `crew ${crewTitle(crew)} has ended: ${crewEndText(crew, Date.now())}`, {
    hint: [...(crew.resumable ? [resumeCommandText(crew)] : []), ...crewResultLines(crew)].map(oneLine).join('; '),
  })
}

/** Returns the name and the PID of a crew: `fix (PID 5)`. */
export function crewTitle({ name, pid }: Pick<CrewView, 'name' | 'pid'>): string {
  return name === null ? `PID ${pid}` : `${oneLine(name)} (PID ${pid})`
}
