// Crews in a world where everything goes wrong: random commands, late, doubled and lost reports, deaths of members and of the daemon,
// people who interfere. After each command the laws hold; and from wherever that led, when all behave again, the crew comes to its end.
// A failure prints the shrunk numbers; REEVE_SEED repeats a run, REEVE_LIVES makes it longer.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { behave } from '../support/crew-world/life.ts'
import { Dice, happen, start } from '../support/crew-world/chaos.ts'
import { need } from '../support/crew-world/laws.ts'
import { specOf, World } from '../support/crew-world/world.ts'
import { successorOf } from '../../src/crew/finding.ts'
import type { CrewSpec } from '../../src/crew/types.ts'

const LIVES = Number(process.env['REEVE_LIVES'] ?? 1_200)
const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
/** commands in which a crew whose world behaves has come to its end */
const BOUND = 1_500

const spec = fc.record({
  coordinator: fc.constantFrom<CrewSpec['coordinator']>('engine', 'engine', 'agent'),
  gate: fc.constantFrom<CrewSpec['gate']>('auto', 'auto', 'coordinator', 'human'),
  merge: fc.constantFrom<CrewSpec['merge']>('auto', 'auto', 'leave'),
  reviews: fc.boolean(),
  maxAttempts: fc.integer({ min: 1, max: 5 }),
  maxWorkers: fc.integer({ min: 1, max: 4 }),
  staff: fc.array(fc.record({ role: fc.constantFrom<CrewSpec['staff'][number]['role']>('generic', 'implementer', 'reviewer', 'researcher'), count: fc.integer({ min: 1, max: 2 }) }), { maxLength: 3 }),
  git: fc.constantFrom<CrewSpec['git']>(specOf().git, specOf().git, null),
  stay: fc.boolean(),
})

/** Every message was read once, or still waits where it was put; none but those that the world took away is missing. */
function checkMessages(world: World): void {
  const waiting = [...world.procs.values()].flatMap(({ queue }) => queue.map(({ id }) => id)).concat(world.kept.map(({ id }) => id))
  const read = [...world.procs.values()].flatMap((proc) => proc.read)
  const sent = world.journal.flatMap((fact) => (fact.type === 'crew.sent' ? [`${fact.message}`] : []))
  expect([...waiting, ...read, ...world.lost].toSorted(byNumber)).toEqual(sent)
}

/** Nothing waits with one that is gone for one that is there. */
function checkHeirs({ crew, procs }: World): void {
  for (const { id, alive, queue } of procs.values()) {
    const heir = successorOf(crew, id)
    if (!alive && heir?.state === 'on' && heir.id !== id) need(queue.length === 0, `${id} left ${queue.length} messages, and ${heir.id} came after it`)
  }
}

function live(world: World, dice: Dice): void {
  start(world, dice)
  while (dice.left && world.ended === null) happen(world, dice)
  expect(world.refolded()).toEqual(world.crew)
  behave(world, BOUND)
  expect(world.refolded()).toEqual(world.crew)
  checkMessages(world)
  checkHeirs(world)
  for (const { id, state } of world.crew.tasks) need(['done', 'failed', 'cancelled'].includes(state), `${id} ends ${state}`)
}

/** What fails says what went before it. */
function telling(world: World, act: () => void): void {
  try {
    act()
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\nafter:\n${world.log.slice(-40).join('\n')}`, { cause: error })
  }
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b)
}

describe('a crew, whatever happens', () => {
  let commands = 0
  let refused = 0
  const outcomes = new Map<string, number>()

  test(`keeps its laws, and comes to its end (${LIVES} lives, seed ${SEED})`, () => {
    fc.assert(
      fc.property(spec, fc.array(fc.nat(9_999), { minLength: 60, maxLength: 420, size: 'max' }), (more, numbers) => {
        const world = new World(specOf(more))
        const dice = new Dice(numbers)
        telling(world, () => live(world, dice))
        commands += world.commands
        refused += world.refused
        for (const { state } of world.crew.tasks) outcomes.set(state, (outcomes.get(state) ?? 0) + 1)
      }),
      { numRuns: LIVES, seed: SEED, interruptAfterTimeLimit: 150_000, markInterruptAsFailure: true },
    )
  }, 180_000)

  test('of which enough were said, refused, done and failed', () => {
    expect(commands).toBeGreaterThan(Math.min(50_000, LIVES * 30))
    expect(refused / commands).toBeGreaterThan(0.02)
    for (const outcome of ['done', 'failed', 'cancelled']) expect(outcomes.get(outcome) ?? 0, outcome).toBeGreaterThan(50)
  })
})
