// The index of accounts: its sums are the same for any order of rows, and a layer never changes its base.
import { expect, test } from 'vitest'
import { Accounts } from '../../../../src/kernel/state/accounts.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const SUBTREE = `
  .live a budgetTokens=100000
  .live b under=a
  .live c under=b
  .live d under=a
  .report c model 1
  .report c answer 1 tokens=99
  .report d model 1
  .report d answer 1 tokens=49
  .report d model 2 ask=100+5000
`

function rowsAfter(script: string): Process[] {
  const player = new TranscriptPlayer()
  player.play(script)
  return [...player.world.overlay.all()].flatMap((uuid) => player.world.row(uuid) ?? [])
}

function permutations<T>(list: readonly T[]): T[][] {
  return list.length === 0
    ? [[]]
    : list.flatMap((first, index) => permutations(list.toSpliced(index, 1)).map((remaining) => [first, ...remaining]))
}

test('the sums are the same for any order of rows', () => {
  for (const order of permutations(rowsAfter(SUBTREE))) {
    const accounts = new Accounts(null)
    for (const row of order) accounts.put(undefined, row)
    expect(accounts.below('a')).toMatchObject({
      inputTokens: 148,
      outputTokens: 2,
      steps: 3,
      openCalls: 1,
      reservedTokens: 5_100,
      nanoUsd: 20_000_000,
    })
    expect(accounts.below('b')).toMatchObject({ inputTokens: 99, steps: 1 })
    expect([...accounts.payees('a')].toSorted()).toEqual(['b', 'd'])
    expect(accounts.below('c')).toMatchObject({ inputTokens: 0 })
  }
})

test('a layer reads its base, but never changes it', () => {
  const base = new Accounts(null)
  const before = rowsAfter(SUBTREE)
  for (const row of before) base.put(undefined, row)
  const layer = new Accounts(base)
  const after = rowsAfter(`${SUBTREE}\n.report b exited 0\n.released b`)
  for (const uuid of ['a', 'b', 'c', 'd']) {
    const oldRow = before.find((row) => row.uuid === uuid)
    const row =
      after.find((candidate) => candidate.uuid === uuid) ??
      (oldRow && { ...oldRow, life: { state: 'dead', exit: { code: 0, reason: 'completed', cause: 'agent' } } })
    if (row) layer.put(oldRow, row)
  }
  expect([...layer.payees('a')].toSorted()).toEqual(['c', 'd'])
  expect([...layer.payees('b')]).toEqual([])
  expect([...base.payees('a')].toSorted()).toEqual(['b', 'd'])
  expect([...base.payees('b')]).toEqual(['c'])
  // The row of the payer now has the usage of the ended process.
  expect(layer.below('a')).toMatchObject({ inputTokens: 49 })
  expect(base.below('a')).toMatchObject({ inputTokens: 148 })
})
