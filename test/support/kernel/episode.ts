// Plays random events on the kernel, one after another, and checks each against the rules and the simple model. The numbers that
// choose the events come from a seeded generator for long runs, or from shrinking arrays of a property for short ones.
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import { compareAll, compareFold } from './compare.ts'
import { Model } from './model.ts'
import { Chance } from './random.ts'
import type { Event, Pick } from './random.ts'
import { Watch } from './watch.ts'
import { World } from './world.ts'
import type { Decision } from '../../../src/kernel/decide/draft.ts'

const MAX_PROCESSES = 6

export class Episode {
  readonly world = new World(MAX_PROCESSES)
  readonly #model = new Model(MAX_PROCESSES)
  readonly #watch = new Watch()
  readonly #chance = new Chance(this.world)
  readonly #last: InputBody[] = []
  inputs = 0

  constructor() {
    this.#model.now = this.world.mono
  }

  /** Performs one event. Throws with the last inputs if a rule is broken. */
  play(pick: Pick): void {
    const event = this.#chance.next(pick)
    try {
      this.#play(event, pick)
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : String(error)}\nafter:\n${this.#last.slice(-12).map(describe).join('\n')}`,
        {
          cause: error,
        },
      )
    }
  }

  /** Checks the indexes, counts and all journals at the end. */
  end(): void {
    this.world.commit()
    fail(compareAll(this.world, this.#model))
    for (const uuid of this.world.journal.keys()) fail(compareFold(this.world, uuid))
  }

  #play(event: Event, pick: Pick): void {
    switch (event.type) {
      case 'wind':
        return this.#wind(event.ms)
      case 'commit':
        return this.world.commit()
      case 'restart':
        return this.#restart(pick)
      default:
        return this.#input(event)
    }
  }

  #input(body: InputBody): void {
    this.#last.push(body)
    if (this.#last.length > 40) this.#last.splice(0, 20)
    this.inputs += 1
    const decision = this.world.step(body)
    const expected = this.#model.apply(body)
    const answered = answerOf(decision)
    if (answered !== expected) throw new Error(`answered ${answered}, should be ${expected}`)
    this.#watch.check(body, decision)
    fail(compareAll(this.world, this.#model))
    if (this.inputs % 64 === 0) fail(compareFold(this.world, [...this.world.journal.keys()].at(-1) ?? ''))
  }

  #wind(ms: number): void {
    this.world.wind(ms)
    this.#model.now = this.world.mono
    for (const uuid of [...this.world.overlay.all()]) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) this.#input({ type: 'tick', uuid })
    }
    for (const uuid of this.world.overlay.all()) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) throw new Error(`the deadline of ${uuid} stays after its tick`)
    }
  }

  /** Starts a new daemon: restarts the monotonic clock, boots each row, and releases the holds of a graceful stop. */
  #restart(pick: Pick): void {
    this.world.restart(1 + pick(500))
    this.#model.now = this.world.mono
    for (const uuid of [...this.world.overlay.all()]) this.#input({ type: 'boot', uuid, survivors: pick(10) === 0 ? [4711] : [] })
    this.#input({ type: 'release', uuid: null, reason: 'daemon-shutdown' })
  }
}

function describe(body: InputBody): string {
  return JSON.stringify(body, (key, value: unknown) => (key === 'spec' || key === 'endedRow' || key === 'origin' ? undefined : value))
}

function fail(wrong: string | null): void {
  if (wrong !== null) throw new Error(wrong)
}

/** Returns the kernel's answer in the form of the model's. */
function answerOf({ effects }: Decision): string | null {
  for (const effect of effects) {
    if (effect.type === 'refuse') return `refused ${effect.code}`
    if (effect.type === 'reply') return effect.value.type === 'ack' ? `ack ${effect.value.ack}` : 'done'
  }
  return null
}
