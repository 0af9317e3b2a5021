// The account of the home: when a day or a month begins, what is carried over, and when a warning is due.
import { describe, expect, test } from 'vitest'
import { budgetsToWarnOf, EMPTY_HOME, findSpentBudget, applyCalendar, addSpending, withWarning } from '../../../../src/kernel/state/home.ts'
import type { Calendar, Home } from '../../../../src/kernel/model/home.ts'

const DAY_MS = 86_400_000
const makeCalendar = (day: number, month = 100): Calendar => ({
  dailyUsd: { number: day, end: (day + 1) * DAY_MS },
  monthlyUsd: { number: month, end: 1e13 },
})
const makeHome = (day: number, usd: number, dailyUsd = 10): Home =>
  addSpending(applyCalendar(EMPTY_HOME, makeCalendar(day), { dailyUsd, monthlyUsd: 100 }), usd * 1e9)
const spentToday = ({ book }: Home): number => book.dailyUsd.nanoUsd / 1e9

describe('after a look at the clock', () => {
  test.each<[string, number, { day: number; spent: number }]>([
    ['the same day continues', 1_000, { day: 1_000, spent: 4 }],
    ['the next day begins with nothing spent', 1_001, { day: 1_001, spent: 0 }],
    ['a clock that went back keeps the day', 999, { day: 1_000, spent: 4 }],
    ['a day that a wrong clock opened in the far future ends, but its money stays spent', 600, { day: 600, spent: 4 }],
  ])('%s', (_, day, expected) => {
    const after = applyCalendar(makeHome(1_000, 4), makeCalendar(day), { dailyUsd: 10 })
    expect({ day: after.book.dailyUsd.number, spent: spentToday(after) }).toEqual(expected)
  })

  test('a day that the clock visits twice begins once', () => {
    const jumped = addSpending(applyCalendar(makeHome(1_000, 4), makeCalendar(1_001), {}), 3e9)
    const corrected = applyCalendar(jumped, makeCalendar(1_000), {})
    expect(spentToday(applyCalendar(corrected, makeCalendar(1_001), {}))).toBe(3)
  })

  test('a month continues over its days', () => {
    expect(applyCalendar(makeHome(1_000, 4), makeCalendar(1_001), {}).book.monthlyUsd.nanoUsd).toBe(4e9)
    expect(applyCalendar(makeHome(1_000, 4), makeCalendar(1_001, 101), {}).book.monthlyUsd.nanoUsd).toBe(0)
  })
})

test('a budget is spent when nothing is left; of two, the one that ends later is named', () => {
  expect(findSpentBudget(makeHome(1_000, 9.99))).toBeNull()
  expect(findSpentBudget(makeHome(1_000, 10))).toMatchObject({ limit: 'dailyUsd', used: 10, of: 10, until: 1_001 * DAY_MS })
  expect(findSpentBudget(makeHome(1_000, 100))).toMatchObject({ limit: 'monthlyUsd' })
  expect(findSpentBudget(applyCalendar(makeHome(1_000, 100), makeCalendar(1_000), {}))).toBeNull()
})

test('a warning is due once at 80 %, again after a changed budget, and again the next day', () => {
  const names = (state: Home): string[] => budgetsToWarnOf(state).map(({ limit }) => limit)
  expect(names(makeHome(1_000, 7.99))).toEqual([])
  expect(names(makeHome(1_000, 8))).toEqual(['dailyUsd'])
  const warned = withWarning(makeHome(1_000, 8), 'dailyUsd')
  expect(names(warned)).toEqual([])
  expect(names(applyCalendar(warned, makeCalendar(1_000), { dailyUsd: 9 }))).toEqual(['dailyUsd'])
  expect(names(addSpending(applyCalendar(warned, makeCalendar(1_001), { dailyUsd: 10 }), 9e9))).toEqual(['dailyUsd'])
})
