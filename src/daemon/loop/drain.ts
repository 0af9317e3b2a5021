// The drain before the daemon stops: all running processes get the hold `daemon-shutdown`, and may finish their work in flight. The time of
// a drain is limited. A process that it waits for is examined again at each of its facts. The next start of the daemon releases the hold.
// Tests: test/tables/daemon/loop/drain.test.ts, test/e2e/lifecycle/restart.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Clock } from './clock.ts'
import type { WriteFailures } from './write-failures.ts'
import type { Pipeline } from './pipeline.ts'
import type { Table } from './table.ts'

/** Default time limit of a drain, in ms, for example after a signal. Work in flight after it is cut off, and can be resumed. */
export const DRAIN_MS = 10_000
/** Interval in ms of the check for processes that are stuck because the store cannot be written: they cause no facts. */
const STUCK_CHECK_MS = 500

export interface DrainDeps {
  readonly table: Pick<Table, 'rows' | 'get'>
  readonly pipeline: Pick<Pipeline, 'submit' | 'waitUntilIdle'>
  readonly clock: Clock
  readonly writeFailures: Pick<WriteFailures, 'drain' | 'isStuck'>
}

export class Drain {
  readonly #deps: DrainDeps
  /** the end of the drain, in monotonic ms */
  #deadline: number
  /** the processes with work in flight, as of the last committed facts */
  readonly #draining = new Set<Uuid>()
  #wake = (): void => {}

  constructor(deps: DrainDeps, ms: number) {
    this.#deps = deps
    this.#deadline = deps.clock.now().mono + ms
  }

  /** Shortens the drain to at most `ms` from now; never makes it longer. */
  shortenTo(ms: number): void {
    this.#deadline = Math.min(this.#deadline, this.#deps.clock.now().mono + ms)
    this.#wake()
  }

  /** Must be called with the facts of each commit, after they were applied. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const uuid of new Set(facts.map((fact) => fact.uuid))) {
      const process = this.#deps.table.get(uuid)
      if (process && isDraining(process)) this.#draining.add(uuid)
      else this.#draining.delete(uuid)
    }
    this.#wake()
  }

  get leftMs(): number {
    return Math.max(0, this.#deadline - this.#deps.clock.now().mono)
  }

  /** The processes with work in flight, except those whose results cannot be written. */
  get waitsFor(): readonly Process[] {
    const { table, writeFailures } = this.#deps
    return [...this.#draining].flatMap((uuid) => (writeFailures.isStuck(uuid) ? [] : (table.get(uuid) ?? [])))
  }

  /** Holds all running processes, and resolves when their work has ended, or at the time limit. */
  async run(): Promise<void> {
    const { table, pipeline, writeFailures } = this.#deps
    for (const process of table.rows()) if (isDraining(process)) this.#draining.add(process.uuid)
    writeFailures.drain()
    pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    await pipeline.waitUntilIdle()
    while (this.leftMs > 0 && this.waitsFor.length > 0) await this.#waitForChange()
  }

  /** Resolves after the next facts, at the deadline, or after `STUCK_CHECK_MS`. */
  async #waitForChange(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const cancel = this.#deps.clock.after(Math.min(this.leftMs, STUCK_CHECK_MS), resolve)
    await promise
    cancel()
  }
}

function isDraining({ life }: Process): boolean {
  if (life.state === 'zombie') return true
  return life.state === 'running' && (life.stopping !== null || (life.attached && !life.drained))
}
