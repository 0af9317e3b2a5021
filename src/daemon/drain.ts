// The drain before a stop: everything that runs gets the hold `daemon-shutdown` and may finish what is in flight.
// Owns how long that may take, and knows what it still waits for. The next start releases just that hold.
// Test: test/e2e/restart.test.ts.
import type { Process } from '../kernel/types.ts'
import type { Clock } from './clock.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'

/** What is still in flight after that is cut off; resume knows how to go on. For a stop that names no time, as by a signal. */
export const DRAIN_MS = 10_000
const LOOK_MS = 20

export interface DrainParts {
  readonly table: Table
  readonly pipeline: Pipeline
  readonly clock: Clock
}

export class Drain {
  readonly #parts: DrainParts
  #until: number

  constructor(parts: DrainParts, ms: number) {
    this.#parts = parts
    this.#until = parts.clock.now().mono + ms
  }

  /** It ends so many ms from now at the latest; never later than was said before. */
  within(ms: number): void {
    this.#until = Math.min(this.#until, this.#parts.clock.now().mono + ms)
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.#parts.clock.now().mono)
  }

  /** what is still in flight */
  get waitsFor(): readonly Process[] {
    return [...this.#parts.table.rows()].filter(isDraining)
  }

  async run(): Promise<void> {
    const { pipeline, clock } = this.#parts
    pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    await pipeline.idle()
    while (this.leftMs > 0 && this.waitsFor.length > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      clock.after(LOOK_MS, resolve)
      await promise
    }
  }
}

function isDraining({ life }: Process): boolean {
  if (life.state === 'zombie') return true
  return life.state === 'running' && (life.stopping !== null || (life.attached && !life.drained))
}
