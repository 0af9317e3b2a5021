// Forks, resumes, pins, removes and collects processes of a simulated daemon, through the daemon's own operations, sweeper and collector.
// Records all forks and removals, across restarts of the daemon, and compares the store with them at the end.
import { GarbageCollector } from '../../../src/daemon/operations/collector.ts'
import { findForkPoint } from '../../../src/daemon/operations/fork-point.ts'
import { Removals, Sweeper } from '../../../src/daemon/operations/removals.ts'
import { KernelError } from '../../../src/kernel/model/errors.ts'
import { checkForkable } from '../../../src/kernel/decide/fork.ts'
import { isExternal } from '../../../src/kernel/model/capabilities.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { journalOf } from './daemon-core.ts'
import type { Core } from './daemon-core.ts'
import type { PickNumber } from './random-inputs.ts'
import type { Rule } from './rules.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import { changedSpec } from '../spec-changes.ts'

/** the number of ended processes that a collection keeps */
const MAX_KEPT = 4

interface DaemonOperations {
  readonly core: Core
  readonly removals: Removals
  readonly sweeper: Sweeper
  readonly collector: GarbageCollector
}

interface ForkRecord {
  readonly origin: Uuid
  /** the facts that it shares with its origins, as JSON */
  readonly before: readonly string[]
}

export interface ForksAndRemovalsParts {
  readonly pick: PickNumber
  readonly newUuid: () => Uuid
  readonly acknowledged: Set<string>
  readonly reportViolation: (rule: Rule | 'defect', description: string) => void
}

export class ForksAndRemovals {
  /** removed processes, including those whose removal got no answer */
  readonly removed = new Set<Uuid>()
  readonly counts = { forks: 0, removed: 0, refused: 0, pieces: 0, resumed: 0 }
  readonly #parts: ForksAndRemovalsParts
  /** the number of forced removals in progress */
  readonly #forcedRemovals = new Map<Uuid, number>()
  readonly #forks = new Map<Uuid, ForkRecord>()
  #operations: DaemonOperations | null = null

  constructor(parts: ForksAndRemovalsParts) {
    this.#parts = parts
  }

  /** Attaches a new daemon, which continues the removals of the last one. */
  open(core: Core): void {
    const store = {
      remove: async (uuid: Uuid, at: number) => {
        if ((await core.store.process(uuid))?.pinned && this.#countForced(uuid) === 0) this.#parts.reportViolation('pinStays', uuid)
        const isRemoved = await core.store.remove(uuid, at)
        if (isRemoved) {
          this.removed.add(uuid)
          this.counts.removed += 1
        }
        return isRemoved
      },
      sweep: () => {
        this.counts.pieces += 1
        return core.store.sweep()
      },
      updateUsageLedger: () => core.store.updateUsageLedger(),
    }
    const getProcess = (uuid: Uuid): Promise<Process> => this.#get(core, uuid)
    const sweeper = new Sweeper(store, (message, error) => this.#parts.reportViolation('defect', `${message}: ${String(error)}`))
    const worktrees = { checkIdle: () => {}, remove: async () => null }
    const removals = new Removals({ reads: { get: getProcess, resolve: getProcess }, store, clock: core.clock, sweeper, worktrees })
    const readConfig = async () => ({ retention_days: 0, max_entries: MAX_KEPT, max_bytes: 0, interval_seconds: 60 })
    const collector = new GarbageCollector({
      store: core.store,
      local: core.store,
      reads: { find: (uuid) => core.store.process(uuid) },
      removals,
      sweeper,
      clock: core.clock,
      readConfig,
      log: () => {},
    })
    this.#operations = { core, removals, sweeper, collector }
    sweeper.sweep()
  }

  /** Lets the current piece of work end, and starts no other. */
  async close(): Promise<void> {
    const operations = this.#operations
    this.#operations = null
    await operations?.collector.stop()
    await operations?.sweeper.stop()
  }

  /** Removes the processes one by one, by force, and waits until nothing of them is left to sweep. */
  async clear(uuids: readonly Uuid[]): Promise<void> {
    const operations = this.#operations
    if (!operations) return
    for (const uuid of uuids) if (await operations.core.store.process(uuid)) await this.#remove(operations, uuid, true)
    await operations.sweeper.waitUntilIdle()
  }

  /** Resumes through the API's operation, which refuses a row that another request has changed meanwhile. */
  resume(uuid: Uuid, withOtherModel = false): void {
    const operations = this.#operations
    if (operations)
      this.#ignoreRefusal(
        operations,
        operations.removals.runExclusively(uuid, () => this.#resume(operations, uuid, withOtherModel)),
      )
  }

  /** Performs one random operation. */
  performRandom(uuid: Uuid): void {
    const operations = this.#operations
    if (!operations) return
    const { pick } = this.#parts
    const operation = pick(10)
    if (operation < 5) return this.#ignoreRefusal(operations, this.#fork(operations, uuid))
    if (operation === 5) return this.#ignoreRefusal(operations, this.#pin(operations, uuid))
    if (operation === 6) return this.#ignoreRefusal(operations, this.#remove(operations, uuid, pick(4) === 0))
    if (operation === 7) return this.#ignoreRefusal(operations, operations.collector.run())
    this.resume(uuid, pick(2) === 0)
  }

  async #remove({ removals }: DaemonOperations, uuid: Uuid, isForced: boolean): Promise<void> {
    const forcedCount = isForced ? 1 : 0
    this.#forcedRemovals.set(uuid, this.#countForced(uuid) + forcedCount)
    try {
      await removals.remove(uuid, { force: isForced })
    } finally {
      this.#forcedRemovals.set(uuid, this.#countForced(uuid) - forcedCount)
    }
  }

  #countForced(uuid: Uuid): number {
    return this.#forcedRemovals.get(uuid) ?? 0
  }

  /** Pins a process; sometimes a removal follows at once. */
  async #pin(operations: DaemonOperations, uuid: Uuid): Promise<void> {
    const { core, removals } = operations
    const [pinned, removes, isForced] = [this.#parts.pick(3) > 0, this.#parts.pick(2) === 0, this.#parts.pick(4) === 0]
    await removals.runExclusively(uuid, async () => {
      const process = await this.#get(core, uuid)
      await core.pipeline.request({ type: 'pin', by: 'user', uuid, endedRow: process.life.state === 'dead' ? process : null, pinned })
    })
    if (removes) await this.#remove(operations, uuid, isForced)
  }

  /** Resumes an ended process. */
  async #resume({ core }: DaemonOperations, uuid: Uuid, withOtherModel: boolean): Promise<void> {
    const process = await this.#get(core, uuid)
    if (process.life.state !== 'dead') return
    const spec = withOtherModel ? changedSpec(process.spec, { model: 'script:other.yaml' }) : null
    await core.pipeline.request({
      type: 'resume',
      by: 'user',
      uuid,
      endedRow: process,
      subtree: false,
      only: false,
      rerun: process.spec.driver !== 'native',
      message: null,
      spec,
    })
    this.counts.resumed += 1
  }

  /** Forks a process. Some forks bypass the daemon's operation: the store itself must refuse those of removed processes. */
  async #fork(operations: DaemonOperations, origin: Uuid): Promise<void> {
    if (this.#parts.pick(2) === 0) return this.#forkNow(operations, origin)
    return operations.removals.runExclusively(origin, () => this.#forkNow(operations, origin))
  }

  async #forkNow({ core }: DaemonOperations, originUuid: Uuid): Promise<void> {
    const origin = await this.#get(core, originUuid)
    checkForkable(origin)
    const wholeStep = origin.progress.wholeStep
    const requestedPoint = isExternal(origin.spec) || this.#parts.pick(3) === 0 ? {} : { fromStep: this.#parts.pick(wholeStep + 1) }
    const point = await findForkPoint(core.store, origin, requestedPoint)
    const uuid = this.#parts.newUuid()
    const before = (await journalOf(core, originUuid)).filter(({ seq }) => seq <= point.seq).map(comparableFact)
    const message = this.#parts.pick(2) === 0 ? { id: `to-${uuid}`, text: 'another way' } : null
    if (before.length === point.seq) this.#forks.set(uuid, { origin: originUuid, before })
    await core.pipeline.request({ type: 'fork', by: 'user', uuid, origin, at: point, spec: null, message })
    this.counts.forks += 1
    this.#parts.acknowledged.add(`spawn ${uuid}`)
    const after = await core.store.process(originUuid)
    const isOriginUnchanged =
      after === undefined ||
      after.life.state !== 'dead' ||
      after.pid !== origin.pid ||
      origin.life.state !== 'dead' ||
      after.pinned !== origin.pinned ||
      JSON.stringify(after) === JSON.stringify(origin)
    if (!isOriginUnchanged) this.#parts.reportViolation('originStays', originUuid)
  }

  /** Compares the store with the records: all existing forks, and all removed processes. */
  async verify(core: Core): Promise<void> {
    for (const uuid of this.removed) {
      if ((await core.store.process(uuid)) || core.table.get(uuid)) this.#parts.reportViolation('collectedStays', `${uuid} still exists`)
      if ((await core.store.tombstone(uuid))?.uuid !== uuid) this.#parts.reportViolation('collectedStays', `${uuid} has no tombstone`)
    }
    for (const [uuid, forked] of this.#forks) {
      const process = await core.store.process(uuid)
      if (!process || this.removed.has(uuid)) this.#forks.delete(uuid)
      else await this.#verifyFork(core, process, forked)
    }
  }

  async #verifyFork(core: Core, process: Process, { before }: ForkRecord): Promise<void> {
    const {
      uuid,
      progress: { wholeStep },
    } = process
    const facts = await journalOf(core, uuid)
    const isWhole = facts.every(({ seq }, index) => seq === index + 1) && facts.length === process.seq
    const isTheSame =
      before.every((text, index) => text === comparableFact(facts[index])) && facts[before.length]?.body.type === 'process.forked'
    if (!isWhole || !isTheSame) this.#parts.reportViolation('forkHistory', uuid)
    if (isExternal(process.spec)) return
    const fromStep = this.#parts.pick(wholeStep + 1)
    await findForkPoint(core.store, process, { fromStep }).catch((error: unknown) =>
      this.#parts.reportViolation('forkReadable', `${uuid} from step ${fromStep}: ${String(error)}`),
    )
  }

  async #get(core: Core, uuid: Uuid): Promise<Process> {
    const process = core.table.get(uuid) ?? (await core.store.process(uuid))
    if (process) return process
    const tombstone = await core.store.tombstone(uuid)
    throw new KernelError(tombstone ? 'COLLECTED' : 'NOT_FOUND', `no process ${uuid}`)
  }

  /** Ignores refusals; any other error is a defect. */
  #ignoreRefusal(operations: DaemonOperations, operation: Promise<unknown>): void {
    operation.catch((error: unknown) => {
      // The daemon of this operation is gone, and its store is closed.
      if (this.#operations !== operations) return
      this.counts.refused += 1
      if (!(error instanceof KernelError) || error.code === 'INTERNAL' || error.code === 'STORE_DAMAGED')
        this.#parts.reportViolation('defect', String(error))
    })
  }
}

/** Returns a fact as text, without its position in the store. */
function comparableFact(fact: StoredFact | undefined): string {
  return fact === undefined ? '' : JSON.stringify([fact.seq, fact.pid, fact.at, fact.body])
}
