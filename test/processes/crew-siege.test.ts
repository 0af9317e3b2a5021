// Crews under random strokes: the daemon and workers are killed with SIGKILL, workers are paused, at any moment. Every task is
// committed once and right, nobody is stuck, nothing is left. REEVE_SEED repeats a run, REEVE_SIEGES makes it longer.
import { expect, test } from 'vitest'
import { besiegeCrew, type CrewTally } from '../support/crew-siege.ts'
import { seeded } from '../support/random.ts'

const SIEGES = Number(process.env['REEVE_SIEGES'] ?? 1)
const STROKES = 4
const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
const LIMIT_MS = 300_000

test(`${SIEGES} crews under ${STROKES} strokes, seed ${SEED}`, { timeout: SIEGES * LIMIT_MS }, async () => {
  const tallies: CrewTally[] = []
  for (let siege = 0; siege < SIEGES; siege += 1) {
    tallies.push(await besiegeCrew(seeded(SEED + siege), STROKES).catch((error: unknown) => {
      throw new Error(`REEVE_SEED=${SEED + siege}: ${(error as Error).message}`, { cause: error })
    }))
  }
  expect(tallies.every(({ strokes, facts }) => strokes.daemon + strokes.worker + strokes.pause + strokes.stop > 0 && facts > 0)).toBe(true)
})
