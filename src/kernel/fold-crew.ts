// What the facts of a crew change in its process: a row of the fold (fold.ts), kept apart as crews have a fold of their own.
// Owns that what a crew asks outlives its incarnations: it is asked by its tasks, which stand in the row.
// Must never decide. Test: test/properties/fold.test.ts, test/tables/crewing.test.ts.
import { NEW_CREW, foldCrew } from '../crew/fold.ts'
import { spentOf } from './spent.ts'
import type { CrewFact } from '../crew/facts.ts'
import type { Fact, FactBody } from './facts.ts'
import type { Spent } from './spent.ts'
import type { Activity, Process } from './types.ts'

export function isCrewFact(body: FactBody): body is CrewFact {
  return body.type.startsWith('crew.') || body.type.startsWith('task.')
}

export function crewAfter(process: Process, { seq, at }: Fact, body: CrewFact): Process {
  return { ...process, crew: foldCrew(process.crew ?? NEW_CREW, { seq, at, body }) }
}

/** What it does when nothing is under way: a crew waits while it asks something. */
export function atRest({ spec, asks = [] }: Pick<Process, 'spec' | 'asks'>): Activity {
  return spec.crew !== undefined && asks.some(({ answer }) => answer === undefined) ? 'waiting' : 'ready'
}

/** What it had used when its turn began: a crew counts by turns, and for others only the money is told. */
export function turnBase({ spec, usage }: Process): { readonly before?: Spent } {
  if (spec.member) return { before: spentOf(usage) }
  return usage.costUsd > 0 ? { before: { costUsd: usage.costUsd } } : {}
}

/** It may ask before it has begun; then it waits as soon as it is ready. */
export function whileAsking(process: Process): Process {
  const { life } = process
  return life.state === 'running' && life.activity !== 'starting' ? { ...process, life: { ...life, activity: 'waiting' } } : process
}
