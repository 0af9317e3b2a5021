// A dumb model of a supervisor and its children, written from the rules (docs/supervision.md) and not from the sources: plain
// objects that are changed in place, no facts, no PIDs. A child is `up`, `ending` (somebody asked it to), `paused` with its
// program or `parked` without one, `waits` for its backoff, `joins` when its group is down, `held`, or `down`.
import type { RestartType, Strategy } from '../../../src/kernel/supervision.ts'

export type ChildState = 'up' | 'ending' | 'paused' | 'parked' | 'waits' | 'joins' | 'held' | 'down'

interface Child {
  readonly type: RestartType
  state: ChildState
  /** a person asked it to end */
  byPerson: boolean
  /** restarts that were counted */
  times: number
}

/** What a child can do by itself. `final`: an end that would only come again. */
export type End = 'crash' | 'complete' | 'final'

export class SupervisionModel {
  readonly children: Child[]
  readonly #strategy: Strategy
  readonly #max: number
  /** the supervisor itself: up, paused, being stopped, or ended */
  state: 'up' | 'paused' | 'stopping' | 'down' = 'up'
  /** it gave up by itself */
  gaveUp = false
  #group: Set<number> | null = null

  constructor(strategy: Strategy, types: readonly RestartType[], max: number) {
    this.#strategy = strategy
    this.#max = max
    this.children = types.map((type) => ({ type, state: 'up', byPerson: false, times: 0 }))
  }

  // ——— what happens to a child

  /** It ends by itself; one that was asked to has no say in how that is called. */
  end(index: number, how: End): void {
    const child = this.#at(index)
    if (child.state === 'ending') return this.finish(index)
    if (child.state !== 'up' && child.state !== 'paused') return
    const wasPaused = child.state === 'paused'
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    // Nobody keeps it any more.
    if (this.state === 'down') return
    const back = how === 'crash' ? child.type !== 'temporary' : how === 'complete' ? child.type === 'permanent' : false
    if (how === 'final' && child.type !== 'temporary') child.state = 'held'
    else if (back && this.#group?.has(index)) child.state = wasPaused ? 'parked' : 'joins'
    else if (back) this.#restart(index, wasPaused)
    this.#advance()
  }

  /** One that was asked to end has done so. */
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
    // A person's word is the last one, whoever asked before.
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

  /** A person: it goes on at once, and is forgiven where it had ended or was held. */
  resume(index: number): void {
    const child = this.#at(index)
    if ((child.state === 'down' || child.state === 'held') && this.state !== 'down') child.times = 0
    if (['paused', 'parked', 'waits', 'joins', 'held', 'down'].includes(child.state)) Object.assign(child, { state: 'up', byPerson: false })
  }

  // ——— what happens to the supervisor

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

  /** So long that every backoff is over. */
  wind(): void {
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

  /** The next of a group is stopped; when all are down they wait for their backoff together. */
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
    // Those that waited for nothing but the supervisor wait no longer.
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
