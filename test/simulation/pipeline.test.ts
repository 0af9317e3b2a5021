// Kernel, pipeline and a real store on one seed, with drivers that run nothing: faults, delays, full disks and dead daemons.
// REEVE_SEED repeats a run, REEVE_STEPS makes it longer.
import { expect, test } from 'vitest'
import { seeded } from '../support/kernel/random.ts'
import { Simulation } from '../support/kernel/simulation.ts'
import { tempDir } from '../support/tmp.ts'

const STEPS = Number(process.env['REEVE_STEPS'] ?? 20_000)
const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
/** steps in one home: long enough for many restarts */
const LIFE = 2_500

test(`${STEPS} steps, seed ${SEED}`, async () => {
  let restarts = 0
  for (let steps = 0, life = 0; steps < STEPS; steps += LIFE, life += 1) {
    await using dir = await tempDir()
    const simulation = new Simulation(dir.path, seeded(SEED + life))
    let step = 0
    try {
      for (; step < LIFE; step += 1) await simulation.step()
      await simulation.end()
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails at step ${step}`, { cause: error })
    }
    restarts += simulation.restarts
  }
  expect(restarts).toBeGreaterThan(STEPS / LIFE)
}, 300_000)

/** Short lives, and how many of their commits fail, one in each run: a lively one, and one whose daemon soon dies twice. */
const SHORT_LIVES = [{ seed: 11, commits: 40 }, { seed: 7, commits: 3 }]
const SHORT_STEPS = 90

test.each(['DISK_FULL', 'READ_ONLY', 'UNAVAILABLE'] as const)('each of the first commits fails once: %s', async (code) => {
  for (const { seed, commits } of SHORT_LIVES) {
    for (let commit = 1; commit <= commits; commit += 1) {
      await using dir = await tempDir()
      const simulation = new Simulation(dir.path, seeded(seed), { commit, code })
      try {
        for (let step = 0; step < SHORT_STEPS; step += 1) await simulation.step()
        await simulation.end()
      } catch (error) {
        throw new Error(`commit ${commit} of seed ${seed} fails`, { cause: error })
      }
      expect(simulation.failed).toBe(1)
    }
  }
}, 120_000)
