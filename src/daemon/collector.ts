// The collector: takes away ended processes by the rules of the configuration, the oldest first, one at a time through the
// door of removals.ts, so that a resume, a fork, a pin or an export of the same process comes before it or after it.
// Owns when it looks: some time after the start, then every interval on the daemon's clock; and what a round has done.
// Decides nothing itself (kernel/collecting.ts). Tests: test/tables/collector.test.ts, test/e2e/gc.test.ts.
import { setImmediate } from 'node:timers/promises'
import { Collecting, isOff, type GcRule, type GcRules } from '../kernel/collecting.ts'
import { KernelError } from '../kernel/errors.ts'
import { iso } from './times.ts'
import type { GcEntryView, GcView } from '../api/history-views.ts'
import type { GcConfig } from '../config/gc.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Collectable, Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Needed } from './needed.ts'

/** How often it looks whether an interval is over: a changed configuration counts from then on. The first look is the delay after a start. */
export const LOOK_MS = 60_000
const DAY_MS = 86_400_000
/** Rows per look at the store: the size of each is estimated from its last facts, which takes some tenths of a millisecond. */
const PAGE = 25
/** What an answer tells one by one. */
const MAX_ENTRIES = 1_000
const MAX_SKIPPED = 100

export interface CollectorParts {
  readonly store: Pick<Store, 'collectable' | 'size'>
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined> }
  readonly removals: { collect(uuid: Uuid, exitedAt: number): Promise<boolean> }
  readonly sweeper: { idle(): Promise<void> }
  readonly clock: Clock
  /** who is exempt, as somebody who lives needs it; absent: nobody is */
  readonly needed?: Pick<Needed, 'all'>
  /** as it is now */
  readonly config: () => Promise<GcConfig>
  readonly log: (message: string, error: unknown) => void
}

/** One that goes by a rule. */
interface Due extends Collectable {
  readonly exitedAt: number
  readonly rule: GcRule
}

export class Collector {
  readonly #parts: CollectorParts
  #cancel = (): void => {}
  /** the round that is on, or the last one */
  #round: Promise<unknown> = Promise.resolve()
  #lastMono: number | null = null
  readonly #halted = Promise.withResolvers<void>()
  #stopped = false
  #isUnreadable = false

  constructor(parts: CollectorParts) {
    this.#parts = parts
  }

  start(): void {
    this.#cancel = this.#parts.clock.after(LOOK_MS, () => {
      this.#look().catch((error: unknown) => this.#parts.log('collection failed; it is tried again after the next interval', error)).finally(() => {
        if (!this.#stopped) this.start()
      })
    })
  }

  /** Resolves when the process in hand is done with. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#halted.resolve()
    this.#cancel()
    await this.#round.catch(() => {})
  }

  /** What a round would take now. */
  async preview(): Promise<GcView> {
    const config = await this.#parts.config()
    const tally = new Tally(config, true)
    for await (const due of this.#due(config, tally)) await tally.add(due, this.#parts.reads)
    return tally.view(await this.#parts.store.size(), null)
  }

  /** A round, when the one that is on has ended. */
  run(): Promise<GcView> {
    const round = this.#round.then(() => this.#run(), () => this.#run())
    this.#round = round.catch(() => {})
    return round
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#parts
    const settings = await this.#settings()
    const { mono } = clock.now()
    if (settings === null) return
    if (this.#lastMono !== null && mono - this.#lastMono < settings.interval_seconds * 1_000) return
    this.#lastMono = mono
    if (isOff(rulesOf(settings))) return
    const { count, freedBytes, skipped } = await this.run()
    if (count > 0) log(`collected ${count} ended ${count === 1 ? 'process' : 'processes'}, ${freedBytes ?? 0} bytes`, null)
    for (const { uuid, warning } of skipped) log(`process ${uuid} cannot be collected: ${warning}`, null)
  }

  /** Null, told once: with a file that cannot be read nothing is taken away. */
  async #settings(): Promise<GcConfig | null> {
    try {
      const settings = await this.#parts.config()
      this.#isUnreadable = false
      return settings
    } catch (error) {
      if (!this.#isUnreadable) this.#parts.log('nothing is collected while the configuration cannot be used', error)
      this.#isUnreadable = true
      return null
    }
  }

  async #run(): Promise<GcView> {
    const { store, removals, config, reads } = this.#parts
    const settings = await config()
    // What was removed before and is not cleared away yet would be counted once more.
    await this.#cleared()
    const before = await store.size()
    const tally = new Tally(settings, false)
    for await (const due of this.#due(settings, tally)) {
      const entry = await entryOf(due, reads)
      const why = await removals.collect(due.uuid, due.exitedAt).catch(damagedAlone)
      if (why === true) tally.put(entry)
      else if (why !== false) tally.skip(due, why)
      // A turn for everybody else.
      await setImmediate()
      if (this.#stopped) break
    }
    await this.#cleared()
    const after = await store.size()
    return tally.view(after, Math.max(0, used(before) - used(after)))
  }

  /** A daemon that stops waits for no more than the piece in hand. */
  #cleared(): Promise<void> {
    return Promise.race([this.#parts.sweeper.idle(), this.#halted.promise])
  }

  /** Those that go, the oldest first; up to the first that stays. */
  async *#due(config: GcConfig, tally: Tally): AsyncGenerator<Due> {
    const { store, clock, needed } = this.#parts
    const rules = rulesOf(config)
    if (isOff(rules)) return
    const size = await store.size()
    const exempt: ReadonlySet<Uuid> = needed?.all() ?? new Set()
    const collecting = new Collecting(rules, { entries: size.dead - exempt.size, bytes: used(size) }, clock.now().wall)
    for (let after: Collectable | null = null; ;) {
      const page: readonly Collectable[] = await store.collectable({ limit: PAGE, ...(after === null ? {} : { after }) })
      for (const row of page) {
        if (exempt.has(row.uuid)) continue
        const said = collecting.judge(row)
        if (said.verdict === 'keep') return
        if (said.verdict === 'skip') tally.skip(row, said.warning)
        else yield { ...row, exitedAt: row.exitedAt ?? 0, rule: said.rule }
      }
      after = page.at(-1) ?? null
      if (page.length < PAGE) return
      await setImmediate()
    }
  }
}

function rulesOf({ retention_days, max_entries, max_bytes }: GcConfig): GcRules {
  return { retentionMs: retention_days * DAY_MS, maxEntries: max_entries, maxBytes: max_bytes }
}

function used({ bytes, freeBytes }: { readonly bytes: number; readonly freeBytes: number }): number {
  return bytes - freeBytes
}

async function entryOf({ uuid, pid, name, exitedAt, bytes, rule }: Due, reads: CollectorParts['reads']): Promise<GcEntryView> {
  const agent = (await reads.find(uuid))?.spec.agent ?? ''
  return { uuid, pid, name, agent, exitedAt: iso(exitedAt), bytes, rule }
}

/** One that cannot be removed keeps nobody else from it. */
function damagedAlone(error: unknown): string {
  if (error instanceof KernelError && error.code === 'STORE_DAMAGED') return error.message
  throw error
}

/** What a round has done, told one by one up to a limit. */
class Tally {
  readonly #config: GcConfig
  readonly #dryRun: boolean
  readonly #entries: GcEntryView[] = []
  readonly #skipped: GcView['skipped'] = []
  #count = 0
  #bytes = 0

  constructor(config: GcConfig, dryRun: boolean) {
    this.#config = config
    this.#dryRun = dryRun
  }

  /** Its row is read only if it is told. */
  async add(due: Due, reads: CollectorParts['reads']): Promise<void> {
    if (this.#entries.length < MAX_ENTRIES) return this.put(await entryOf(due, reads))
    this.#count += 1
    this.#bytes += due.bytes ?? 0
  }

  put(entry: GcEntryView): void {
    this.#count += 1
    this.#bytes += entry.bytes ?? 0
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(entry)
  }

  skip({ uuid, pid }: Collectable, warning: string): void {
    if (this.#skipped.length < MAX_SKIPPED) this.#skipped.push({ uuid, pid, warning })
  }

  view(store: { readonly bytes: number; readonly freeBytes: number }, freedBytes: number | null): GcView {
    const { retention_days: retentionDays, max_entries: maxEntries, max_bytes: maxBytes } = this.#config
    return {
      version: 1, dryRun: this.#dryRun, rules: { retentionDays, maxEntries, maxBytes }, count: this.#count, entries: this.#entries,
      bytes: this.#bytes, freedBytes, skipped: this.#skipped, store: { bytes: store.bytes, freeBytes: store.freeBytes },
    }
  }
}
