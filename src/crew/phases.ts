// The phases of a worker: what it does for a task. Owns the one table of phases × events and the one function that makes a new
// phase; what is not in the table is CONFLICT, and changes nothing. Must never know who asked. Test: test/tables/crew-machines.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { Phase } from './types.ts'

/** A task is given to it, or a review · it reports · its work is sent back, or may be committed · it is done with it, for any reason. */
export type PhaseEvent = 'assign' | 'review' | 'report' | 'deny' | 'commit' | 'release'

const NOTHING = { assign: 'illegal', review: 'illegal', report: 'illegal', deny: 'illegal', commit: 'illegal', release: 'illegal' } as const

export const PHASES: { readonly [P in Phase]: { readonly [E in PhaseEvent]: Phase | 'illegal' } } = {
  idle: { ...NOTHING, assign: 'implementing', review: 'reviewing' },
  implementing: { ...NOTHING, report: 'awaiting_review', release: 'idle' },
  awaiting_review: { ...NOTHING, commit: 'committing', deny: 'addressing_feedback', release: 'idle' },
  addressing_feedback: { ...NOTHING, report: 'awaiting_review', release: 'idle' },
  reviewing: { ...NOTHING, release: 'idle' },
  committing: { ...NOTHING, release: 'idle' },
}

/** The phase after an event. Errors: CONFLICT where the table has none. */
export function nextPhase(phase: Phase, event: PhaseEvent): Phase {
  const next = PHASES[phase][event]
  if (next === 'illegal') throw new KernelError('CONFLICT', `a worker that is ${phase.replaceAll('_', ' ')} cannot ${event}`)
  return next
}
