// Removes processes with `removeAtEnd` ten seconds after their end, so that a client that follows such a process can still read how it
// ended. Must never remove a process that was interrupted, or whose worktree has changes. A start of the daemon schedules the removals that
// an earlier daemon did not finish. Test: test/e2e/lifecycle/temporary.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Clock } from '../loop/clock.ts'
import type { Removals } from './removals.ts'

/** The time in ms from the end of a process to its removal. */
export const REMOVAL_DELAY_MS = 10_000
/** The number of ended processes, newest first, that are searched for unfinished removals at the start. */
const MAX_LEFT = 100

interface AutoRemovalsDeps {
  readonly clock: Pick<Clock, 'after'>
  /** returns a process of the table */
  readonly get: (uuid: Uuid) => Process | undefined
  readonly store: Pick<Store, 'process' | 'dead'>
  readonly log: (message: string, error: unknown) => void
}

export class AutoRemovals {
  readonly #deps: AutoRemovalsDeps
  /** processes of the table with `removeAtEnd` */
  readonly #temporaryUuids = new Set<Uuid>()
  readonly #timers = new Map<Uuid, () => void>()
  readonly #active = new Set<Promise<void>>()
  #removals: Pick<Removals, 'remove'> | null = null

  constructor(deps: AutoRemovalsDeps) {
    this.#deps = deps
  }

  /** Starts the removals. `removals` and the table exist only after this object. */
  start(removals: Pick<Removals, 'remove'>, living: Iterable<Process>): void {
    this.#removals = removals
    for (const { uuid, spec } of living) if (spec.removeAtEnd) this.#temporaryUuids.add(uuid)
    this.#track(
      this.#deps.store.dead({ limit: MAX_LEFT }).then((found) => {
        for (const process of found) if (process.spec.removeAtEnd) this.#schedule(process.uuid)
      }),
    )
  }

  /** Must be called with the facts of each commit. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const { uuid, body } of facts) {
      const spec = 'spec' in body && body.spec ? body.spec : body.type === 'process.resumed' ? this.#deps.get(uuid)?.spec : undefined
      if (spec?.removeAtEnd) this.#temporaryUuids.add(uuid)
      if (body.type === 'process.resumed') this.#cancel(uuid)
      if (body.type === 'process.reaped' && this.#temporaryUuids.delete(uuid)) this.#schedule(uuid)
    }
  }

  /** Cancels the scheduled removals, and resolves when no removal runs. */
  async stop(): Promise<void> {
    for (const uuid of this.#timers.keys()) this.#cancel(uuid)
    await Promise.all(this.#active)
  }

  #schedule(uuid: Uuid): void {
    this.#cancel(uuid)
    this.#timers.set(
      uuid,
      this.#deps.clock.after(REMOVAL_DELAY_MS, () => {
        this.#timers.delete(uuid)
        this.#track(this.#remove(uuid))
      }),
    )
  }

  #cancel(uuid: Uuid): void {
    this.#timers.get(uuid)?.()
    this.#timers.delete(uuid)
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#deps.log('processes with `removeAtEnd` cannot be removed', error))
      .finally(() => this.#active.delete(tracked))
    this.#active.add(tracked)
  }

  async #remove(uuid: Uuid): Promise<void> {
    const process = await this.#deps.store.process(uuid)
    if (process?.life.state !== 'dead' || process.life.exit.cause === 'daemon') return
    try {
      await this.#removals?.remove(uuid, { unchanged: true })
    } catch (error) {
      if (!(error instanceof KernelError) || !['CONFLICT', 'NOT_FOUND', 'COLLECTED'].includes(error.code)) throw error
      if (error.code === 'CONFLICT') this.#deps.log(`process ${process.pid} stays after its end: ${error.message}`, null)
    }
  }
}
