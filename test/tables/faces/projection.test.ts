// When a budget is used up, as lists and the page of a process state it.
import { expect, test } from 'vitest'
import { budgetFullInText, fullInText } from '../../../src/faces/projection.ts'

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

test('the budget of a process is only projected while something works below it, at a known rate', () => {
  const sub = { usd: 4, live: 2, working: 1, asking: 0, held: 0, failed: 0, reservedUsd: 0 }
  const row = { budget: { ...budget, reserved: 0, warnAt: 0.8 }, sub }
  expect(budgetFullInText(row, 0.5)).toBe('full in ~12m')
  expect([
    budgetFullInText(row, null),
    budgetFullInText({ ...row, sub: { ...sub, working: 0 } }, 0.5),
    budgetFullInText({ budget: null, sub }, 0.5),
  ]).toEqual([null, null, null])
})
