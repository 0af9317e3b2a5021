// The commits or refs that show a task's change, by its state, its last verdict and its commit.
import { expect, test } from 'vitest'
import { diffSourceOf, type DiffSource } from '../../../../src/daemon/crew/diff.ts'
import type { DiffSelection } from '../../../../src/kernel/model/crew/words.ts'
import type { Task } from '../../../../src/kernel/model/crew/crew.ts'

type Row = Pick<Task, 'state' | 'verdict' | 'briefed' | 'commit' | 'merged'>
const makeRow = (state: Task['state'], changes: Partial<Row> = {}): Row => ({
  state,
  verdict: null,
  briefed: false,
  commit: null,
  merged: null,
  ...changes,
})
const APPROVED: Partial<Row> = { verdict: 'APPROVED', briefed: true }
const DENIED: Partial<Row> = { verdict: 'DENIED', briefed: true }

const CASES: readonly [Row, { readonly [W in DiffSelection]: DiffSource }][] = [
  [makeRow('queued'), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('implementing'), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('awaiting_review'), { auto: 'fresh', review: 'fresh', commit: null }],
  [makeRow('in_review'), { auto: 'fresh', review: 'fresh', commit: null }],
  [makeRow('in_review', { briefed: true }), { auto: 'reviewed', review: 'reviewed', commit: null }],
  // The denied version stays on the ref until the next review begins.
  [makeRow('in_review', DENIED), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('addressing_feedback', DENIED), { auto: 'denied', review: 'denied', commit: null }],
  [makeRow('awaiting_review', DENIED), { auto: 'fresh', review: 'fresh', commit: null }],
  [makeRow('waiting', DENIED), { auto: 'fresh', review: 'fresh', commit: null }],
  [makeRow('waiting'), { auto: 'fresh', review: 'fresh', commit: null }],
  [makeRow('waiting', APPROVED), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('approved', APPROVED), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('committing', APPROVED), { auto: 'reviewed', review: 'reviewed', commit: null }],
  [makeRow('merging', { ...APPROVED, commit: 'c' }), { auto: 'commit', review: 'reviewed', commit: 'commit' }],
  [makeRow('done', { ...APPROVED, commit: 'c' }), { auto: 'commit', review: 'reviewed', commit: 'commit' }],
  [makeRow('done', { ...APPROVED, commit: 'c', merged: 'm' }), { auto: 'landed', review: 'reviewed', commit: 'commit' }],
  [makeRow('done'), { auto: 'reviewed', review: 'reviewed', commit: null }],
]

for (const [task, expected] of CASES) {
  test(`the diff sources of a task that is ${task.state}${task.verdict === null ? '' : `, ${task.verdict}`}${task.briefed ? ', with a ref' : ''}${task.merged ? ', merged' : ''}`, () => {
    expect({ auto: diffSourceOf(task, 'auto'), review: diffSourceOf(task, 'review'), commit: diffSourceOf(task, 'commit') }).toEqual(
      expected,
    )
  })
}
