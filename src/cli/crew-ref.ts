// Which crew is meant where a verb is given none: the only one that lives, or the newest that has ended.
// Test: test/e2e/cli-crew.test.ts.
import type { CrewView } from '../api/crew-views.ts'
import type { Reeve } from '../index.ts'
import { Failure, UsageError } from './errors.ts'
import { oneLine } from './text.ts'

/** Errors: usage where there are several, 3 where there is none. */
export async function crewOf(reeve: Reeve, ref: string | undefined): Promise<CrewView> {
  if (ref !== undefined) return reeve.crews.get(ref)
  const living = await reeve.crews.list()
  const [first] = living
  if (first && living.length === 1) return first
  if (living.length > 1) throw new UsageError(`which crew? There are ${living.map(calledCrew).join(', ')}`, 'Name one: its name, PID or ID.')
  const last = (await reeve.crews.list({ all: true })).at(-1)
  if (last) return last
  throw new Failure(3, 'there is no crew', '`reeve crew up` starts one; `reeve help crew up` says how.')
}

/** `fix (PID 5)`. */
export function calledCrew({ name, pid }: Pick<CrewView, 'name' | 'pid'>): string {
  return name === null ? `PID ${pid}` : `${oneLine(name)} (PID ${pid})`
}
