// What the dialog of a fork sends: the fields that were filled in, and nothing with a budget that is no number.
import { expect, test } from 'vitest'
import { changesOf, type ForkFields } from '../../../web/dialogs/fork-form.ts'

const EMPTY: ForkFields = { message: '', model: '', effort: '', name: '', budget: '', withFiles: false }

test.each<[string, Partial<ForkFields>, object]>([
  ['nothing', {}, {}],
  [
    'all that was filled in',
    { message: 'try it', model: 'a/b', effort: 'high', name: 'two', budget: '2.5', withFiles: true },
    { message: 'try it', model: 'a/b', effort: 'high', name: 'two', limits: { budgetUsd: 2.5 }, withFiles: true },
  ],
  ['no budget for spaces', { budget: ' ' }, {}],
  ['no effort that reeve does not know', { effort: 'huge' }, {}],
])('the request has %s', (_, fields, expected) => {
  expect(changesOf({ ...EMPTY, ...fields })).toEqual(expected)
})

test.each(['much', '5,00', '-5', '0', '5 USD', 'Infinity'])('nothing is sent with the budget %j', (budget) => {
  expect(changesOf({ ...EMPTY, message: 'try it', budget })).toBe(null)
})
