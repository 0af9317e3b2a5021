// What a fork takes along, and its command line.
import { expect, test } from 'vitest'
import { canTakeFiles, carryOverText, forkCommand } from '../../../src/faces/fork-plan.ts'
import { rowOf } from '../../support/faces/rows.ts'

test('only the files of a worktree are recorded by step', () => {
  expect([
    canTakeFiles({ branch: 'reeve/fix' }, 3),
    canTakeFiles({ branch: 'reeve/fix' }, null),
    canTakeFiles({ branch: null }, 3),
  ]).toEqual([true, false, false])
})

test.each([
  [null, 0, 1, 'The fork keeps all steps. It does not keep its children or its waiting messages. Its cost is counted from 0.'],
  [0, 0, 1, 'The fork keeps no step. It does not keep its children or its waiting messages. Its cost is counted from 0.'],
  [1, 0, 1, 'The fork keeps step 1. It does not keep its children or its waiting messages. Its cost is counted from 0.'],
  [
    7,
    2,
    3,
    'The fork keeps steps 1 to 7. It does not keep the living processes below it or 2 waiting messages. Its cost is counted from 0.',
  ],
])('after step %s, with %i messages and %i living processes', (step, queue, live, expected) => {
  expect(carryOverText({ queue, sub: { ...rowOf().sub, live } }, step)).toBe(expected)
})

test('the command line has what differs', () => {
  const row = rowOf({ name: 'fix' })
  expect(forkCommand(row, null, {})).toBe('reeve resume fix --fork')
  const changes = { message: 'try it', model: 'a/b', effort: 'high', name: 'two', limits: { budgetUsd: 2 }, withFiles: true } as const
  expect(forkCommand(row, 3, changes)).toBe(
    "reeve resume fix --fork --from-step 3 --model a/b --effort high --name two --budget-usd 2 --with-files --message 'try it'",
  )
})
