// All kinds of work at the same time leave no program, descriptor, thread or memory behind, and the store stays sound.
import { expect, test } from 'vitest'
import { deep } from '../../support/deep.ts'
import { runMixedWork } from '../../support/daemon/mixed-work.ts'

const ROUNDS = deep(1, 40)

test(`${ROUNDS} rounds of mixed work leave no program, descriptor, thread or memory`, { timeout: 600_000 }, async () => {
  const tally = await runMixedWork(ROUNDS)
  expect(tally).toMatchObject({ rounds: ROUNDS, crews: ROUNDS + 2 })
})
