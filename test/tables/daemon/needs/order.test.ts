// The order of urgency: of all kinds, of suspended processes, and of needs of the same rank.
import { expect, test } from 'vitest'
import { compareNeeds, NEED_KINDS, rankOf } from '../../../../src/daemon/needs/order.ts'
import type { NeedKind } from '../../../../src/daemon/needs/order.ts'

const RANKS: Readonly<Record<NeedKind, readonly [running: number, suspended: number]>> = {
  command: [1, 3],
  edit: [1, 3],
  fetch: [1, 3],
  permission: [1, 3],
  plan: [1, 3],
  choice: [1, 3],
  text: [1, 3],
  gate: [2, 3],
  review: [2, 3],
  'human-task': [2, 3],
  merge: [2, 3],
  hold: [3, 3],
  failed: [4, 4],
  silent: [5, 5],
  finished: [6, 6],
}

test.each(NEED_KINDS)('a need of the kind %s has its rank, while the process runs and while it is suspended', (kind) => {
  expect([rankOf(kind, { isSuspended: false }), rankOf(kind, { isSuspended: true })]).toEqual(RANKS[kind])
})

test('needs are ordered by rank, then by time (the longest wait first, but the newest end first), then by id', () => {
  const makeNeed = (rank: number, at: number, id = 'a'): { rank: number; at: number; id: string } => ({ rank, at, id })
  const ordered = [
    makeNeed(1, 5),
    makeNeed(1, 9, 'a'),
    makeNeed(1, 9, 'b'),
    makeNeed(3, 1),
    makeNeed(4, 8),
    makeNeed(4, 2),
    makeNeed(5, 0),
    makeNeed(6, 7),
    makeNeed(6, 3),
  ]
  expect(ordered.toReversed().toSorted(compareNeeds)).toEqual(ordered)
})
