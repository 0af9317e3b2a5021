// Removes ended processes for good, with their worktrees and recorded calls, and sweeps their data. Resuming, removing and pinning a
// process exclude each other: they run one at a time, in order. The kernel cannot do this, because its table contains no dead processes.
// Must never remove a process that is not dead, or one that is being exported.
// Tests: test/e2e/daemon/removal.test.ts, test/e2e/daemon/gc.test.ts, test/tables/daemon/operations/removals.test.ts.
import { setImmediate } from 'node:timers/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import { KeyedQueue } from '../loop/keyed-queue.ts'
import { isoTime } from '../views/format-times.ts'
import { updateLedger } from '../views/usage-report.ts'
import type { RemovedView, WorktreeEndView, CrewKeptView } from '../../api/views/process.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { GcExemptions } from './gc-exemptions.ts'
import type { Worktrees } from './worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

interface RemovalsDeps {
  readonly reads: { resolve(ref: string): Promise<Process>; get(uuid: Uuid): Promise<Process> }
  readonly store: Pick<Store, 'updateUsageLedger' | 'remove'>
  readonly clock: Clock
  readonly sweeper: Pick<Sweeper, 'sweep'>
  readonly worktrees: Pick<Worktrees, 'checkIdle' | 'remove'>
  /** ended processes that must not be collected; absent: none */
  readonly exemptions?: Pick<GcExemptions, 'has'>
  /** finds the changes in the worktree of a process; null: unknown. Absent: no process has a worktree */
  readonly findUnsavedChanges?: (process: Process) => Promise<{ readonly commits: number; readonly count: number } | null>
  /** called when a process was removed */
  readonly onRemoved?: (uuid: Uuid) => void
  /** deletes the recorded calls of a process; absent: there are none */
  readonly removeRecordings?: (uuid: Uuid) => Promise<void>
  readonly log?: (message: string, error: unknown) => void
  /** finds the branches and refs of a crew that git keeps; null if there are none, or for other processes */
  readonly findCrewGitState?: (process: Process) => Promise<CrewKeptView | null>
}

export interface RemoveOptions {
  /** also removes a pinned process */
  readonly force?: boolean
  /** removes the process only if its worktree has no changes */
  readonly unchanged?: boolean
  /** the session of the page that requests it */
  readonly via?: string | undefined
}

export class Removals {
  readonly #deps: RemovalsDeps
  /** its keys are UUIDs of processes */
  readonly #queue = new KeyedQueue()
  /** the number of running exports by process */
  readonly #readers = new Map<Uuid, number>()

  constructor(deps: RemovalsDeps) {
    this.#deps = deps
  }

  /** Removes a process. Errors: `CONFLICT` if it may not be removed; those of a reference and of the store. */
  remove(ref: string, { force = false, unchanged = false, via }: RemoveOptions = {}): Promise<RemovedView> {
    return this.runExclusively(ref, async (uuid) => {
      const process = await this.#deps.reads.get(uuid)
      const {
        pid,
        spec: { name },
      } = process
      const reason = this.#reasonToKeep(process, force) ?? (unchanged ? await this.#findWork(process) : null)
      if (reason !== null) throw new KernelError('CONFLICT', `process ${pid} ${reason}`, { uuid })
      // The crew's branch and refs are read now, because its row names them.
      const crew = (await this.#deps.findCrewGitState?.(process)) ?? null
      const removed = await this.#remove(process)
      if (removed === null) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
      const { at, worktree } = removed
      // The journal is gone with the process, so the daemon's log has the session.
      if (via !== undefined) this.#deps.log?.(`${via} removed process ${pid}${name === null ? '' : ` (${name})`}, ${uuid}`, null)
      return {
        version: 1,
        uuid,
        pid,
        name,
        removedAt: isoTime(at),
        ...(worktree === null ? {} : { worktree }),
        ...(crew === null ? {} : { crew }),
      }
    })
  }

  /** Removes a process for the collector, if it has not been resumed or pinned since it was selected. Returns true if it was removed. */
  async collect(uuid: Uuid, exitedAt: number): Promise<boolean> {
    try {
      return await this.runExclusively(uuid, async () => {
        const process = await this.#deps.reads.get(uuid)
        if (process.clock.exitedAt !== exitedAt || this.#reasonToKeep(process, false) !== null || this.#deps.exemptions?.has(process))
          return false
        return (await this.#remove(process)) !== null
      })
    } catch (error) {
      // The process was removed already, or another process works in its worktree. The next round tries again.
      if (error instanceof KernelError && (error.code === 'COLLECTED' || error.code === 'CONFLICT')) return false
      throw error
    }
  }

  /** Runs `work`, which reads the history of a process. Prevents the removal of the process until `work` ends, but not its resume. */
  async readWithoutRemoval<T>(ref: string, work: (uuid: Uuid) => Promise<T>): Promise<T> {
    const { uuid } = await this.#deps.reads.resolve(ref)
    this.#readers.set(uuid, (this.#readers.get(uuid) ?? 0) + 1)
    try {
      // A removal that has already started comes first.
      await this.#queue.waitUntilSettled(uuid)
      return await work(uuid)
    } finally {
      const left = (this.#readers.get(uuid) ?? 1) - 1
      if (left > 0) this.#readers.set(uuid, left)
      else this.#readers.delete(uuid)
    }
  }

  /** Describes the work in the worktree of a process, as the end of a sentence; null if there is none. */
  async #findWork(process: Process): Promise<string | null> {
    if (!process.spec.worktree || !process.files) return null
    const changes = (await this.#deps.findUnsavedChanges?.(process)) ?? null
    if (changes === null) return 'has a worktree that cannot be examined'
    return changes.commits + changes.count === 0 ? null : 'has changes in its worktree'
  }

  /** Why a removal without options would be refused, as a sentence; null: it would not. */
  findObstacle(process: Process): string | null {
    const reason = this.#reasonToKeep(process, false)
    if (reason !== null) return `process ${process.pid} ${reason}`
    try {
      this.#deps.worktrees.checkIdle(process)
      return null
    } catch (error) {
      if (error instanceof KernelError) return error.message
      throw error
    }
  }

  /** Why a process must not be removed, as the end of a sentence; null if it may be. */
  #reasonToKeep({ uuid, life, pinned }: Process, force: boolean): string | null {
    if (life.state !== 'dead') return life.state === 'zombie' ? 'is still being released' : 'has not ended'
    if (this.#readers.has(uuid)) return 'is being exported'
    return pinned && !force ? 'is pinned' : null
  }

  /**
   * Removes a process. Returns the time of the removal and the fate of its worktree; null if the process no longer existed.
   * Errors: `CONFLICT` while another process works in the worktree.
   */
  async #remove(process: Process): Promise<{ readonly at: number; readonly worktree: WorktreeEndView | null } | null> {
    const { store, clock, sweeper, worktrees, removeRecordings, onRemoved } = this.#deps
    worktrees.checkIdle(process)
    // The ledger must contain the usage of the process before its facts are gone.
    await updateLedger(store)
    const at = clock.now().wall
    // Recorded calls are deleted before the process: if the daemon is killed in between, no files are left without an owner.
    await removeRecordings?.(process.uuid)
    if (!(await store.remove(process.uuid, at))) return null
    onRemoved?.(process.uuid)
    sweeper.sweep()
    // If the daemon is killed here, the next start salvages and removes the worktree.
    return { at, worktree: await worktrees.remove(process) }
  }

  /** Runs `work`, such as a resume or a removal, after all earlier work for the same process. `ref` is a reference to the process. */
  async runExclusively<T>(ref: string, work: (uuid: Uuid) => Promise<T>): Promise<T> {
    const { uuid } = await this.#deps.reads.resolve(ref)
    return this.#queue.run(uuid, () => work(uuid))
  }
}

/** Deletes the data of removed processes from the store, in pieces, and yields to the event loop between two pieces. */
export class Sweeper {
  readonly #store: Pick<Store, 'sweep'>
  readonly #log: (message: string, error: unknown) => void
  #activeRun: Promise<void> | null = null
  #isRequested = false
  #isStopped = false

  constructor(store: Pick<Store, 'sweep'>, log: (message: string, error: unknown) => void) {
    this.#store = store
    this.#log = log
  }

  /** Requests a sweep. A failed sweep is logged, and continues at the next request, at the latest at the next start. */
  sweep(): void {
    this.#isRequested = true
    this.#activeRun ??= this.#run()
  }

  /** Resolves when there is nothing left to delete, or the sweep has failed. */
  async waitUntilIdle(): Promise<void> {
    await this.#activeRun
  }

  /** Stops after the current piece, and resolves then. The next start continues. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#activeRun
  }

  async #run(): Promise<void> {
    try {
      while (this.#isRequested && !this.#isStopped) {
        this.#isRequested = false
        while (!this.#isStopped && (await this.#store.sweep())) await setImmediate()
      }
    } catch (error) {
      this.#log('the data of removed processes cannot be deleted', error)
    } finally {
      // Reset in the same turn as the last check of `#isRequested`, so that a later request starts a new run.
      this.#activeRun = null
    }
  }
}
