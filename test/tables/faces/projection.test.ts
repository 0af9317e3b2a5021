// When a budget is used up, as lists and the page of a process state it.
import { expect, test } from 'vitest'
import { fullInText } from '../../../src/faces/projection.ts'

const budget = { limit: 'budgetUsd' as const, used: 4, of: 10 }

test.each([
  ['in minutes', budget, 0.5, 'full in ~12m'],
  ['soon', { ...budget, used: 9.99 }, 0.5, 'full in ~1s'],
  ['not without spending', budget, 0, null],
  ['not if it is full', { ...budget, used: 10 }, 0.5, null],
  ['not if it lasts for more than a day', budget, 0.001, null],
  ['not for another limit than money', { ...budget, limit: 'maxSteps' as const }, 0.5, null],
])('%s', (_, given, perMinute, text) => {
  expect(fullInText(given, perMinute)).toBe(text)
})
