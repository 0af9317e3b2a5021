// A clock that only the test advances; its timers fire in order of their time.
import type { Clock } from '../../src/daemon/loop/clock.ts'
import type { Now } from '../../src/kernel/model/ids.ts'

interface Timer {
  readonly at: number
  readonly fn: () => void
}

export class ManualClock implements Clock {
  #wall = 1_700_000_000_000
  #mono = 1_000
  #sleptMs = 0
  readonly #timers = new Set<Timer>()

  now(): Now {
    return { wall: this.#wall, mono: this.#mono }
  }

  uptimeMs(): number {
    return this.#mono + this.#sleptMs
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#mono + Math.max(0, ms), fn }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** the number of armed timers */
  get timers(): number {
    return this.#timers.size
  }

  /** Advances the clock; each timer fires at its own time. */
  wind(ms: number): void {
    const end = this.#mono + ms
    for (let timer = this.#nextTimer(end); timer; timer = this.#nextTimer(end)) {
      this.#timers.delete(timer)
      this.#setMono(Math.max(this.#mono, timer.at))
      timer.fn()
    }
    this.#setMono(end)
  }

  /** Lets the machine sleep: the monotonic clock stands still. */
  sleep(ms: number): void {
    this.#wall += ms
    this.#sleptMs += ms
  }

  /** Makes the wall clock jump, as when a user sets it; the monotonic clock does not change. */
  jump(ms: number): void {
    this.#wall += ms
  }

  #nextTimer(end: number): Timer | undefined {
    let nearest: Timer | undefined
    for (const timer of this.#timers) if (timer.at <= end && (!nearest || timer.at < nearest.at)) nearest = timer
    return nearest
  }

  #setMono(mono: number): void {
    this.#wall += mono - this.#mono
    this.#mono = mono
  }
}
