// The collector: removes ended processes by the configured rules, oldest first, one at a time. Each removal goes through removals.ts, so
// that a resume, pin or export of the same process runs before or after it. Its first round runs after a delay, then one runs per
// configured interval. While the wall clock is in doubt (clock-trust.ts), rounds run only at the user's request. The rules are applied by
// kernel/state/gc-selection.ts. Tests: test/tables/daemon/operations/collector.test.ts, test/e2e/daemon/gc.test.ts.
import { setImmediate } from 'node:timers/promises'
import { GcSelector, isGcOff, type GcRule, type GcRules } from '../../kernel/state/gc-selection.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { ClockTrust } from './clock-trust.ts'
import { isoTime } from '../views/format-times.ts'
import type { GcEntryView, GcView } from '../../api/views/gc.ts'
import type { GcConfig } from '../../config/keys/gc.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Collectable, LocalStore, Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Check } from '../views/doctor.ts'
import type { GcExemptions } from './gc-exemptions.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/**
 * Period in ms of the check whether a round is due: a changed interval takes effect within this time. Also the delay of the first round.
 */
export const CHECK_MS = 60_000
const DAY_MS = 86_400_000
/** Rows per page. Estimating the size of a row takes some tenths of a millisecond, so a page blocks the daemon for some milliseconds. */
const PAGE_ROWS = 25
/** The largest numbers of collected and skipped processes that an answer lists. */
const MAX_ENTRIES = 1_000
const MAX_SKIPPED = 100

export interface GarbageCollectorDeps {
  readonly store: Pick<Store, 'collectable' | 'size'>
  readonly local: Pick<LocalStore, 'trustedTime' | 'trustTime'>
  readonly reads: { find(uuid: Uuid): Promise<Process | undefined> }
  readonly removals: { collect(uuid: Uuid, exitedAt: number): Promise<boolean> }
  readonly sweeper: { waitUntilIdle(): Promise<void> }
  readonly clock: Clock
  /** ended processes that must not be collected; absent: none */
  readonly exemptions?: Pick<GcExemptions, 'all'>
  /** reads the current configuration */
  readonly readConfig: () => Promise<GcConfig>
  readonly log: (message: string, error: unknown) => void
}

/** A process that a rule selects for removal. */
interface SelectedProcess extends Collectable {
  readonly exitedAt: number
  readonly rule: GcRule
}

export class GarbageCollector {
  readonly #deps: GarbageCollectorDeps
  readonly #clockTrust: ClockTrust
  #cancel = (): void => {}
  /** the current round, or the last one */
  #round: Promise<unknown> = Promise.resolve()
  /** the time of the last round that was due, in monotonic ms */
  #lastRoundMono: number | null = null
  /** resolves when the daemon stops */
  readonly #stopRequested = Promise.withResolvers<void>()
  #isStopped = false
  /** true if an invalid configuration was already logged */
  #isConfigErrorLogged = false

  constructor(deps: GarbageCollectorDeps) {
    this.#deps = deps
    this.#clockTrust = new ClockTrust(deps)
  }

  /** Starts the regular checks. */
  start(): void {
    this.#cancel = this.#deps.clock.after(CHECK_MS, () => {
      this.#runIfDue()
        .catch((error: unknown) => this.#deps.log('collection failed; it is tried again after the next interval', error))
        .finally(() => {
          if (!this.#isStopped) this.start()
        })
    })
  }

  /** Stops after the process that is being removed, and resolves then. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopRequested.resolve()
    this.#cancel()
    // An error of the round is reported to its caller; only its end matters here.
    await this.#round.catch(() => {})
  }

  /** Counts the processes that a round would remove now, and lists the first `MAX_ENTRIES` of them. */
  async preview(): Promise<GcView> {
    const config = await this.#deps.readConfig()
    const tally = new Tally(config, true)
    for await (const process of this.#selectProcesses(config, tally)) await tally.addToPreview(process, this.#deps.reads)
    return tally.view(await this.#deps.store.size(), null)
  }

  /** Runs a round at the user's request. The request also shows that the user trusts the clock. */
  async run(): Promise<GcView> {
    await this.#clockTrust.trust()
    return this.#enqueueRound()
  }

  /** The check for `reeve doctor`; empty if there is no problem. */
  doctorChecks(): readonly Check[] {
    const { doubt } = this.#clockTrust
    return doubt === null
      ? []
      : [{ name: 'collection', ok: false, detail: doubt, hint: 'If the clock is right, `reeve gc` collects now.', optional: true }]
  }

  /** Runs a round after the current one. */
  #enqueueRound(): Promise<GcView> {
    const round = this.#round.then(
      () => this.#runRound(),
      () => this.#runRound(),
    )
    // An error is reported to the caller of the round, and must not prevent the next one.
    this.#round = round.catch(() => {})
    return round
  }

  /**
   * Runs a round if one is due, the rules are on, and the clock is trusted. A round is due when the interval since the last due one is
   * over, whether that one ran or not. Rounds at the user's request do not count.
   */
  async #runIfDue(): Promise<void> {
    const { clock, log } = this.#deps
    const settings = await this.#readConfig()
    const { mono } = clock.now()
    if (settings === null) return
    if (this.#lastRoundMono !== null && mono - this.#lastRoundMono < settings.interval_seconds * 1_000) return
    this.#lastRoundMono = mono
    if (isGcOff(rulesOf(settings)) || (await this.#isClockInDoubt())) return
    const { count, freedBytes, skipped } = await this.#enqueueRound()
    if (count > 0) log(`collected ${count} ended ${count === 1 ? 'process' : 'processes'}, ${freedBytes ?? 0} bytes`, null)
    for (const { uuid, warning } of skipped) log(`process ${uuid} cannot be collected: ${warning}`, null)
  }

  /** True if the clock is in doubt. A doubt is logged once, while it lasts. */
  async #isClockInDoubt(): Promise<boolean> {
    const before = this.#clockTrust.doubt
    const doubt = await this.#clockTrust.check()
    if (doubt !== null && before === null) this.#deps.log(doubt, null)
    return doubt !== null
  }

  /** Reads the configuration; null if it is invalid, which is logged once. Nothing is removed then. */
  async #readConfig(): Promise<GcConfig | null> {
    try {
      const config = await this.#deps.readConfig()
      this.#isConfigErrorLogged = false
      return config
    } catch (error) {
      if (!this.#isConfigErrorLogged) this.#deps.log('nothing is collected while the configuration cannot be used', error)
      this.#isConfigErrorLogged = true
      return null
    }
  }

  async #runRound(): Promise<GcView> {
    const { store, removals, readConfig, reads } = this.#deps
    const settings = await readConfig()
    // Space that earlier removals still free would be counted as freed by this round.
    await this.#waitForSweep()
    const before = await store.size()
    const tally = new Tally(settings, false)
    for await (const process of this.#selectProcesses(settings, tally)) {
      const entry = await entryOf(process, reads)
      const outcome = await removals.collect(process.uuid, process.exitedAt).catch(damageMessage)
      // False: the process was resumed, pinned or removed since the page was read, or it is still needed.
      if (outcome === true) tally.addEntry(entry)
      else if (outcome !== false) tally.addSkipped(process, outcome)
      // Other work of the daemon runs between two removals.
      await setImmediate()
      if (this.#isStopped) break
    }
    await this.#waitForSweep()
    const after = await store.size()
    return tally.view(after, Math.max(0, usedBytes(before) - usedBytes(after)))
  }

  /** Resolves when the data of removed processes is deleted from the store, or when the daemon stops. */
  #waitForSweep(): Promise<void> {
    return Promise.race([this.#deps.sweeper.waitUntilIdle(), this.#stopRequested.promise])
  }

  /**
   * Yields the processes to remove, oldest first. Ends at the first that may stay: so may all younger ones. Adds unreadable rows to
   * `tally`.
   */
  async *#selectProcesses(config: GcConfig, tally: Tally): AsyncGenerator<SelectedProcess> {
    const { store, clock, exemptions } = this.#deps
    const rules = rulesOf(config)
    if (isGcOff(rules)) return
    const size = await store.size()
    const exempt: ReadonlySet<Uuid> = exemptions?.all() ?? new Set()
    const selector = new GcSelector(rules, { entries: size.dead - exempt.size, bytes: usedBytes(size) }, clock.now().wall)
    for (let after: Collectable | null = null; ;) {
      const page: readonly Collectable[] = await store.collectable({ limit: PAGE_ROWS, ...(after === null ? {} : { after }) })
      for (const row of page) {
        if (exempt.has(row.uuid)) continue
        const judgement = selector.judge(row)
        if (judgement.verdict === 'keep') return
        if (judgement.verdict === 'skip') tally.addSkipped(row, judgement.warning)
        else yield { ...row, exitedAt: row.exitedAt ?? 0, rule: judgement.rule }
      }
      after = page.at(-1) ?? null
      if (page.length < PAGE_ROWS) return
      await setImmediate()
    }
  }
}

function rulesOf({ retention_days, max_entries, max_bytes }: GcConfig): GcRules {
  return { retentionMs: retention_days * DAY_MS, maxEntries: max_entries, maxBytes: max_bytes }
}

function usedBytes({ bytes, freeBytes }: { readonly bytes: number; readonly freeBytes: number }): number {
  return bytes - freeBytes
}

async function entryOf(
  { uuid, pid, name, exitedAt, bytes, rule }: SelectedProcess,
  reads: GarbageCollectorDeps['reads'],
): Promise<GcEntryView> {
  const agent = (await reads.find(uuid))?.spec.agent ?? ''
  return { uuid, pid, name, agent, exitedAt: isoTime(exitedAt), bytes, rule }
}

/** Returns the message of an error about a damaged process, which is skipped. Throws any other error. */
function damageMessage(error: unknown): string {
  if (error instanceof KernelError && error.code === 'STORE_DAMAGED') return error.message
  throw error
}

/** The result of a round or of a preview, whose lists are limited. */
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

  /** Adds a process to a preview; reads its row only if the list has room. */
  async addToPreview(process: SelectedProcess, reads: GarbageCollectorDeps['reads']): Promise<void> {
    if (this.#entries.length < MAX_ENTRIES) return this.addEntry(await entryOf(process, reads))
    this.#count += 1
    this.#bytes += process.bytes ?? 0
  }

  addEntry(entry: GcEntryView): void {
    this.#count += 1
    this.#bytes += entry.bytes ?? 0
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(entry)
  }

  addSkipped({ uuid, pid }: Collectable, warning: string): void {
    if (this.#skipped.length < MAX_SKIPPED) this.#skipped.push({ uuid, pid, warning })
  }

  view(store: { readonly bytes: number; readonly freeBytes: number }, freedBytes: number | null): GcView {
    const { retention_days: retentionDays, max_entries: maxEntries, max_bytes: maxBytes } = this.#config
    return {
      version: 1,
      dryRun: this.#dryRun,
      rules: { retentionDays, maxEntries, maxBytes },
      count: this.#count,
      entries: this.#entries,
      bytes: this.#bytes,
      freedBytes,
      skipped: this.#skipped,
      store: { bytes: store.bytes, freeBytes: store.freeBytes },
    }
  }
}
