// The phases of a worker. Has the table of phases × events, which `nextPhase` applies. An event that the table does not allow throws
// CONFLICT and changes nothing. The table must never depend on who caused the event.
// Test: test/tables/kernel/crew/state/transition-tables.test.ts.
import { KernelError } from '../../model/errors.ts'
import type { Phase } from '../../model/crew/words.ts'

/**
 * What happens to a worker:
 * `assign`: it gets a task. `review`: it gets a review. `report`: it reports its task. `deny`: its task is sent back.
 * `commit`: its task may be committed. `differ`: its commit is reviewed again. `release`: its work on the task ends, for any reason.
 * `back`: its review ends while its own task still waits. `resume`: it gets back its own task, which waited for the user.
 */
export type PhaseEvent = 'assign' | 'review' | 'report' | 'deny' | 'commit' | 'differ' | 'release' | 'back' | 'resume'

const ALL_ILLEGAL = {
  assign: 'illegal',
  review: 'illegal',
  report: 'illegal',
  deny: 'illegal',
  commit: 'illegal',
  differ: 'illegal',
  release: 'illegal',
  back: 'illegal',
  resume: 'illegal',
} as const

export const PHASE_TABLE: { readonly [P in Phase]: { readonly [E in PhaseEvent]: Phase | 'illegal' } } = {
  idle: { ...ALL_ILLEGAL, assign: 'implementing', review: 'reviewing', resume: 'awaiting_review' },
  implementing: { ...ALL_ILLEGAL, report: 'awaiting_review', release: 'idle' },
  awaiting_review: { ...ALL_ILLEGAL, review: 'reviewing', commit: 'committing', deny: 'addressing_feedback', release: 'idle' },
  addressing_feedback: { ...ALL_ILLEGAL, report: 'awaiting_review', release: 'idle' },
  reviewing: { ...ALL_ILLEGAL, release: 'idle', back: 'awaiting_review' },
  committing: { ...ALL_ILLEGAL, differ: 'awaiting_review', release: 'idle' },
}

/** A phase or task state as readers see it: `awaiting_review` becomes `awaiting review`. */
export function stateText(state: string): string {
  return state.replaceAll('_', ' ')
}

/** The phase after an event. Errors: CONFLICT if the table does not allow the event. */
export function nextPhase(phase: Phase, event: PhaseEvent): Phase {
  const next = PHASE_TABLE[phase][event]
  if (next === 'illegal') throw new KernelError('CONFLICT', `"${event}" is not possible for a worker that is ${stateText(phase)}`)
  return next
}
