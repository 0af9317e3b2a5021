// The order of needs that is kept while the user points at them.
import { expect, test } from 'vitest'
import { shownOrder } from '../../../web/needs/shown-order.ts'

test.each([
  ['nothing is kept: the present order', ['b', 'a'], null, { shown: ['b', 'a'], hidden: 0, isUsedUp: false }],
  ['a more urgent need comes: the order stays', ['c', 'a', 'b'], ['a', 'b'], { shown: ['a', 'b'], hidden: 1, isUsedUp: false }],
  ['the urgencies change: the order stays', ['b', 'a'], ['a', 'b'], { shown: ['a', 'b'], hidden: 0, isUsedUp: false }],
  ['a need is answered: it goes', ['c', 'b'], ['a', 'b'], { shown: ['b'], hidden: 1, isUsedUp: false }],
  ['all are answered: the new ones', ['c'], ['a', 'b'], { shown: ['c'], hidden: 0, isUsedUp: true }],
  ['all are answered, and no new one has come', [], ['a'], { shown: [], hidden: 0, isUsedUp: true }],
])('%s', (_, all, frozen, expected) => {
  expect(shownOrder(all, frozen)).toEqual(expected)
})
