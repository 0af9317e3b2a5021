// Crews under random faults: the daemon and workers are killed with SIGKILL, workers are paused, at any moment. Every task is
// committed once and correctly, no member is stuck, nothing is left. REEVE_SEED repeats a run, REEVE_SIEGES sets the number of crews.
import { expect, test } from 'vitest'
import { attackCrew, type CrewTally } from '../../support/crew/random-attacks.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'

const CREWS = Number(process.env['REEVE_SIEGES'] ?? 1)
const ATTACKS = 4
const LIMIT_MS = 300_000

test(`${CREWS} crews under ${ATTACKS} attacks, seed ${SEED}`, { timeout: CREWS * LIMIT_MS }, async () => {
  const tallies: CrewTally[] = []
  for (let crew = 0; crew < CREWS; crew += 1) {
    tallies.push(
      await attackCrew(seededRandom(SEED + crew), ATTACKS).catch((error: unknown) => {
        throw new Error(`REEVE_SEED=${SEED + crew}: ${(error as Error).message}`, { cause: error })
      }),
    )
  }
  expect(tallies.every(({ attacks, facts }) => Object.values(attacks).some((count) => count > 0) && facts > 0)).toBe(true)
})
