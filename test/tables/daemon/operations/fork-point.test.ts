// The start of a fork from a process that continues meanwhile: the fork gets the state at the time of the request.
import { expect, test } from 'vitest'
import { findForkPoint } from '../../../../src/daemon/operations/fork-point.ts'
import { CommitMaker, stepOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

const ONE = uuidOf(1)

test.each([
  ['before its first turn', 0, 2],
  ['in its first turn', 1, 3],
  ['after its first step', 2, 3],
])('a fork from step 0 starts at the state that its origin had %s, when the request read it', async (_, index, seq) => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const readRows = []
  for (const commit of [
    () => commits.spawn(ONE),
    () => commits.write(ONE, { type: 'process.working', turn: 1, message: null }),
    () => commits.write(ONE, ...stepOf(1)),
    () => commits.write(ONE, ...stepOf(2)),
  ]) {
    await fixture.store.commit(commit())
    readRows.push(commits.get(ONE))
  }
  const origin = readRows[index]
  if (!origin) throw new Error('it was not read')
  expect(await findForkPoint(fixture.store, origin, { fromStep: 0 })).toMatchObject({ step: 0, seq })
})
