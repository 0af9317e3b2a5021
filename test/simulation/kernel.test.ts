// Random inputs from one seed, each compared with the simple model and the rules. REEVE_SEED repeats a run,
// REEVE_INPUTS makes it longer.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { Episode } from '../support/kernel/episode.ts'
import { seeded } from '../support/kernel/random.ts'
import { SEED } from '../support/seed.ts'

const INPUTS = Number(process.env['REEVE_INPUTS'] ?? deep(12_500, 1_000_000))
/** inputs per life: long enough for a crowd, short enough to be read */
const LIFE = 300

test(`${INPUTS} inputs, seed ${SEED}`, () => {
  let inputs = 0
  for (let life = 0; inputs < INPUTS; life += 1) {
    const pick = seeded(SEED + life)
    const episode = new Episode()
    try {
      while (episode.inputs < LIFE) episode.play(pick)
      episode.end()
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails after ${episode.inputs} inputs`, { cause: error })
    }
    inputs += episode.inputs
  }
  expect(inputs).toBeGreaterThanOrEqual(INPUTS)
}, 900_000)
