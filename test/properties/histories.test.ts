// Short lives of a simulated daemon on a real store, drawn so that one that breaks a rule shrinks to the least that does: trees
// that are paused, resumed, forked, killed, pinned, removed and collected among restarts, faults and deaths of the daemon.
import fc from 'fast-check'
import { test } from 'vitest'
import { seeded } from '../support/kernel/random.ts'
import type { Pick } from '../support/kernel/random.ts'
import { Simulation } from '../support/kernel/simulation.ts'
import { memoryDir } from '../support/tmp.ts'

/** What was drawn comes first; then chance on one seed, so that everything comes to its end. */
function drawn(values: readonly number[]): Pick {
  const rest = seeded(1)
  let index = 0
  return (below) => {
    const value = values[index]
    index += 1
    return value === undefined ? rest(below) : value % below
  }
}

test('every short life keeps the rules', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 20, max: 200 }), fc.array(fc.nat(9_999), { maxLength: 1_500, size: 'max' }), async (steps, values) => {
      await using dir = await memoryDir()
      const simulation = new Simulation(dir.path, drawn(values))
      for (let step = 0; step < steps; step += 1) await simulation.step()
      await simulation.end()
    }),
    { numRuns: 40 },
  )
}, 400_000)
