// Plays random acts on the kernel: inputs, passing time, commits and restarts. Checks each act against the invariants and the simple
// model. The numbers that choose the acts come from a seeded generator for long runs, or from shrinking arrays of a property for short
// ones.
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import { compareWithModel, compareWithFold } from './compare-with-model.ts'
import { Model } from './model.ts'
import { RandomInputs } from './random-inputs.ts'
import type { RandomAct, PickNumber } from './random-inputs.ts'
import { DecisionChecker } from './decision-invariants.ts'
import { World } from './world.ts'
import type { Decision } from '../../../src/kernel/decide/draft.ts'

const MAX_PROCESSES = 6

export class RandomRun {
  readonly world = new World(MAX_PROCESSES)
  readonly #model = new Model(MAX_PROCESSES)
  readonly #checker = new DecisionChecker()
  readonly #randomInputs = new RandomInputs(this.world)
  readonly #recentInputs: InputBody[] = []
  inputs = 0

  constructor() {
    this.#model.now = this.world.mono
  }

  /** Performs one act. Throws with the last inputs if an invariant is broken. */
  play(pick: PickNumber): void {
    const act = this.#randomInputs.next(pick)
    try {
      this.#playAct(act, pick)
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : String(error)}\nafter:\n${this.#recentInputs.slice(-12).map(describeInput).join('\n')}`,
        {
          cause: error,
        },
      )
    }
  }

  /** Checks the indexes, counts and all journals at the end. */
  checkEnd(): void {
    this.world.commit()
    failIfWrong(compareWithModel(this.world, this.#model))
    for (const uuid of this.world.journal.keys()) failIfWrong(compareWithFold(this.world, uuid))
  }

  #playAct(act: RandomAct, pick: PickNumber): void {
    switch (act.type) {
      case 'wind':
        return this.#advanceClock(act.ms)
      case 'commit':
        return this.world.commit()
      case 'restart':
        return this.#restartDaemon(pick)
      default:
        return this.#submit(act)
    }
  }

  #submit(body: InputBody): void {
    this.#recentInputs.push(body)
    if (this.#recentInputs.length > 40) this.#recentInputs.splice(0, 20)
    this.inputs += 1
    const decision = this.world.step(body)
    const expected = this.#model.apply(body)
    const actual = answerOf(decision)
    if (actual !== expected) throw new Error(`answered ${actual}, should be ${expected}`)
    this.#checker.check(body, decision)
    failIfWrong(compareWithModel(this.world, this.#model))
    if (this.inputs % 64 === 0) failIfWrong(compareWithFold(this.world, [...this.world.journal.keys()].at(-1) ?? ''))
  }

  #advanceClock(ms: number): void {
    this.world.wind(ms)
    this.#model.now = this.world.mono
    for (const uuid of [...this.world.overlay.all()]) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) this.#submit({ type: 'tick', uuid })
    }
    for (const uuid of this.world.overlay.all()) {
      const row = this.world.overlay.get(uuid)
      if (row && (deadlineOf(row) ?? Infinity) <= this.world.mono) throw new Error(`the deadline of ${uuid} stays after its tick`)
    }
  }

  /** Starts a new daemon: restarts the monotonic clock, boots each row, and releases the holds of a graceful stop. */
  #restartDaemon(pick: PickNumber): void {
    this.world.restart(1 + pick(500))
    this.#model.now = this.world.mono
    for (const uuid of [...this.world.overlay.all()]) this.#submit({ type: 'boot', uuid, survivors: pick(10) === 0 ? [4711] : [] })
    this.#submit({ type: 'release', uuid: null, reason: 'daemon-shutdown' })
  }
}

function describeInput(body: InputBody): string {
  return JSON.stringify(body, (key, value: unknown) => (key === 'spec' || key === 'endedRow' || key === 'origin' ? undefined : value))
}

function failIfWrong(violation: string | null): void {
  if (violation !== null) throw new Error(violation)
}

/** Returns the kernel's answer in the format of the model's answer. */
function answerOf({ effects }: Decision): string | null {
  for (const effect of effects) {
    if (effect.type === 'refuse') return `refused ${effect.code}`
    if (effect.type === 'reply') return effect.value.type === 'ack' ? `ack ${effect.value.ack}` : 'done'
  }
  return null
}
