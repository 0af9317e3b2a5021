// The columns of `reeve ps` that flags choose, and the orders of its rows.
import { describe, expect, test } from 'vitest'
import { psTableLines } from '../../../../src/cli/verbs/ps.ts'
import { chosenColumns, PS_COLUMNS, rowOrder } from '../../../../src/cli/print/ps-more-columns.ts'
import { processView } from '../../../support/daemon/process-view.ts'
import { captureOutput } from '../../../support/cli/captured-output.ts'

const { out } = captureOutput()
const rows = [
  processView({ pid: 10, name: 'b', elapsedMs: 5_000, labels: { team: 'web', draft: '' }, directory: '/src/app', model: 'script:a' }),
  processView({ pid: 9, name: 'a10', elapsedMs: 70_000, note: 'asks: which?' }),
  processView({ pid: 11, name: 'a9', elapsedMs: 1_000, usage: { ...processView().usage, costUsd: null } }),
]

test('the name of each column is its title in lower case', () => {
  expect(Object.entries(PS_COLUMNS).map(([name, { title }]) => [name, title.toLowerCase()])).toEqual(
    Object.keys(PS_COLUMNS).map((name) => [name, name]),
  )
})

test('-o shows these columns in this order', () => {
  const columns = chosenColumns(['name', 'PID', 'labels', 'dir'], false)
  expect(psTableLines(rows, { columns }, out)).toEqual([
    'NAME  PID  LABELS           DIR',
    'b      10  team=web, draft  /src/app',
    'a10     9                   /w',
    'a9     11                   /w',
  ])
  expect(psTableLines(rows, { columns }, out, 30)[1]).toBe('b      10  team=web…  /src/app')
})

test('--wide shows the model, the directory, the branch and the intent, which the note does not repeat', () => {
  expect(psTableLines(rows, { columns: chosenColumns(undefined, true) }, out, Infinity).slice(0, 3)).toEqual([
    'PID  ID        NAME  AGENT    STATUS   STEP  ELAPSED     COST  MODEL             DIR       BRANCH  NOTE          INTENT',
    ' 10  deadbeef  b     default  working     2       5s  $0.0123  script:a          /src/app  -                     write the manual',
    expect.stringMatching(/^ {2}9 .* asks: which\? {2}write the manual$/),
  ])
})

test('an unknown column is refused with the list of all', () => {
  for (const choose of [() => chosenColumns(['pid', 'costs'], false), () => rowOrder('costs', out), () => rowOrder('-costs', out)])
    expect(choose).toThrow(
      expect.objectContaining({ message: 'there is no column "costs"', hint: expect.stringMatching(/^Columns: pid, id, .*created\.$/) }),
    )
  expect(() => chosenColumns(['pid'], true)).toThrow('-o and --wide exclude each other')
  expect(chosenColumns(undefined, false)).toBeNull()
})

describe('the order by a column', () => {
  test.each([
    ['pid', [9, 10, 11]],
    ['-pid', [11, 10, 9]],
    ['name', [11, 9, 10]],
    ['elapsed', [11, 10, 9]],
    ['cost', [11, 10, 9]],
    ['-cost', [10, 9, 11]],
    ['note', [9, 10, 11]],
  ])('%s', (text, expected) => {
    expect(rows.toSorted(rowOrder(text, out)).map(({ pid }) => pid)).toEqual(expected)
  })
})
