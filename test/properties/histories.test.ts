// Short lives of a simulated daemon on a real store, which shrink to a minimal failing case. Trees are paused, resumed, forked,
// killed, pinned, removed and collected, with restarts, faults and crashes of the daemon.
import fc from 'fast-check'
import { test } from 'vitest'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import type { PickNumber } from '../support/kernel/random-inputs.ts'
import { Simulation } from '../support/kernel/simulation.ts'
import { memoryDir } from '../support/tmp.ts'

/** Picks by the drawn values, and then by random ones from a fixed seed, so that every life comes to its end. */
function pickFrom(values: readonly number[]): PickNumber {
  const randomPick = makeSeededPick(1)
  let index = 0
  return (bound) => {
    const value = values[index]
    index += 1
    return value === undefined ? randomPick(bound) : value % bound
  }
}

test('every short life of a daemon keeps the guarantees', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 20, max: 200 }),
      fc.array(fc.nat(9_999), { maxLength: 1_500, size: 'max' }),
      async (steps, values) => {
        await using dir = await memoryDir()
        const simulation = new Simulation(dir.path, pickFrom(values))
        for (let step = 0; step < steps; step += 1) await simulation.step()
        await simulation.finish()
      },
    ),
    { numRuns: 40 },
  )
}, 400_000)
