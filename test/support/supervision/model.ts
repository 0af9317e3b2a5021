// A simple reference model of a supervisor and its children, written from docs/concepts/supervision.md and not from the sources. The states
// of a child: `up`; `ending` (its end was requested); `paused` with a program; `parked` (paused without a program); `waits` for its
// backoff; `joins` (starts when its group is down); `held`; `down`.
import type { RestartType, Strategy } from '../../../src/kernel/model/supervision.ts'

export type ChildState = 'up' | 'ending' | 'paused' | 'parked' | 'waits' | 'joins' | 'held' | 'down'

interface ModelChild {
  readonly type: RestartType
  state: ChildState
  /** the user requested its end */
  isStoppedByUser: boolean
  /** the number of counted restarts */
  restartCount: number
}

/** The ways in which a child can end on its own. `final`: a restart would end in the same way. */
export type ChildEnd = 'crash' | 'complete' | 'final'

export class SupervisionModel {
  readonly children: ModelChild[]
  readonly #strategy: Strategy
  readonly #maxRestarts: number
  /** the supervisor itself: up, paused, being stopped, or ended */
  state: 'up' | 'paused' | 'stopping' | 'down' = 'up'
  /** the supervisor ended itself after too many restarts */
  hasGivenUp = false
  #group: Set<number> | null = null

  constructor(strategy: Strategy, types: readonly RestartType[], maxRestarts: number) {
    this.#strategy = strategy
    this.#maxRestarts = maxRestarts
    this.children = types.map((type) => ({ type, state: 'up', isStoppedByUser: false, restartCount: 0 }))
  }

  // ——— what happens to a child

  /** A child ends on its own. If its end was requested, `how` has no effect. */
  end(index: number, how: ChildEnd): void {
    const child = this.#childAt(index)
    if (child.state === 'ending') return this.finish(index)
    if (child.state !== 'up' && child.state !== 'paused') return
    const wasPaused = child.state === 'paused'
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    // Without its supervisor the child stays down.
    if (this.state === 'down') return
    const isRestarted = how === 'crash' ? child.type !== 'temporary' : how === 'complete' ? child.type === 'permanent' : false
    if (how === 'final' && child.type !== 'temporary') child.state = 'held'
    else if (isRestarted && this.#group?.has(index)) child.state = wasPaused ? 'parked' : 'joins'
    else if (isRestarted) this.#restart(index, wasPaused)
    this.#advance()
  }

  /** A child with a requested end has ended. */
  finish(index: number): void {
    const child = this.#childAt(index)
    if (child.state !== 'ending') return
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    if (!child.isStoppedByUser && child.type !== 'temporary' && this.#group?.has(index)) child.state = 'joins'
    this.#advance()
  }

  kill(index: number): void {
    const child = this.#childAt(index)
    if (child.state === 'down') return
    // The user's request wins, even after another request.
    if (child.state === 'ending') {
      child.isStoppedByUser = true
      return
    }
    if (child.state === 'up' || child.state === 'paused') {
      Object.assign(child, { state: 'ending', isStoppedByUser: true })
      return
    }
    child.state = 'down'
    if (this.state === 'stopping') return this.#stopNext()
    this.#advance()
  }

  pause(index: number): void {
    const child = this.#childAt(index)
    if (child.state === 'up') child.state = 'paused'
    if (child.state === 'waits' || child.state === 'joins') child.state = 'parked'
  }

  /** The user resumes a child at once. If it had ended or was held, its restarts are counted from 0 again. */
  resume(index: number): void {
    const child = this.#childAt(index)
    if ((child.state === 'down' || child.state === 'held') && this.state !== 'down') child.restartCount = 0
    if (['paused', 'parked', 'waits', 'joins', 'held', 'down'].includes(child.state))
      Object.assign(child, { state: 'up', isStoppedByUser: false })
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

  /** Advances the clock beyond every backoff. */
  advanceClock(): void {
    for (const child of this.children) if (child.state === 'waits') child.state = 'up'
  }

  #childAt(index: number): ModelChild {
    const child = this.children[index]
    if (!child) throw new Error(`no child ${index}`)
    return child
  }

  #restart(index: number, wasPaused: boolean): void {
    const child = this.#childAt(index)
    if (child.restartCount + 1 > this.#maxRestarts) {
      this.state = 'stopping'
      this.hasGivenUp = true
      return this.#stopNext()
    }
    child.restartCount += 1
    const others = this.children.flatMap((other, position) => {
      const isInGroup = this.#strategy === 'one_for_all' ? position !== index : this.#strategy === 'rest_for_one' ? position > index : false
      return isInGroup && other.state === 'up' ? [position] : []
    })
    const mustWait = others.length > 0 || this.#group !== null || this.state !== 'up'
    if (others.length > 0 || this.#group) this.#group = new Set([...(this.#group ?? []), ...others])
    child.state = wasPaused ? 'parked' : mustWait ? 'joins' : 'waits'
  }

  /** Stops the next child of a group; when all are down they wait for their backoff together. */
  #advance(): void {
    if (this.state !== 'up') return
    if (this.#group) {
      const members = this.children.filter((_, at) => this.#group?.has(at))
      if (members.some(({ state }) => state === 'ending')) return
      const next = members.findLast(({ state }) => state === 'up')
      if (next) {
        Object.assign(next, { state: 'ending', isStoppedByUser: false })
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
      const isRunning = last.state === 'up' || last.state === 'paused'
      Object.assign(last, isRunning ? { state: 'ending', isStoppedByUser: false } : { state: 'down' })
    }
  }
}
