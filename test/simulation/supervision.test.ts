// Compares supervision with a simple model of its rules. The tests play every pair of events for three children, under each strategy and
// many choices of restart types, and long random lives. After each event both agree on every child, on the counts and on the supervisor.
// REEVE_SEED repeats a run, REEVE_LIVES sets the number of random lives.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { RealSupervisor } from '../support/supervision/real-supervisor.ts'
import { SupervisionModel } from '../support/supervision/model.ts'
import { SEED } from '../support/seed.ts'
import type { RestartType, Strategy } from '../../src/kernel/model/supervision.ts'

const STRATEGIES: readonly Strategy[] = ['one_for_one', 'one_for_all', 'rest_for_one']
const TYPES: readonly RestartType[] = ['permanent', 'transient', 'temporary']
const LIVES = Number(process.env['REEVE_LIVES'] ?? deep(100, 3_000))
/** the number of random events of a life */
const EVENTS_PER_LIFE = 60

type Supervisor = Pick<
  SupervisionModel,
  'end' | 'finish' | 'kill' | 'pause' | 'resume' | 'stop' | 'pauseAll' | 'resumeAll' | 'advanceClock'
>
interface Event {
  readonly description: string
  readonly act: (supervisor: Supervisor) => void
}

const EVENTS: readonly Event[] = [
  ...[0, 1, 2].flatMap((child): Event[] => [
    { description: `crash ${child}`, act: (supervisor) => supervisor.end(child, 'crash') },
    { description: `complete ${child}`, act: (supervisor) => supervisor.end(child, 'complete') },
    { description: `final ${child}`, act: (supervisor) => supervisor.end(child, 'final') },
    { description: `finish ${child}`, act: (supervisor) => supervisor.finish(child) },
    { description: `kill ${child}`, act: (supervisor) => supervisor.kill(child) },
    { description: `pause ${child}`, act: (supervisor) => supervisor.pause(child) },
    { description: `resume ${child}`, act: (supervisor) => supervisor.resume(child) },
  ]),
  { description: 'advance the clock', act: (supervisor) => supervisor.advanceClock() },
  { description: 'stop the supervisor', act: (supervisor) => supervisor.stop() },
  { description: 'pause the supervisor', act: (supervisor) => supervisor.pauseAll() },
  { description: 'resume the supervisor', act: (supervisor) => supervisor.resumeAll() },
]

/** Ends every process whose end was requested, so that no restart is left unfinished. */
const FINAL_EVENTS: readonly Event[] = [0, 1, 2, 0, 1, 2].map((child) => ({
  description: `finish ${child}`,
  act: (supervisor: Supervisor) => supervisor.finish(child),
}))

class Life {
  readonly #model: SupervisionModel
  readonly #real: RealSupervisor
  readonly #title: string
  readonly #events: string[] = []

  constructor(strategy: Strategy, types: readonly RestartType[], max: number) {
    this.#title = `${strategy} ${types.join(' ')} max ${max}`
    this.#model = new SupervisionModel(strategy, types, max)
    this.#real = new RealSupervisor(strategy, types, max)
  }

  play({ description, act }: Event): void {
    this.#events.push(description)
    act(this.#model)
    act(this.#real)
    const expected = JSON.stringify([this.#model.state, ...this.#model.children.map(({ state, restartCount }) => [state, restartCount])])
    const restartCounts = this.#real.restartCounts()
    const actual = JSON.stringify([this.#real.supervisor(), ...this.#real.states().map((state, index) => [state, restartCounts[index]])])
    if (expected !== actual)
      throw new Error(`${this.#title}: ${this.#events.join(', ')}: is ${actual}, should be ${expected}\n${this.#real.log}`)
  }
}

/** All 27 choices; in the small size nine of them, in which any two children have each pair of types. */
function restartTypeChoices(): RestartType[][] {
  const allChoices = TYPES.flatMap((a, i) => TYPES.flatMap((b, j) => TYPES.map((c, k) => ({ types: [a, b, c], sum: i + j + k }))))
  return allChoices.filter(({ sum }) => sum % TYPES.length < deep(1, TYPES.length)).map(({ types }) => types)
}

test.each(STRATEGIES)(
  '%s: after every pair of events, the supervisor equals its model',
  (strategy) => {
    let lives = 0
    for (const types of restartTypeChoices()) {
      for (const firstEvent of EVENTS) {
        for (const secondEvent of EVENTS) {
          const life = new Life(strategy, types, 1)
          for (const event of [firstEvent, secondEvent, ...FINAL_EVENTS]) life.play(event)
          lives += 1
        }
      }
    }
    expect(lives).toBe(deep(9, 27) * EVENTS.length ** 2)
  },
  600_000,
)

test(`in ${LIVES} random lives, the supervisor equals its model (seed ${SEED})`, () => {
  for (let life = 0; life < LIVES; life += 1) {
    const pick = makeSeededPick(SEED + life)
    const pickOne = <T>(choices: readonly T[]): T => choices[pick(choices.length)] as T
    const played = new Life(pickOne(STRATEGIES), [pickOne(TYPES), pickOne(TYPES), pickOne(TYPES)], pick(4))
    try {
      // Most events concern children, because little can happen once the supervisor has stopped.
      for (let i = 0; i < EVENTS_PER_LIFE; i += 1) played.play(pick(12) > 0 ? pickOne(EVENTS.slice(0, -4)) : pickOne(EVENTS))
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails`, { cause: error })
    }
  }
}, 600_000)
