// The fold of a crew's facts into the row of its process. Also has two other rules of the fold. While an ask is open, a crew has another
// activity. Before a turn, the usage of a member is kept with all counters. Must never decide.
// Test: test/properties/fold.test.ts, test/tables/kernel/decide/crew-process/apply-command.test.ts.
import { NEW_CREW, foldCrew } from '../crew/state/fold.ts'
import { usageTotals } from '../model/usage-totals.ts'
import type { CrewFact } from '../model/crew/facts.ts'
import type { Fact, FactBody } from '../model/facts.ts'
import type { Process } from '../model/process.ts'
import type { Activity } from '../model/words.ts'
import type { UsageTotals } from '../model/usage.ts'

export function isCrewFact(body: FactBody): body is CrewFact {
  return body.type.startsWith('crew.') || body.type.startsWith('task.')
}

export function applyCrewFact(process: Process, { seq, at }: Fact, body: CrewFact): Process {
  return { ...process, crew: foldCrew(process.crew ?? NEW_CREW, { seq, at, body }) }
}

/** The activity of a process that has nothing in progress. A crew waits while it has an open ask. */
export function idleActivity({ spec, asks = [] }: Pick<Process, 'spec' | 'asks'>): Activity {
  return spec.crew !== undefined && asks.some(({ answer }) => answer === undefined) ? 'waiting' : 'ready'
}

/** The usage at the start of a turn: all counters for a crew member, only the cost for any other process. */
export function usageBeforeTurn({ spec, usage }: Process): { readonly before?: UsageTotals } {
  if (spec.member) return { before: usageTotals(usage) }
  return usage.costUsd > 0 ? { before: { costUsd: usage.costUsd } } : {}
}

/** Marks a crew as waiting for the user. A crew that is still starting waits as soon as it is ready. */
export function markWaiting(process: Process): Process {
  const { life } = process
  return life.state === 'running' && life.activity !== 'starting' ? { ...process, life: { ...life, activity: 'waiting' } } : process
}
