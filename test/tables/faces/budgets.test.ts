// Which budgets above a process limit it, too, and when a budget is used up.
import { expect, test } from 'vitest'
import { budgetFullInText, budgetsAbove, fullInText, periodFullInText } from '../../../src/faces/budgets.ts'
import { rowMap, rowOf } from '../../support/faces/rows.ts'

const BUDGET = { limit: 'budgetUsd', used: 1, reserved: 0, of: 5, warnAt: 0.8 } as const
const top = rowOf({ uuid: 'top', budget: BUDGET, budgetOf: 'top' })
const crew = rowOf({ uuid: 'crew', parent: 'top', budget: BUDGET, budgetOf: 'crew' })
const free = rowOf({ uuid: 'free', parent: 'crew', budgetOf: 'crew' })
const own = rowOf({ uuid: 'own', parent: 'free', budget: BUDGET, budgetOf: 'own' })
const ended = rowOf({ uuid: 'ended', parent: 'free', endedAt: '2026-11-20T10:01:00.000Z' })
const rows = rowMap(top, crew, free, own, ended)

test.each([
  [top, []],
  [crew, ['top']],
  [free, ['crew', 'top']],
  [own, ['crew', 'top']],
  [ended, ['crew', 'top']],
])('of $uuid', (row, owners) => {
  expect(budgetsAbove(row, rows).map(({ uuid }) => uuid)).toEqual(owners)
})

test('a budget whose process is not in the list is left out', () => {
  expect(budgetsAbove(free, rowMap(free, top)).map(({ uuid }) => uuid)).toEqual([])
})

const spent = { limit: 'budgetUsd' as const, used: 4, of: 10 }

test.each([
  ['within minutes', spent, 0.5, 'full in ~12m'],
  ['within seconds', { ...spent, used: 9.99 }, 0.5, 'full in ~1s'],
  ['never, without spending', spent, 0, null],
  ['already', { ...spent, used: 10 }, 0.5, null],
  ['in more than a day', spent, 0.001, null],
  ['within minutes, if it does not count money', { ...spent, limit: 'maxSteps' as const }, 0.5, null],
])('the text for a limit that is used up %s', (_, given, perMinute, text) => {
  expect(fullInText(given, perMinute)).toBe(text)
})

test('the budget of a process is only projected while something works below it, at a known rate', () => {
  const sub = { usd: 4, live: 2, working: 1, asking: 0, held: 0, failed: 0, reservedUsd: 0 }
  const row = { budget: { ...spent, reserved: 0, warnAt: 0.8 }, sub }
  expect(budgetFullInText(row, 0.5)).toBe('full in ~12m')
  expect([
    budgetFullInText(row, null),
    budgetFullInText({ ...row, sub: { ...sub, working: 0 } }, 0.5),
    budgetFullInText({ budget: null, sub }, 0.5),
  ]).toEqual([null, null, null])
})

test.each([
  ['within minutes', 10, 60, 'full in ~12m'],
  ['never, because the day ends before', 10, 10, null],
  ['never, because there is none', null, 60, null],
])('the budget of a day is used up %s', (_, budgetUsd, minutesLeft, text) => {
  const now = Date.UTC(2026, 10, 24)
  const endsAt = new Date(now + minutesLeft * 60_000).toISOString()
  expect(periodFullInText({ costUsd: 4, budgetUsd, endsAt }, 0.5, now)).toBe(text)
})
