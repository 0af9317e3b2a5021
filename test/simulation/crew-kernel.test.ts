// Random lives of crews in the kernel. The crew's row agrees with its members' processes and no message is lost, for any interference
// and any daemon crash. From any state, all tasks end in a world without faults.
// REEVE_SEED repeats a run, REEVE_INPUTS makes it longer.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { CrewSimulation } from '../support/kernel/crew-simulation.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { SEED } from '../support/seed.ts'
import type { CrewSpec } from '../../src/kernel/model/process-spec.ts'

const INPUTS = Number(process.env['REEVE_INPUTS'] ?? deep(12_000, 50_000))
/** the number of random acts of a life, each with one or more inputs */
const ACTS_PER_LIFE = 400
/** the number of further rounds without faults in which a life must end */
const MAX_FINAL_ROUNDS = 4_000

const SPECS: readonly Partial<CrewSpec>[] = [
  {},
  { coordinator: 'agent', maxWorkers: 6 },
  { staff: [{ role: 'generic', count: 1 }] },
  { reviews: false },
  { gate: 'human' },
  { git: null, maxWorkers: 2 },
  {
    merge: 'leave',
    staff: [
      { role: 'implementer', count: 2 },
      { role: 'reviewer', count: 1 },
    ],
  },
]

/** Plays the life of this seed; returns the number of its inputs. */
function playLife(seed: number): number {
  const crew = new CrewSimulation(makeSeededPick(seed), SPECS[seed % SPECS.length] ?? {})
  try {
    for (let count = 0; count < ACTS_PER_LIFE; count += 1) crew.play(false)
    if (crew.playWithoutFaults(MAX_FINAL_ROUNDS) === MAX_FINAL_ROUNDS)
      throw new Error(`open: ${crew.tasks.map(({ id, state }) => `${id} ${state}`).join(', ')}`)
    crew.checkEnd()
  } catch (error) {
    throw new Error(`REEVE_SEED=${seed} fails after ${crew.inputs} inputs: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  return crew.inputs
}

// Once these lives did not end: a task was not committed, feedback not read, a coordinator never started, or a paused crew's messages
// waited.
test.each([399_208_378, 8048, 23_981, 3_161_330_868_487, 55_677])(
  'the life of seed %d ends, though a defect once prevented that',
  (seed) => {
    expect(playLife(seed)).toBeGreaterThan(0)
  },
)

test(`${INPUTS} inputs keep the invariants, and every life ends (seed ${SEED})`, () => {
  let inputs = 0
  for (let life = 0; inputs < INPUTS; life += 1) inputs += playLife(SEED + life)
  expect(inputs).toBeGreaterThanOrEqual(INPUTS)
}, 300_000)
