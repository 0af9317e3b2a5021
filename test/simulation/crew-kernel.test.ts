// Crews in the kernel by chance: what the crew's row says of its members is what their processes do, no message is lost, whoever
// interferes and whenever the daemon dies; and from any state all tasks come to an end when the world behaves.
// REEVE_SEED repeats a run, REEVE_INPUTS makes it longer.
import { expect, test } from 'vitest'
import { CrewLife } from '../support/kernel/crew-life.ts'
import { seeded } from '../support/kernel/random.ts'
import type { CrewSpec } from '../../src/crew/types.ts'

const INPUTS = Number(process.env['REEVE_INPUTS'] ?? 50_000)
const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
/** events of a life in which anything may happen, and the most that a quiet end may take */
const LENGTH = 400
const QUIET = 4_000

const SPECS: readonly Partial<CrewSpec>[] = [{}, { coordinator: 'agent', maxWorkers: 6 }, { staff: [{ role: 'generic', count: 1 }] }, { reviews: false }, { gate: 'human' }, { git: null, maxWorkers: 2 }, { merge: 'leave', staff: [{ role: 'implementer', count: 2 }, { role: 'reviewer', count: 1 }] }]

test(`${INPUTS} inputs, seed ${SEED}`, () => {
  let inputs = 0
  for (let life = 0; inputs < INPUTS; life += 1) {
    const crew = new CrewLife(seeded(SEED + life), SPECS[(SEED + life) % SPECS.length] ?? {})
    try {
      for (let event = 0; event < LENGTH; event += 1) crew.play(false)
      if (crew.quiet(QUIET) === QUIET) throw new Error(`open: ${crew.tasks.map(({ id, state }) => `${id} ${state}`).join(', ')}`)
      crew.end()
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails after ${crew.inputs} inputs: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
    inputs += crew.inputs
  }
  expect(inputs).toBeGreaterThanOrEqual(INPUTS)
}, 300_000)
