// Gives the kernel random inputs from one seed. After each input, its state is compared with the simple model and the rules.
// REEVE_SEED repeats a run, REEVE_INPUTS sets the number of inputs.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { SEED } from '../support/seed.ts'

const INPUTS = Number(process.env['REEVE_INPUTS'] ?? deep(12_500, 1_000_000))
/** enough for several processes, few enough for a readable failure */
const INPUTS_PER_LIFE = 300

test(`${INPUTS} random inputs keep the rules and agree with the model (seed ${SEED})`, () => {
  let inputs = 0
  for (let life = 0; inputs < INPUTS; life += 1) {
    const pick = makeSeededPick(SEED + life)
    const run = new RandomRun()
    try {
      while (run.inputs < INPUTS_PER_LIFE) run.play(pick)
      run.checkEnd()
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails after ${run.inputs} inputs`, { cause: error })
    }
    inputs += run.inputs
  }
  expect(inputs).toBeGreaterThanOrEqual(INPUTS)
}, 900_000)
