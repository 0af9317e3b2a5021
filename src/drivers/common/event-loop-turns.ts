// Divides long work into slices, so that it does not block the event loop, on which the whole daemon runs. Large numbers of commits,
// program starts, program exits, and requests over all processes run in slices. All other work runs between two slices. Node accepts
// one connection per turn of the event loop, so slices wait a limited time while connections arrive. Decides only when a slice runs.
// Test: test/tables/drivers/common/event-loop-turns.test.ts.
import { setImmediate } from 'node:timers'

/** The longest work of one queue in one turn of the event loop, in ms. Further work waits for a later turn. */
const SLICE_MS = 10
/** The longest wait of a slice for arriving connections, in ms. */
const MAX_YIELD_MS = 20

/** Decides which work may run in a turn of the event loop. */
export class EventLoopTurns {
  /** reads the monotonic clock, in ms */
  readonly mono: () => number
  /** the number of connections that arrived in the last turns */
  #recentArrivals = 0
  #crowdedSince: number | null = null
  #hasYieldedEnough = false

  /** `mono` reads the monotonic clock, in ms. */
  constructor(mono: () => number = () => performance.now()) {
    this.mono = mono
  }

  /** Notes that a connection has arrived. Whether another one follows is known only at the end of the next turn. */
  noteArrival(): void {
    this.#recentArrivals += 1
    setImmediate(() =>
      setImmediate(() => {
        this.#recentArrivals -= 1
      }),
    )
  }

  /** True while slices must wait for arriving connections. */
  get isCrowded(): boolean {
    if (this.#recentArrivals === 0) this.#crowdedSince = null
    if (this.#recentArrivals === 0 || this.#hasYieldedEnough) return false
    this.#crowdedSince ??= this.mono()
    if (this.mono() - this.#crowdedSince < MAX_YIELD_MS) return true
    this.#hasYieldedEnough = true
    setImmediate(() => {
      this.#hasYieldedEnough = false
      this.#crowdedSince = null
    })
    return false
  }

  /** Creates a queue for one kind of work. */
  newQueue(): SliceQueue {
    return new SliceQueue(this)
  }
}

/** A queue for one kind of work. The pieces of work run in the order in which they were requested. */
export class SliceQueue {
  readonly #turns: EventLoopTurns
  /** the pieces of work; the first one is running, unless it waits for a later turn */
  readonly #pieces: (() => void)[] = []
  /** the slice of this turn; null if none has begun */
  #slice: { readonly began: number } | null = null

  constructor(turns: EventLoopTurns) {
    this.#turns = turns
  }

  /** True if the next piece of work must wait for a later turn. */
  get mustWait(): boolean {
    if (this.#turns.isCrowded) return true
    return this.#slice !== null && this.#turns.mono() - this.#slice.began >= SLICE_MS
  }

  /** Resolves when the caller may run its next piece of work, which lasts until the caller waits again. */
  async next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#pieces.push(resolve)
    // If other pieces are in the queue, the last of them starts this one at its end.
    if (this.#pieces.length === 1) {
      if (this.mustWait) this.#serveLater()
      else this.#runFirst()
    }
    await promise
  }

  /** Maps the items in order, each as one piece of work. */
  async map<T, R>(items: Iterable<T>, piece: (item: T) => R): Promise<Awaited<R>[]> {
    const results: Awaited<R>[] = []
    for (const item of items) {
      await this.next()
      results.push(await piece(item))
    }
    return results
  }

  #beginSlice(): void {
    const slice = { began: this.#turns.mono() }
    this.#slice = slice
    setImmediate(() => {
      if (this.#slice === slice) this.#slice = null
    })
  }

  #serveLater(): void {
    setImmediate(() => {
      if (this.#turns.isCrowded) return this.#serveLater()
      this.#slice = null
      this.#runFirst()
    })
  }

  /** Runs the first piece. The next one runs after all microtasks and ticks that follow from the first. */
  #runFirst(): void {
    if (this.#slice === null) this.#beginSlice()
    this.#pieces[0]?.()
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#pieces.shift()
        if (this.#pieces.length === 0) return
        if (this.mustWait) this.#serveLater()
        else this.#runFirst()
      }),
    )
  }
}
