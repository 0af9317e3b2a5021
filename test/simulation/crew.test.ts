// Crews in a hostile world: random commands, late, repeated and lost reports, crashes of members and of the daemon.
// The user interferes, with hostile operations on a model of git, which test/processes/crew/simulated-git.test.ts compares with git.
// The laws of the crew and of its repository hold after each step. From any state, the crew ends in a world without faults.
// A failure prints the shrunk numbers; REEVE_SEED repeats a run, REEVE_LIVES makes it longer.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Dice } from '../support/crew-world/random-faults.ts'
import { requireLaw } from '../support/crew-world/laws.ts'
import { crewSpecOf, type CrewWorld } from '../support/crew-world/world.ts'
import { deep } from '../support/deep.ts'
import { createSimulatedCrew, playSimulatedCrew, type SimulatedCrew } from '../support/simulated-git/simulated-crew.ts'
import { SEED } from '../support/seed.ts'
import { lastSuccessorOf } from '../../src/kernel/crew/state/queries.ts'
import { WORKER_ROLES } from '../../src/kernel/model/crew/words.ts'
import { USER_CHANGES } from '../support/simulated-git/simulated-repository.ts'
import { GIT_MISUSES } from '../support/crew/misused-git.ts'
import type { CrewSpec } from '../../src/kernel/model/process-spec.ts'

const LIVES = Number(process.env['REEVE_LIVES'] ?? deep(150, 2_000))
const LIMIT_MS = deep(150_000, 600_000)
/** minimum number of commands */
const STEPS = Math.min(deep(5_000, 100_000), LIVES * 50)

const spec = fc.record(
  {
    coordinator: fc.constantFrom<CrewSpec['coordinator']>('engine', 'engine', 'agent'),
    gate: fc.constantFrom<CrewSpec['gate']>('auto', 'auto', 'coordinator', 'human'),
    merge: fc.constantFrom<CrewSpec['merge']>('auto', 'auto', 'leave'),
    reviews: fc.boolean(),
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    maxWorkers: fc.integer({ min: 1, max: 4 }),
    staff: fc.array(
      fc.record({
        role: fc.constantFrom(...WORKER_ROLES),
        count: fc.integer({ min: 1, max: 2 }),
      }),
      { maxLength: 3 },
    ),
    git: fc.constantFrom<CrewSpec['git']>(crewSpecOf().git, crewSpecOf().git, null),
    stay: fc.boolean(),
    setup: fc.constant<NonNullable<CrewSpec['setup']>>({ command: 'make', timeoutMs: 1_000 }),
    verify: fc.constantFrom<NonNullable<CrewSpec['verify']>[]>({ command: 'make check', timeoutMs: 1_000 }),
  },
  { requiredKeys: ['coordinator', 'gate', 'merge', 'reviews', 'maxAttempts', 'maxWorkers', 'staff', 'git', 'stay'] },
)

/** Expects that each sent message was read once, is still queued, or was removed by the world. */
function checkMessages(world: CrewWorld): void {
  const waitingIds = [...world.procs.values()]
    .flatMap(({ queue }) => queue.map(({ id }) => id))
    .concat(world.keptMessages.map(({ id }) => id))
  const readIds = [...world.procs.values()].flatMap((proc) => proc.read)
  const sentIds = world.journal.flatMap((fact) => (fact.type === 'crew.sent' ? [`${fact.message}`] : []))
  expect([...waitingIds, ...readIds, ...world.lostMessages].toSorted(byNumber)).toEqual(sentIds)
}

/** Requires that no message of a departed member is left behind while its successor runs. */
function checkSuccessors({ crew, procs }: CrewWorld): void {
  for (const { id, isAlive, queue } of procs.values()) {
    const successor = lastSuccessorOf(crew, id)
    if (!isAlive && successor?.state === 'on' && successor.id !== id)
      requireLaw(queue.length === 0, `${id} left ${queue.length} messages, and its successor ${successor.id} does not have them`)
  }
}

function playToEnd(life: SimulatedCrew, dice: Dice): void {
  const { world } = life
  const expectFoldEqual = (): void => {
    expect(world.foldJournal()).toEqual(world.crew)
  }
  playSimulatedCrew(life, dice, expectFoldEqual)
  expectFoldEqual()
  checkMessages(world)
  checkSuccessors(world)
  for (const { id, state } of world.crew.tasks) requireLaw(['done', 'failed', 'cancelled'].includes(state), `${id} ends ${state}`)
}

/** Adds the preceding events to the message of a failure. */
function withLog(world: CrewWorld, act: () => void): void {
  try {
    act()
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\nafter:\n${world.log.slice(-40).join('\n')}`, { cause: error })
  }
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b)
}

/** Counts of what happened in the lives. */
interface Tally {
  commands: number
  refused: number
  landings: number
  gitOperations: Map<string, number>
  outcomes: Map<string, number>
  facts: Map<string, number>
}

/** Plays lives, and counts what happened in them. Throws at the first life that breaks a law. */
function playLives(seed: number, lifeCount: number): Tally {
  const tally: Tally = { commands: 0, refused: 0, landings: 0, gitOperations: new Map(), outcomes: new Map(), facts: new Map() }
  fc.assert(
    fc.property(spec, fc.array(fc.nat(9_999), { minLength: 60, maxLength: 420, size: 'max' }), (crewSpec, numbers) => {
      const life = createSimulatedCrew(crewSpec)
      const { world, repository } = life
      withLog(world, () => playToEnd(life, new Dice(numbers)))
      tally.commands += world.commandCount
      tally.refused += world.refusalCount
      tally.landings += repository?.laws.landingCount ?? 0
      for (const [what, amount] of repository?.tally ?? []) addTo(tally.gitOperations, what, amount)
      for (const { type } of world.journal) addTo(tally.facts, type)
      for (const { state } of world.crew.tasks) addTo(tally.outcomes, state)
    }),
    { numRuns: lifeCount, seed, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true },
  )
  return tally
}

function addTo(counts: Map<string, number>, key: string, amount = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

describe('a crew under any faults', () => {
  test(
    `keeps its laws, and ends (${LIVES} lives, seed ${SEED})`,
    () => {
      const { commands, refused, landings } = playLives(SEED, LIVES)
      console.info(`${commands} commands (${refused} refused), ${landings} landings`)
      expect(commands).toBeGreaterThan(STEPS)
    },
    LIMIT_MS + 30_000,
  )

  // The seed is fixed: random lives may miss a rare event, which would not be a defect of the crew.
  test(
    'meets refusals, done and failed tasks, and every kind of git operation',
    () => {
      const { commands, refused, landings, gitOperations, outcomes, facts } = playLives(1, 150)
      expect(landings).toBeGreaterThan(75)
      for (const misuse of [...GIT_MISUSES, ...USER_CHANGES.map((operation) => `user: ${operation}`)])
        expect(gitOperations.get(misuse) ?? 0, misuse).toBeGreaterThan(0)
      expect(refused / commands).toBeGreaterThan(0.01)
      for (const outcome of ['done', 'failed', 'cancelled']) expect(outcomes.get(outcome) ?? 0, outcome).toBeGreaterThan(10)
      for (const type of ['task.retried', 'task.reopened', 'task.edited', 'task.ordered'])
        expect(facts.get(type) ?? 0, type).toBeGreaterThan(3)
    },
    LIMIT_MS + 30_000,
  )
})
