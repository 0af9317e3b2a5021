// Removing an ended process for good, and the work that this leaves to do.
// Owns the door between the dead and the living: a resume and a removal of one process go through it one at a time, so that
// each is decided on what the other has left. The kernel's table has no dead, so it could not tell.
// Must never remove what is in the table. Tests: test/e2e/removal.test.ts, test/tables/removals.test.ts.
import { setImmediate } from 'node:timers/promises'
import { KernelError } from '../kernel/errors.ts'
import { iso } from './times.ts'
import type { RemovedView } from '../api/views.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'

interface RemovalsParts {
  readonly reads: { resolve(ref: string): Promise<Process>; get(uuid: Uuid): Promise<Process> }
  readonly store: Pick<Store, 'remove'>
  readonly clock: Clock
  readonly sweeper: Pick<Sweeper, 'sweep'>
}

export class Removals {
  readonly #parts: RemovalsParts
  /** the end of the line before each door */
  readonly #lines = new Map<Uuid, Promise<unknown>>()

  constructor(parts: RemovalsParts) {
    this.#parts = parts
  }

  /** Errors: `CONFLICT` unless it is dead, those of a reference, those of the store. */
  remove(ref: string): Promise<RemovedView> {
    const { reads, store, clock, sweeper } = this.#parts
    return this.alone(ref, async (uuid) => {
      const { pid, life, spec: { name } } = await reads.get(uuid)
      if (life.state !== 'dead') throw new KernelError('CONFLICT', `process ${pid} ${life.state === 'zombie' ? 'is still being released' : 'has not ended'}`, { uuid })
      const at = clock.now().wall
      if (!(await store.remove(uuid, at))) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
      sweeper.sweep()
      return { version: 1, uuid, pid, name, removedAt: iso(at) }
    })
  }

  /** Does what may bring a process back or take it away, when all that came before for the same process is done. */
  async alone<T>(ref: string, work: (uuid: Uuid) => Promise<T>): Promise<T> {
    const { uuid } = await this.#parts.reads.resolve(ref)
    const turn = (this.#lines.get(uuid) ?? Promise.resolve()).then(() => work(uuid))
    const end = turn.then(() => {}, () => {})
    this.#lines.set(uuid, end)
    try {
      return await turn
    } finally {
      if (this.#lines.get(uuid) === end) this.#lines.delete(uuid)
    }
  }
}

/** Does the store's leftover work piece by piece, and gives the loop a turn between two. */
export class Sweeper {
  readonly #store: Pick<Store, 'sweep'>
  readonly #log: (message: string, error: unknown) => void
  #running: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(store: Pick<Store, 'sweep'>, log: (message: string, error: unknown) => void) {
    this.#store = store
    this.#log = log
  }

  /** There may be something to do. What fails is tried again with the next call, at the latest by the next start. */
  sweep(): void {
    this.#again = true
    this.#running ??= this.#run().catch((error: unknown) => this.#log('what removed processes left cannot be cleared away', error)).finally(() => {
      this.#running = null
    })
  }

  /** Resolves when the piece in hand is done; the next start goes on. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      while (!this.#stopped && (await this.#store.sweep())) await setImmediate()
    }
  }
}
