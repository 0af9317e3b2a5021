// Supervision against a dumb model of its rules: every pair of events for three children under each strategy and every choice of
// restart types, and long lives by chance. After each event the two agree on every child, on the counts and on the supervisor.
// REEVE_SEED repeats a run, REEVE_LIVES makes it longer.
import { expect, test } from 'vitest'
import { seeded } from '../support/kernel/random.ts'
import { Family } from '../support/supervision/family.ts'
import { SupervisionModel } from '../support/supervision/model.ts'
import type { RestartType, Strategy } from '../../src/kernel/supervision.ts'

const STRATEGIES: readonly Strategy[] = ['one_for_one', 'one_for_all', 'rest_for_one']
const TYPES: readonly RestartType[] = ['permanent', 'transient', 'temporary']
const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
const LIVES = Number(process.env['REEVE_LIVES'] ?? 3_000)
/** events of a life by chance */
const LENGTH = 60

type Both = Pick<SupervisionModel, 'end' | 'finish' | 'kill' | 'pause' | 'resume' | 'stop' | 'pauseAll' | 'resumeAll' | 'wind'>
interface Event {
  readonly words: string
  readonly act: (on: Both) => void
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
  { words: 'wind', act: (on) => on.wind() },
  { words: 'stop the supervisor', act: (on) => on.stop() },
  { words: 'pause the supervisor', act: (on) => on.pauseAll() },
  { words: 'resume the supervisor', act: (on) => on.resumeAll() },
]

/** All that was asked to end does, and every wait is over: nothing may be left half done. */
const QUIET: readonly Event[] = [0, 1, 2, 0, 1, 2].map((child) => ({ words: `finish ${child}`, act: (on: Both) => on.finish(child) }))

class Life {
  readonly #model: SupervisionModel
  readonly #family: Family
  readonly #title: string
  readonly #events: string[] = []

  constructor(strategy: Strategy, types: readonly RestartType[], max: number) {
    this.#title = `${strategy} ${types.join(' ')} max ${max}`
    this.#model = new SupervisionModel(strategy, types, max)
    this.#family = new Family(strategy, types, max)
  }

  play({ words, act }: Event): void {
    this.#events.push(words)
    act(this.#model)
    act(this.#family)
    const told = JSON.stringify([this.#model.state, ...this.#model.children.map(({ state, times }) => [state, times])])
    const times = this.#family.times()
    const seen = JSON.stringify([this.#family.supervisor(), ...this.#family.states().map((state, index) => [state, times[index]])])
    if (told !== seen) throw new Error(`${this.#title}: ${this.#events.join(', ')}: is ${seen}, should be ${told}\n${this.#family.log}`)
  }
}

function choices(): RestartType[][] {
  return TYPES.flatMap((a) => TYPES.flatMap((b) => TYPES.map((c) => [a, b, c])))
}

test.each(STRATEGIES)('%s: every pair of events, for every choice of restart types', (strategy) => {
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
  expect(lives).toBe(27 * EVENTS.length ** 2)
}, 600_000)

test(`${LIVES} lives by chance, seed ${SEED}`, () => {
  for (let life = 0; life < LIVES; life += 1) {
    const pick = seeded(SEED + life)
    const one = <T>(from: readonly T[]): T => from[pick(from.length)] as T
    const played = new Life(one(STRATEGIES), [one(TYPES), one(TYPES), one(TYPES)], pick(4))
    try {
      // Mostly what ends and goes on: a supervisor that is stopped has little more to show.
      for (let i = 0; i < LENGTH; i += 1) played.play(pick(12) > 0 ? one(EVENTS.slice(0, -4)) : one(EVENTS))
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} fails`, { cause: error })
    }
  }
}, 600_000)
