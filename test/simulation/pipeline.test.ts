// Plays the kernel, the pipeline and a real store from one seed, with drivers that run nothing. Faults, delays, full disks and crashes of
// the daemon never break the guarantees.
// REEVE_SEED repeats a run, REEVE_STEPS makes it longer.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { Simulation } from '../support/kernel/simulation.ts'
import { memoryDir } from '../support/tmp.ts'
import { SEED } from '../support/seed.ts'

const STEPS = Number(process.env['REEVE_STEPS'] ?? deep(2_500, 72_000))
/** steps in one home: enough for many restarts */
const STEPS_PER_LIFE = 2_500

test(`${STEPS} random steps keep the guarantees (seed ${SEED})`, async () => {
  let restarts = 0
  let commands = 0
  const counts: Record<string, number> = {}
  for (let steps = 0, life = 0; steps < STEPS; steps += STEPS_PER_LIFE, life += 1) {
    await using dir = await memoryDir()
    const simulation = new Simulation(dir.path, makeSeededPick(SEED + life))
    let step = 0
    try {
      for (; step < STEPS_PER_LIFE; step += 1) await simulation.step()
      await simulation.finish()
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails at step ${step}`, { cause: error })
    }
    restarts += simulation.restarts
    commands += simulation.commands
    for (const [counter, count] of Object.entries(simulation.forksAndRemovals.counts)) counts[counter] = (counts[counter] ?? 0) + count
  }
  expect(commands).toBeGreaterThan(STEPS / 2)
  for (const counter of ['forks', 'removed', 'pieces', 'resumed', 'refused'])
    expect(counts[counter], counter).toBeGreaterThan(STEPS / STEPS_PER_LIFE)
  expect(restarts).toBeGreaterThan(STEPS / STEPS_PER_LIFE)
}, 400_000)

const SHORT_STEPS = 90
/** commits of a short life, each of which fails once; a life with fewer commits is over sooner */
const MAX_COMMITS = 30
const SHORT_LIVES = [1, 2, 3].slice(0, deep(1, 3))

test.each(['DISK_FULL', 'READ_ONLY', 'UNAVAILABLE'] as const)(
  'a life keeps the guarantees when one of its commits fails with %s, for each commit',
  async (code) => {
    let failed = 0
    for (const seed of SHORT_LIVES) {
      for (let commit = 1; commit <= MAX_COMMITS; commit += 1) {
        await using dir = await memoryDir()
        const simulation = new Simulation(dir.path, makeSeededPick(seed), { commit, code })
        try {
          for (let step = 0; step < SHORT_STEPS; step += 1) await simulation.step()
          await simulation.finish()
        } catch (error) {
          throw new Error(`commit ${commit} of seed ${seed} fails`, { cause: error })
        }
        failed += simulation.failed
        if (simulation.failed === 0) break
      }
    }
    expect(failed).toBeGreaterThan((SHORT_LIVES.length * MAX_COMMITS) / 3)
  },
  400_000,
)
