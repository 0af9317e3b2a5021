// Supervision against a simple model of its rules. Tests play every pair of events for three children under each strategy and choice of
// restart types, and long random lives. After each event both agree on every child, on the counts and on the supervisor.
// REEVE_SEED repeats a run, REEVE_LIVES sets the number of random lives.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { seeded } from '../support/kernel/random.ts'
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
  readonly words: string
  readonly act: (on: Supervisor) => void
}

const EVENTS: readonly Event[] = [
  ...[0, 1, 2].flatMap((child): Event[] => [
    { words: `crash ${child}`, act: (on) => on.end(child, 'crash') },
    { words: `complete ${child}`, act: (on) => on.end(child, 'complete') },
    { words: `final ${child}`, act: (on) => on.end(child, 'final') },
    { words: `finish ${child}`, act: (on) => on.finish(child) },
    { words: `kill ${child}`, act: (on) => on.kill(child) },
    { words: `pause ${child}`, act: (on) => on.pause(child) },
    { words: `resume ${child}`, act: (on) => on.resume(child) },
  ]),
  { words: 'advanceClock', act: (on) => on.advanceClock() },
  { words: 'stop the supervisor', act: (on) => on.stop() },
  { words: 'pause the supervisor', act: (on) => on.pauseAll() },
  { words: 'resume the supervisor', act: (on) => on.resumeAll() },
]

/** All requested ends happen, and every wait is over: nothing may be left unfinished. */
const QUIET: readonly Event[] = [0, 1, 2, 0, 1, 2].map((child) => ({ words: `finish ${child}`, act: (on: Supervisor) => on.finish(child) }))

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

  play({ words, act }: Event): void {
    this.#events.push(words)
    act(this.#model)
    act(this.#real)
    const expected = JSON.stringify([this.#model.state, ...this.#model.children.map(({ state, restartCount }) => [state, restartCount])])
    const times = this.#real.restartCounts()
    const actual = JSON.stringify([this.#real.supervisor(), ...this.#real.states().map((state, index) => [state, times[index]])])
    if (expected !== actual)
      throw new Error(`${this.#title}: ${this.#events.join(', ')}: is ${actual}, should be ${expected}\n${this.#real.log}`)
  }
}

/** All 27 choices, or the nine in which each two children have each pair of types. */
function choices(): RestartType[][] {
  const all = TYPES.flatMap((a, i) => TYPES.flatMap((b, j) => TYPES.map((c, k) => ({ types: [a, b, c], sum: i + j + k }))))
  return all.filter(({ sum }) => sum % TYPES.length < deep(1, TYPES.length)).map(({ types }) => types)
}

test.each(STRATEGIES)(
  '%s: every pair of events, for the choices of restart types',
  (strategy) => {
    let lives = 0
    for (const types of choices()) {
      for (const first of EVENTS) {
        for (const second of EVENTS) {
          const life = new Life(strategy, types, 1)
          for (const event of [first, second, ...QUIET]) life.play(event)
          lives += 1
        }
      }
    }
    expect(lives).toBe(deep(9, 27) * EVENTS.length ** 2)
  },
  600_000,
)

test(`${LIVES} random lives, seed ${SEED}`, () => {
  for (let life = 0; life < LIVES; life += 1) {
    const pick = seeded(SEED + life)
    const one = <T>(from: readonly T[]): T => from[pick(from.length)] as T
    const played = new Life(one(STRATEGIES), [one(TYPES), one(TYPES), one(TYPES)], pick(4))
    try {
      // Usually events of children: a stopped supervisor has little more to show.
      for (let i = 0; i < EVENTS_PER_LIFE; i += 1) played.play(pick(12) > 0 ? one(EVENTS.slice(0, -4)) : one(EVENTS))
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails`, { cause: error })
    }
  }
}, 600_000)
