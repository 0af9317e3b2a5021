// The slots of a list that draws only its visible rows.
import { expect, test } from 'vitest'
import { slotOf } from '../../../web/parts/row-slots.ts'

test.each([1, 40, 200, 201, 750])('the %i rows that a list draws have slots of their own', (drawn) => {
  for (const first of [0, 7, 199, 1_234]) {
    const slots = Array.from({ length: drawn }, (_, index) => slotOf(first + index, drawn))
    expect(new Set(slots).size).toBe(drawn)
  }
})

test('a row that appears reuses the slot of one that has left', () => {
  expect([slotOf(3, 60), slotOf(203, 60), slotOf(203, 61)]).toEqual([3, 3, 3])
})
