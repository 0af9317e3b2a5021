// When a budget is used up, as lists and the page of a process state it.
import { expect, test } from 'vitest'
import { fullInText } from '../../../src/faces/projection.ts'

const budget = { limit: 'budgetUsd' as const, used: 4, of: 10 }

test.each([
  ['within minutes', budget, 0.5, 'full in ~12m'],
  ['within seconds', { ...budget, used: 9.99 }, 0.5, 'full in ~1s'],
  ['never, without spending', budget, 0, null],
  ['already', { ...budget, used: 10 }, 0.5, null],
  ['in more than a day', budget, 0.001, null],
  ['within minutes, if it does not count money', { ...budget, limit: 'maxSteps' as const }, 0.5, null],
])('the text for a limit that is used up %s', (_, given, perMinute, text) => {
  expect(fullInText(given, perMinute)).toBe(text)
})
