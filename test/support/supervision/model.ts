// A simple model of a supervisor and its children, written from the rules (docs/supervision.md) and not from the sources. Mutable
// plain objects, no facts, no PIDs. A child is `up`, `ending` (its end was requested), `paused` with its program, or `parked` without
// one. A child `waits` for its backoff, `joins` when its group is down, or is `held` or `down`.
import type { RestartType, Strategy } from '../../../src/kernel/model/supervision.ts'

export type ChildState = 'up' | 'ending' | 'paused' | 'parked' | 'waits' | 'joins' | 'held' | 'down'

interface Child {
  readonly type: RestartType
  state: ChildState
  /** the user requested its end */
  byPerson: boolean
  /** the number of counted restarts */
  times: number
}

/** The ways in which a child can end by itself. `final`: a restart would end in the same way. */
export type End = 'crash' | 'complete' | 'final'

export class SupervisionModel {
  readonly children: Child[]
  readonly #strategy: Strategy
  readonly #max: number
  /** the supervisor itself: up, paused, being stopped, or ended */
  state: 'up' | 'paused' | 'stopping' | 'down' = 'up'
  /** gave up by itself */
  gaveUp = false
  #group: Set<number> | null = null

  constructor(strategy: Strategy, types: readonly RestartType[], max: number) {
    this.#strategy = strategy
    this.#max = max
    this.children = types.map((type) => ({ type, state: 'up', byPerson: false, times: 0 }))
  }

  // ——— events of a child

  /** A child ends by itself. After a requested end the way does not matter. */
  end(index: number, how: End): void {
    const child = this.#at(index)
    if (child.state === 'ending') return this.finish(index)
    if (child.state !== 'up' && child.state !== 'paused') return
    const wasPaused = child.state === 'paused'
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    // Without its supervisor the child stays down.
    if (this.state === 'down') return
    const back = how === 'crash' ? child.type !== 'temporary' : how === 'complete' ? child.type === 'permanent' : false
    if (how === 'final' && child.type !== 'temporary') child.state = 'held'
    else if (back && this.#group?.has(index)) child.state = wasPaused ? 'parked' : 'joins'
    else if (back) this.#restart(index, wasPaused)
    this.#advance()
  }

  /** A child with a requested end has ended. */
  finish(index: number): void {
    const child = this.#at(index)
    if (child.state !== 'ending') return
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    if (!child.byPerson && child.type !== 'temporary' && this.#group?.has(index)) child.state = 'joins'
    this.#advance()
  }

  kill(index: number): void {
    const child = this.#at(index)
    if (child.state === 'down') return
    // The user's request is the last word, also after another request.
    if (child.state === 'ending') {
      child.byPerson = true
      return
    }
    if (child.state === 'up' || child.state === 'paused') {
      Object.assign(child, { state: 'ending', byPerson: true })
      return
    }
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    this.#advance()
  }

  pause(index: number): void {
    const child = this.#at(index)
    if (child.state === 'up') child.state = 'paused'
    if (child.state === 'waits' || child.state === 'joins') child.state = 'parked'
  }

  /** The user resumes a child at once; its restarts are forgotten where it had ended or was held. */
  resume(index: number): void {
    const child = this.#at(index)
    if ((child.state === 'down' || child.state === 'held') && this.state !== 'down') child.times = 0
    if (['paused', 'parked', 'waits', 'joins', 'held', 'down'].includes(child.state)) Object.assign(child, { state: 'up', byPerson: false })
  }

  // ——— events of the supervisor

  stop(): void {
    if (this.state === 'down') return
    if (this.state !== 'stopping') {
      this.state = 'stopping'
      this.#stopNext()
    }
  }

  pauseAll(): void {
    if (this.state === 'up') this.state = 'paused'
  }

  resumeAll(): void {
    if (this.state !== 'paused') return
    this.state = 'up'
    this.#advance()
  }

  /** Advances the clock beyond every backoff. */
  advanceClock(): void {
    for (const child of this.children) if (child.state === 'waits') child.state = 'up'
  }

  #at(index: number): Child {
    const child = this.children[index]
    if (!child) throw new Error(`no child ${index}`)
    return child
  }

  #restart(index: number, wasPaused: boolean): void {
    const child = this.#at(index)
    if (child.times + 1 > this.#max) {
      this.state = 'stopping'
      this.gaveUp = true
      return this.#stopNext()
    }
    child.times += 1
    const others = this.children.flatMap((other, at) => {
      const touched = this.#strategy === 'one_for_all' ? at !== index : this.#strategy === 'rest_for_one' ? at > index : false
      return touched && other.state === 'up' ? [at] : []
    })
    const waits = others.length > 0 || this.#group !== null || this.state !== 'up'
    if (others.length > 0 || this.#group) this.#group = new Set([...(this.#group ?? []), ...others])
    child.state = wasPaused ? 'parked' : waits ? 'joins' : 'waits'
  }

  /** Stops the next child of a group; when all are down they wait for their backoff together. */
  #advance(): void {
    if (this.state !== 'up') return
    if (this.#group) {
      const members = this.children.filter((_, at) => this.#group?.has(at))
      if (members.some(({ state }) => state === 'ending')) return
      const next = members.findLast(({ state }) => state === 'up')
      if (next) {
        Object.assign(next, { state: 'ending', byPerson: false })
        return
      }
      this.#group = null
      for (const child of this.children) if (child.state === 'joins') child.state = 'waits'
      return
    }
    // Children that waited only for the supervisor start.
    for (const child of this.children) if (child.state === 'joins') child.state = 'up'
  }

  #stopNext(): void {
    for (;;) {
      if (this.children.some(({ state }) => state === 'ending')) return
      const last = this.children.findLast(({ state }) => state !== 'down')
      if (!last) {
        this.state = 'down'
        return
      }
      const runs = last.state === 'up' || last.state === 'paused'
      Object.assign(last, runs ? { state: 'ending', byPerson: false } : { state: 'down' })
    }
  }
}
