// Forks, pins, removals and collections in a simulated daemon, by the daemon's own doors, sweeper and collector; and what
// must be true of histories after all of it. Outlives the daemons: it knows what was forked, and what is gone.
import { Collector } from '../../../src/daemon/collector.ts'
import { forkPoint } from '../../../src/daemon/fork-point.ts'
import { Removals, Sweeper } from '../../../src/daemon/removals.ts'
import { KernelError } from '../../../src/kernel/errors.ts'
import { checkForkable } from '../../../src/kernel/forking.ts'
import { isExternal } from '../../../src/kernel/capabilities.ts'
import type { StoredFact } from '../../../src/kernel/facts.ts'
import type { Process, Uuid } from '../../../src/kernel/types.ts'
import { journalOf } from './daemon-core.ts'
import type { Core } from './daemon-core.ts'
import type { Pick } from './random.ts'
import type { Rule } from './rules.ts'

/** So many ended ones are left by a collection. */
const KEPT = 4

interface Doors {
  readonly core: Core
  readonly removals: Removals
  readonly sweeper: Sweeper
  readonly collector: Collector
}

interface Forked {
  readonly origin: Uuid
  /** what it had of its origins, in JSON */
  readonly before: readonly string[]
}

export interface HistoriesParts {
  readonly pick: Pick
  readonly newUuid: () => Uuid
  readonly acknowledged: Set<string>
  readonly broken: (rule: Rule | 'defect', words: string) => void
}

export class Histories {
  /** what was removed, also where nobody has heard of it */
  readonly gone = new Set<Uuid>()
  readonly counts = { forks: 0, removed: 0, refused: 0, pieces: 0, resumed: 0 }
  readonly #parts: HistoriesParts
  /** how many removals by force are under way */
  readonly #forced = new Map<Uuid, number>()
  readonly #forks = new Map<Uuid, Forked>()
  #doors: Doors | null = null

  constructor(parts: HistoriesParts) {
    this.#parts = parts
  }

  /** A daemon is there; what the last one did not clear away goes on. */
  open(core: Core): void {
    const store = {
      remove: async (uuid: Uuid, at: number) => {
        if ((await core.store.process(uuid))?.pinned && this.#forcing(uuid) === 0) this.#parts.broken('pinStays', uuid)
        const isRemoved = await core.store.remove(uuid, at)
        if (isRemoved) {
          this.gone.add(uuid)
          this.counts.removed += 1
        }
        return isRemoved
      },
      sweep: () => {
        this.counts.pieces += 1
        return core.store.sweep()
      },
      account: () => core.store.account(),
    }
    const get = (uuid: Uuid): Promise<Process> => this.#get(core, uuid)
    const sweeper = new Sweeper(store, (words, error) => this.#parts.broken('defect', `${words}: ${String(error)}`))
    const worktrees = { checkIdle: () => {}, remove: async () => null }
    const removals = new Removals({ reads: { get, resolve: get }, store, clock: core.clock, sweeper, worktrees })
    const config = async () => ({ retention_days: 0, max_entries: KEPT, max_bytes: 0, interval_seconds: 60 })
    const collector = new Collector({ store: core.store, reads: { find: (uuid) => core.store.process(uuid) }, removals, sweeper, clock: core.clock, config, log: () => {} })
    this.#doors = { core, removals, sweeper, collector }
    sweeper.sweep()
  }

  /** The piece in hand is done, and no other begins. */
  async close(): Promise<void> {
    const doors = this.#doors
    this.#doors = null
    await doors?.collector.stop()
    await doors?.sweeper.stop()
  }

  /** All have ended, and all go, one after the other. */
  async clear(uuids: readonly Uuid[]): Promise<void> {
    const doors = this.#doors
    if (!doors) return
    for (const uuid of uuids) if (await doors.core.store.process(uuid)) await this.#remove(doors, uuid, true)
    await doors.sweeper.idle()
  }

  /** By the door, as the API does it: a row that was read before somebody else wrote it is no place to go on from. */
  resume(uuid: Uuid, overridden = false): void {
    const doors = this.#doors
    if (doors) this.#try(doors, doors.removals.alone(uuid, () => this.#resume(doors, uuid, overridden)))
  }

  /** Something happens to a history. */
  act(uuid: Uuid): void {
    const doors = this.#doors
    if (!doors) return
    const { pick } = this.#parts
    const kind = pick(10)
    if (kind < 5) return this.#try(doors, this.#fork(doors, uuid))
    if (kind === 5) return this.#try(doors, this.#pin(doors, uuid))
    if (kind === 6) return this.#try(doors, this.#remove(doors, uuid, pick(4) === 0))
    if (kind === 7) return this.#try(doors, doors.collector.run())
    this.resume(uuid, pick(2) === 0)
  }

  async #remove({ removals }: Doors, uuid: Uuid, isForced: boolean): Promise<void> {
    const more = isForced ? 1 : 0
    this.#forced.set(uuid, this.#forcing(uuid) + more)
    try {
      await removals.remove(uuid, isForced)
    } finally {
      this.#forced.set(uuid, this.#forcing(uuid) - more)
    }
  }

  #forcing(uuid: Uuid): number {
    return this.#forced.get(uuid) ?? 0
  }

  /** Now and then somebody wants it gone right after. */
  async #pin(doors: Doors, uuid: Uuid): Promise<void> {
    const { core, removals } = doors
    const [pinned, removes, isForced] = [this.#parts.pick(3) > 0, this.#parts.pick(2) === 0, this.#parts.pick(4) === 0]
    await removals.alone(uuid, async () => {
      const process = await this.#get(core, uuid)
      await core.pipeline.request({ type: 'pin', by: 'user', uuid, frozen: process.life.state === 'dead' ? process : null, pinned })
    })
    if (removes) await this.#remove(doors, uuid, isForced)
  }

  /** Of what has ended, with another model now and then. */
  async #resume({ core }: Doors, uuid: Uuid, overridden: boolean): Promise<void> {
    const process = await this.#get(core, uuid)
    if (process.life.state !== 'dead') return
    const spec = overridden ? { ...process.spec, model: 'script:other.yaml' } : null
    await core.pipeline.request({ type: 'resume', by: 'user', uuid, frozen: process, subtree: false, only: false, rerun: true, message: null, spec })
    this.counts.resumed += 1
  }

  /** Some go by the door, some do not: the store itself must refuse what came too late. */
  async #fork(doors: Doors, origin: Uuid): Promise<void> {
    if (this.#parts.pick(2) === 0) return this.#forkNow(doors, origin)
    return doors.removals.alone(origin, () => this.#forkNow(doors, origin))
  }

  async #forkNow({ core }: Doors, from: Uuid): Promise<void> {
    const origin = await this.#get(core, from)
    checkForkable(origin)
    const whole = origin.progress.wholeStep
    const wanted = isExternal(origin.spec) || this.#parts.pick(3) === 0 ? {} : { fromStep: this.#parts.pick(whole + 1) }
    const at = await forkPoint(core.store, origin, wanted)
    const uuid = this.#parts.newUuid()
    const before = (await journalOf(core, from)).filter(({ seq }) => seq <= at.seq).map(essence)
    const message = this.#parts.pick(2) === 0 ? { id: `to-${uuid}`, text: 'another way' } : null
    if (before.length === at.seq) this.#forks.set(uuid, { origin: from, before })
    await core.pipeline.request({ type: 'fork', by: 'user', uuid, origin, at, spec: null, message })
    this.counts.forks += 1
    this.#parts.acknowledged.add(`spawn ${uuid}`)
    const after = await core.store.process(from)
    const isAsItWas = after === undefined || after.life.state !== 'dead' || after.pid !== origin.pid || origin.life.state !== 'dead' || after.pinned !== origin.pinned || JSON.stringify(after) === JSON.stringify(origin)
    if (!isAsItWas) this.#parts.broken('originStays', from)
  }

  /** Holds the store against what is known: all forks that are there, and all that must not be. */
  async verify(core: Core): Promise<void> {
    for (const uuid of this.gone) {
      if (await core.store.process(uuid) || core.table.get(uuid)) this.#parts.broken('collectedStays', `${uuid} is there`)
      if ((await core.store.tombstone(uuid))?.uuid !== uuid) this.#parts.broken('collectedStays', `${uuid} is forgotten`)
    }
    for (const [uuid, forked] of this.#forks) {
      const process = await core.store.process(uuid)
      if (!process || this.gone.has(uuid)) this.#forks.delete(uuid)
      else await this.#verifyFork(core, process, forked)
    }
  }

  async #verifyFork(core: Core, process: Process, { before }: Forked): Promise<void> {
    const { uuid, progress: { wholeStep } } = process
    const facts = await journalOf(core, uuid)
    const isWhole = facts.every(({ seq }, index) => seq === index + 1) && facts.length === process.seq
    const isTheSame = before.every((one, index) => one === essence(facts[index])) && facts[before.length]?.body.type === 'process.forked'
    if (!isWhole || !isTheSame) this.#parts.broken('forkHistory', uuid)
    if (isExternal(process.spec)) return
    const fromStep = this.#parts.pick(wholeStep + 1)
    await forkPoint(core.store, process, { fromStep }).catch((error: unknown) => this.#parts.broken('forkReadable', `${uuid} from step ${fromStep}: ${String(error)}`))
  }

  async #get(core: Core, uuid: Uuid): Promise<Process> {
    const process = core.table.get(uuid) ?? (await core.store.process(uuid))
    if (process) return process
    const isGone = await core.store.tombstone(uuid)
    throw new KernelError(isGone ? 'COLLECTED' : 'NOT_FOUND', `no process ${uuid}`)
  }

  /** What is refused is refused; only a defect is one. */
  #try(doors: Doors, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      // Its daemon is gone, and the store closed.
      if (this.#doors !== doors) return
      this.counts.refused += 1
      if (!(error instanceof KernelError) || error.code === 'INTERNAL' || error.code === 'STORE_DAMAGED') this.#parts.broken('defect', String(error))
    })
  }
}

/** A fact without its place in the store. */
function essence(fact: StoredFact | undefined): string {
  return fact === undefined ? '' : JSON.stringify([fact.seq, fact.pid, fact.at, fact.body])
}
