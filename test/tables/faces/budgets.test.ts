// Which budgets above a process limit it, too.
import { expect, test } from 'vitest'
import { budgetsAbove } from '../../../src/faces/budgets.ts'
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
