// The words for what the row of a process does not allow.
import { expect, test } from 'vitest'
import type { RowView } from '../../../src/api/views/rows.ts'
import { obstacleTo } from '../../../src/faces/row-obstacles.ts'
import type { RowVerb } from '../../../src/faces/row-verbs.ts'
import { BIRTH, rowOf } from '../../support/faces/rows.ts'

const BUDGET = { limit: 'budgetUsd', used: 4, reserved: 0, of: 5, warnAt: 0.8 } as const
const ENDED = { status: 'completed', endedAt: BIRTH } as const
const HELD = { status: 'suspended' } as const
const STOPPING = { status: 'stopping' } as const
type Why = NonNullable<RowView['why']>
const why = (kind: Why['kind'], can: NonNullable<Why['can']>): Pick<RowView, 'why'> => ({ why: { kind, text: kind, since: BIRTH, can } })

test.each<[RowVerb, string, Partial<RowView>, string | null]>([
  ['pauseOrResume', 'working', {}, null],
  ['pauseOrResume', 'held by the disk', { ...HELD, ...why('disk', ['doctor']) }, 'fix waits for something that no resume ends'],
  ['pauseOrResume', 'ended', ENDED, 'fix has ended'],
  ['pauseOrResume', 'stopping', STOPPING, 'fix is being stopped'],
  ['resumeWith', 'paused', { ...HELD, ...why('hold:user', ['resume']) }, null],
  ['resumeWith', 'running', {}, 'fix runs: m writes a message'],
  ['resumeWith', 'held by the disk', { ...HELD, ...why('disk', ['doctor']) }, 'fix waits for something that no resume ends'],
  ['resumeWith', 'ended without a history', { ...ENDED, resumes: false }, 'fix cannot be resumed: it has no history to continue'],
  ['pauseNow', 'suspended', HELD, 'fix is suspended already'],
  ['interrupt', 'ready', { status: 'ready' }, 'fix has no turn that can be interrupted now'],
  ['message', 'a crew', { kind: 'crew' }, 'fix takes no messages: it is a crew'],
  ['message', 'ended', ENDED, 'fix has ended: R resumes it with a message'],
  ['message', 'ended for ever', { ...ENDED, resumes: false }, 'fix has ended'],
  ['raiseBudget', 'suspended', { ...HELD, budget: BUDGET }, null],
  ['raiseBudget', 'running', { budget: BUDGET }, 'fix runs: its budget can be raised while it is suspended; p pauses it'],
  ['raiseBudget', 'without a budget', HELD, 'fix has no budget in USD that is its nearest limit'],
  ['fork', 'after a step', { step: 2 }, null],
  ['fork', 'in its first step', { step: 1 }, 'fix cannot be forked yet: it has finished no step'],
  ['fork', 'without a history', { step: 9, forks: 'no' }, 'fix cannot be forked: it has no history that another process can continue'],
  ['stop', 'stopping', STOPPING, 'fix is being stopped'],
  ['kill', 'ended', ENDED, 'fix has ended'],
  ['markSeen', 'seen', {}, 'fix has nothing that you have not seen'],
  ['snooze', 'not in need of the user', {}, 'fix needs nothing that can be put off'],
  ['snooze', 'asking', { attention: 6 }, null],
])('%s of a process that is %s', (verb, _, fields, expected) => {
  expect(obstacleTo(verb, rowOf({ name: 'fix', ...fields }))).toBe(expected)
})
