// Removing an ended process for good, and the work that this leaves to do.
// Owns the door between the dead and the living: what may bring a process back, take it away or pin it goes through it one
// at a time, so that each is decided on what the other has left. The kernel's table has no dead, so it could not tell.
// Must never remove what is in the table, or what is being read to be exported.
// Tests: test/e2e/removal.test.ts, test/e2e/gc.test.ts, test/tables/removals.test.ts.
import { setImmediate } from 'node:timers/promises'
import { KernelError } from '../kernel/errors.ts'
import { iso } from './times.ts'
import { caughtUp } from './usage-report.ts'
import type { CrewKeptView } from '../api/crew-report-views.ts'
import type { RemovedView, WorktreeEndView } from '../api/views.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Needed } from './needed.ts'
import type { Worktrees } from './worktrees.ts'

interface RemovalsParts {
  readonly reads: { resolve(ref: string): Promise<Process>; get(uuid: Uuid): Promise<Process> }
  readonly store: Pick<Store, 'account' | 'remove'>
  readonly clock: Clock
  readonly sweeper: Pick<Sweeper, 'sweep'>
  readonly worktrees: Pick<Worktrees, 'checkIdle' | 'remove'>
  /** who is not collected, as somebody who lives needs it; absent: nobody is */
  readonly needed?: Pick<Needed, 'has'>
  /** removes what of its calls was recorded; absent: nothing ever is */
  readonly recorded?: (uuid: Uuid) => Promise<void>
  /** what git keeps of a crew; absent: there are none */
  readonly kept?: (process: Process) => Promise<CrewKeptView | null>
}

export class Removals {
  readonly #parts: RemovalsParts
  /** the end of the line before each door */
  readonly #lines = new Map<Uuid, Promise<unknown>>()
  /** how many read it from its beginning to its end */
  readonly #readers = new Map<Uuid, number>()

  constructor(parts: RemovalsParts) {
    this.#parts = parts
  }

  /** Errors: `CONFLICT` unless it is dead, and not pinned unless forced; those of a reference, those of the store. */
  remove(ref: string, force = false): Promise<RemovedView> {
    return this.alone(ref, async (uuid) => {
      const process = await this.#parts.reads.get(uuid)
      const { pid, spec: { name } } = process
      const reason = this.#reasonAgainst(process, force)
      if (reason !== null) throw new KernelError('CONFLICT', `process ${pid} ${reason}`, { uuid })
      // While its row says which branch and whose refs.
      const crew = await this.#parts.kept?.(process) ?? null
      const removed = await this.#remove(process)
      if (removed === null) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
      const { at, worktree } = removed
      return { version: 1, uuid, pid, name, removedAt: iso(at), ...(worktree === null ? {} : { worktree }), ...(crew === null ? {} : { crew }) }
    })
  }

  /** Removes what ended at that time, if it is still as it was. False: it is not any more. */
  async collect(uuid: Uuid, exitedAt: number): Promise<boolean> {
    try {
      return await this.alone(uuid, async () => {
        const process = await this.#parts.reads.get(uuid)
        if (process.clock.exitedAt !== exitedAt || this.#reasonAgainst(process, false) !== null || this.#parts.needed?.has(process)) return false
        return await this.#remove(process) !== null
      })
    } catch (error) {
      // It is gone, or somebody still works in its worktree: then the next round looks again.
      if (error instanceof KernelError && (error.code === 'COLLECTED' || error.code === 'CONFLICT')) return false
      throw error
    }
  }

  /** Keeps a process from being removed while its history is read; it may be resumed meanwhile. */
  async reading<T>(ref: string, work: (uuid: Uuid) => Promise<T>): Promise<T> {
    const { uuid } = await this.#parts.reads.resolve(ref)
    this.#readers.set(uuid, (this.#readers.get(uuid) ?? 0) + 1)
    try {
      // A removal that was on its way has the first word.
      await this.#lines.get(uuid)
      return await work(uuid)
    } finally {
      const left = (this.#readers.get(uuid) ?? 1) - 1
      if (left > 0) this.#readers.set(uuid, left)
      else this.#readers.delete(uuid)
    }
  }

  #reasonAgainst({ uuid, life, pinned }: Process, force: boolean): string | null {
    if (life.state !== 'dead') return life.state === 'zombie' ? 'is still being released' : 'has not ended'
    if (this.#readers.has(uuid)) return 'is being exported'
    return pinned && !force ? 'is pinned' : null
  }

  /** When, and what became of its worktree; null if there was nothing to remove. Errors: `CONFLICT` while another one works in there. */
  async #remove(process: Process): Promise<{ readonly at: number; readonly worktree: WorktreeEndView | null } | null> {
    const { store, clock, sweeper, worktrees, recorded } = this.#parts
    worktrees.checkIdle(process)
    // In pieces: what it used stays counted when it is gone.
    await caughtUp(store)
    const at = clock.now().wall
    // First, so that a daemon that is killed here leaves nothing that nobody would find.
    await recorded?.(process.uuid)
    if (!(await store.remove(process.uuid, at))) return null
    sweeper.sweep()
    // A daemon that is killed here leaves a worktree without a process, which the next start salvages.
    return { at, worktree: await worktrees.remove(process) }
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

  /** Resolves when nothing is left to do, or what was tried failed. */
  async idle(): Promise<void> {
    await this.#running
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
