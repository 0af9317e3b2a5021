// Why the row of a process does not allow an action, in words for the user. What is allowed is decided in row-verbs.ts. Pure.
// Test: test/tables/faces/row-obstacles.test.ts.
import type { RowView } from '../api/views/rows.ts'
import { titleOf } from './process-names.ts'
import { allowsVerb, lastWholeStep, type RowVerb } from './row-verbs.ts'

/** The reasons beside the end of the process, which each text assumes not to have come. */
const REASONS: Readonly<Record<RowVerb, (row: RowView) => string>> = {
  pauseOrResume: () => 'waits for something that no resume ends',
  resumeWith: ({ status }) => (status === 'suspended' ? 'waits for something that no resume ends' : 'runs: m writes a message'),
  pauseNow: () => 'is suspended already',
  interrupt: () => 'has no turn that can be interrupted now',
  message: ({ kind }) => `takes no messages: it is a ${kind}`,
  raiseBudget: ({ budget, status }) =>
    budget?.limit === 'budgetUsd' && status !== 'suspended'
      ? 'runs: its budget can be raised while it is suspended; p pauses it'
      : 'has no budget in USD that is its nearest limit',
  fork: (row) =>
    row.forks !== 'no' && lastWholeStep(row) <= 0
      ? 'cannot be forked yet: it has finished no step'
      : 'cannot be forked: it has no history that another process can continue',
  stop: () => 'is being stopped',
  kill: () => 'is being stopped',
  markSeen: () => 'has nothing that you have not seen',
  snooze: () => 'needs nothing that can be put off',
}

/** The actions that an ended process may allow. */
const AFTER_END: ReadonlySet<RowVerb> = new Set(['resumeWith', 'fork', 'markSeen', 'snooze'])

/** Why an action is not possible for a process now, as a sentence for the user; null: it is possible. */
export function obstacleTo(verb: RowVerb, row: RowView): string | null {
  if (allowsVerb(row, verb)) return null
  const name = titleOf(row)
  if (row.endedAt !== null && verb === 'resumeWith') return `${name} cannot be resumed: it has no history to continue`
  if (row.endedAt !== null && !AFTER_END.has(verb))
    return `${name} has ended${verb === 'message' && row.resumes ? ': R resumes it with a message' : ''}`
  const isEnding = row.status === 'stopping' || row.status === 'zombie'
  return `${name} ${isEnding && !AFTER_END.has(verb) ? REASONS.stop(row) : REASONS[verb](row)}`
}
