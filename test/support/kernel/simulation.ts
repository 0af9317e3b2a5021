// Simulates a daemon's core from one seed. Users send requests, drivers report, and time passes. Commits fail or wait, disks are full,
// and the daemon crashes. After each crash the content of the store is checked against the guarantees.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bootAll } from '../../../src/daemon/loop/boot.ts'
import { deadlineOf } from '../../../src/kernel/decide/next-deadline.ts'
import { KernelError } from '../../../src/kernel/model/errors.ts'
import type { ContainmentManager } from '../../../src/drivers/contain/containment-contract.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { ErrorCode } from '../../../src/kernel/model/errors.ts'
import type { RequestBody } from '../../../src/daemon/loop/pipeline.ts'
import { ManualClock } from '../clock.ts'
import { uuidOf } from '../store/facts.ts'
import { foldedProcess, openCore, waitUntilSettled } from './daemon-core.ts'
import { FakeDriver } from './fake-driver.ts'
import { ForksAndRemovals } from './forks-and-removals.ts'
import { RULES, Rules, countUserHolds } from './rules.ts'
import { Scheduler } from './scheduler.ts'
import { EventFollowers } from './event-followers.ts'
import { kernelSpec } from './world.ts'
import type { Core } from './daemon-core.ts'
import type { FaultyStore } from './faulty-store.ts'
import type { SurvivingState } from './fake-driver.ts'
import type { PickNumber } from './random-inputs.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'
import type { Signal } from '../../../src/kernel/model/words.ts'

const MAX_PROCESSES = 12
/** the largest number of commands at once */
const MAX_BURST = 8
/** a command usually goes to one of this many newest processes */
const NEWEST_COUNT = 10
/** some commands go to one of this many newest processes, most of which have ended */
const ENDED_COUNT = 40
const SIGNALS: readonly Signal[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGPAUSE', 'SIGPAUSE', 'SIGRESUME', 'SIGRESUME']
const HANDLED_SIGNALS: readonly Signal[] = ['SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']
/** The drivers run no programs, so that no daemon leaves any. */
const CONTAINMENTS = { recover: async () => ({ outcome: 'gone', survivors: [] }) } satisfies Pick<ContainmentManager, 'recover'>

/** A planned failure of one commit, which replaces random faults. Commits are counted over all daemons. */
export interface Fault {
  readonly commit: number
  readonly code: ErrorCode
}

export class Simulation implements SurvivingState {
  readonly pick: PickNumber
  readonly schedule: Scheduler
  readonly toolEffects = new Map<string, { effect: string; times: number }>()
  readonly acknowledged = new Set<string>()
  /** processes whose output was cut short, according to the store */
  readonly #cutOutputs = new Set<string>()
  readonly #dir: string
  readonly #clock = new ManualClock()
  readonly #uuids: Uuid[] = []
  readonly #drivers = new Map<Uuid, FakeDriver>()
  /** the facts in the store up to `#lastReadCursor`, as text */
  readonly #stored = new Set<string>()
  /** the last line number of each output */
  readonly #lastLines = new Map<string, number>()
  #lastReadCursor = 0
  readonly #rules = new Rules((rule, description) => this.reportViolation(`${RULES[rule]}: ${description}`))
  readonly forksAndRemovals: ForksAndRemovals
  readonly #followers: EventFollowers
  #core: Core | null = null
  #firstViolation: string | null = null
  #messages = 0
  readonly #fault: Fault | null
  restarts = 0
  /** the number of the users' commands */
  commands = 0
  /** the number of attempted commits, over all daemons */
  #attemptedCommits = 0
  /** the number of commits that failed because of `Fault` */
  failed = 0

  constructor(dir: string, pick: PickNumber, fault: Fault | null = null) {
    this.#dir = dir
    this.pick = pick
    this.#fault = fault
    this.schedule = new Scheduler(pick)
    this.forksAndRemovals = new ForksAndRemovals({
      pick,
      acknowledged: this.acknowledged,
      newUuid: () => this.#newUuid(),
      reportViolation: (rule, description) => this.reportViolation(rule === 'defect' ? description : `${RULES[rule]}: ${description}`),
    })
    this.#followers = new EventFollowers(this.forksAndRemovals.removed, (description) =>
      this.reportViolation(`${RULES.cursors}: ${description}`),
    )
  }

  reportViolation(rule: string): void {
    this.#firstViolation ??= rule
  }

  /** Performs one random act. */
  async step(): Promise<void> {
    const core = this.#core ?? (await this.#open())
    const permille = this.pick(1_000)
    if (permille < 620) this.schedule.next()
    else if (permille < 780) this.#giveCommands(core)
    else if (permille < 880) this.#clock.wind([1, 100, 1_000, 12_000, 130_000][this.pick(5)] ?? 1)
    else if (permille < 930) this.#disturbStore(core)
    else if (permille < 985) core.store.releaseCommits()
    else if (permille < 992) this.#followers.add(core, this.pick(core.pipeline.cursor + 1))
    else if (permille < 998) await this.#crash(core)
    else await this.#stop(core)
    if (this.pick(3) > 0) await waitUntilSettled()
    if (this.#firstViolation !== null) throw new Error(this.#firstViolation)
  }

  /** Users give commands, sometimes many at once. */
  #giveCommands(core: Core): void {
    for (let remaining = this.pick(MAX_BURST); remaining >= 0; remaining -= 1) {
      this.commands += 1
      const uuid = this.#pickRecent(NEWEST_COUNT)
      if (uuid === undefined || this.pick(4) > 0) this.#request(core)
      else this.forksAndRemovals.performRandom(this.pick(2) === 0 ? uuid : (this.#pickRecent(ENDED_COUNT) ?? uuid))
    }
  }

  /** Ends all faults and kills all processes, which must then end. Checks that their removal leaves nothing. */
  async finish(): Promise<void> {
    if (this.#core) await this.#stop(this.#core)
    const core = await this.#open()
    for (let i = 0; i < 2_000 && core.table.size > 0; i += 1) {
      // The planned failure may hit the commit of the kills; then they are requested again.
      if (i % 100 === 0) killAll(core)
      this.schedule.next()
      await waitUntilSettled()
      if (i % 100 === 0) this.#clock.wind(10_000)
    }
    if (core.table.size > 0)
      throw new Error(`not all have ended: ${JSON.stringify([...core.table.rows()].map(({ uuid, life }) => [uuid, life]))}`)
    await this.forksAndRemovals.clear(this.#uuids)
    await this.#stop(core)
    for (const table of nonEmptyTables(this.#dir)) this.reportViolation(`${RULES.nothingLeft}: ${table}`)
    if (this.#firstViolation !== null) throw new Error(this.#firstViolation)
  }

  async #open(): Promise<Core> {
    const core = await openCore({
      dir: this.#dir,
      clock: this.#clock,
      maxProcesses: MAX_PROCESSES,
      perform: (effect, daemonCore) => this.#perform(effect, daemonCore),
      faults: (store) => this.#planFault(store),
    })
    this.#core = core
    this.restarts += 1
    await this.#verifyStore(core)
    const paused = countUserHolds(core.table.rows())
    this.#followers.add(core, core.pipeline.cursor)
    this.forksAndRemovals.open(core)
    const started = await bootAll({
      table: core.table,
      containments: CONTAINMENTS,
      pipeline: core.pipeline,
      writeFailures: core.writeFailures,
    }).then(() => true, this.#onFailedStart)
    if (!started) {
      await this.#close(core)
      return this.#open()
    }
    const remaining = countUserHolds(core.table.rows())
    // There may be more holds than before, because a masked pause may have become due.
    for (const [uuid, holds] of paused) if ((remaining.get(uuid) ?? 0) < holds) this.reportViolation(`${RULES.holdStays}: ${uuid}`)
    for (const { life, uuid } of core.table.rows())
      if (life.state === 'running' && life.attached && !this.#drivers.has(uuid))
        this.reportViolation(`${uuid} runs after a restart, without a driver`)
    return core
  }

  /** Reports a failed start as a violation, unless a write has failed. Then the next daemon tries again. */
  #onFailedStart = (error: unknown): boolean => {
    if (!(error instanceof KernelError)) this.reportViolation(`the start failed: ${String(error)}`)
    return false
  }

  #perform(effect: Effect, core: Core): void {
    if (core !== this.#core || !('uuid' in effect)) return
    const { uuid, pid } = effect
    const driver = this.#drivers.get(uuid)
    switch (effect.type) {
      case 'start':
        return this.#runLater(() =>
          core.pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: uuid }, missingKeys: [] }),
        )
      case 'driver.start':
        return this.#start(core, effect)
      case 'checkpoint':
        return core.pipeline.joinNextBatch({ type: 'checkpoint', uuid, pid, error: null })
      case 'release':
        if (effect.action === 'cancel' && driver?.pid === pid) driver.end()
        if (effect.action === 'context' && driver?.pid === pid) this.#drivers.delete(uuid)
        if (effect.action === 'await') this.#runLater(() => this.#release(core, effect))
        return
      default:
        if (driver?.pid === pid) driver.performEffect(effect)
        else this.reportViolation(`${effect.type} for PID ${pid}, which has no driver`)
    }
  }

  #start(core: Core, effect: Extract<Effect, { type: 'driver.start' }>): void {
    const row = core.table.get(effect.uuid)
    if (!row || row.pid !== effect.pid) return
    if (this.#drivers.has(row.uuid)) this.reportViolation(`two drivers for ${row.uuid}`)
    const driver = new FakeDriver(core, this, row)
    this.#drivers.set(row.uuid, driver)
    driver.performEffect(effect)
  }

  #release(core: Core, { uuid, pid }: { readonly uuid: Uuid; readonly pid: number }): void {
    const survivors = this.pick(10) === 0 ? [4711] : []
    core.pipeline.submit({ type: 'released', uuid, pid, survivors })
    if (survivors.length > 0) this.#runLater(() => this.#release(core, { uuid, pid }))
  }

  #runLater(act: () => void): void {
    this.schedule.waitForTurn(act).then(act, () => {})
  }

  #request(core: Core): void {
    const body = this.#randomRequest()
    if (!body) return
    core.pipeline.request(body).then(
      () => {
        if (core !== this.#core) return
        if (body.type === 'spawn') this.acknowledged.add(`spawn ${body.uuid}`)
        if (body.type === 'send') this.acknowledged.add(`message ${body.uuid} ${body.id}`)
      },
      (error: unknown) => {
        if (error instanceof KernelError && error.code === 'INTERNAL') this.reportViolation(`${body.type} was refused: ${error.message}`)
      },
    )
  }

  #randomRequest(): RequestBody | null {
    const uuid = this.#pickRecent(NEWEST_COUNT)
    if (uuid === undefined || this.pick(5) === 0) return this.#spawn(uuid)
    const row = this.#core?.table.get(uuid)
    this.#messages += 1
    switch (this.pick(10)) {
      case 9:
        return {
          type: 'handle',
          by: 'user',
          uuid,
          signal: HANDLED_SIGNALS[this.pick(HANDLED_SIGNALS.length)] ?? 'SIGTERM',
          handler: 'message',
        }
      case 8:
        return { type: 'answer', by: 'user', uuid, id: null, option: null, text: 'that one' }
      case 0:
      case 1:
        return { type: 'send', by: 'user', uuid, id: `m${this.#messages}`, text: 'hello', ...(this.pick(3) === 0 ? { urgent: true } : {}) }
      case 2:
      case 3:
      case 4:
        return {
          type: 'signal',
          by: 'user',
          uuid,
          signal: SIGNALS[this.pick(SIGNALS.length)] ?? 'SIGTERM',
          subtree: this.pick(3) === 0,
          graceMs: this.pick(3) === 0 ? 20_000 : null,
          freeze: this.pick(3) === 0,
        }
      default: {
        if (!row) this.forksAndRemovals.resume(uuid)
        return row
          ? {
              type: 'resume',
              by: 'user',
              uuid,
              endedRow: null,
              subtree: this.pick(2) === 0,
              only: this.pick(3) === 0,
              rerun: false,
              message: null,
              spec: null,
            }
          : null
      }
    }
  }

  #newUuid(): Uuid {
    const uuid = uuidOf(this.#uuids.length + 1)
    this.#uuids.push(uuid)
    return uuid
  }

  /** Picks one of the newest `count` processes; undefined if there is none. */
  #pickRecent(count: number): Uuid | undefined {
    return this.#uuids[this.#uuids.length - 1 - this.pick(Math.max(1, Math.min(count, this.#uuids.length)))]
  }

  #spawn(parent: Uuid | undefined): RequestBody {
    const uuid = this.#newUuid()
    const driver = (['command', 'command', 'acp', 'acp', 'native', 'native', 'native'] as const)[this.pick(7)] ?? 'native'
    const lines = driver === 'command' && this.pick(2) === 0 ? { agent: 'mine', format: 'claude' as const } : {}
    const limits = this.pick(4) === 0 ? { timeoutMs: 20_000 } : {}
    return {
      type: 'spawn',
      by: 'user',
      uuid,
      parent: this.pick(2) === 0 ? null : (parent ?? null),
      spec: kernelSpec({ driver, ...lines, limits, interactive: this.pick(2) === 0 }),
    }
  }

  #planFault(store: FaultyStore): void {
    const fault = this.#fault
    if (!fault) return
    store.fault = () => {
      this.#attemptedCommits += 1
      if (this.#attemptedCommits !== fault.commit) return null
      this.failed += 1
      return new KernelError(fault.code, 'as planned')
    }
  }

  /** Makes commits wait or fail, or the disk full for a while. */
  #disturbStore(core: Core): void {
    const { store } = core
    if (this.#fault) return store.releaseCommits()
    const failOneCommit = (code: ErrorCode): void => {
      const failingCommit = store.attempts + 1 + this.pick(2)
      store.fault = (_, number) => (number === failingCommit ? new KernelError(code, 'by chance') : null)
    }
    switch (this.pick(6)) {
      case 0:
        return failOneCommit('DISK_FULL')
      case 5:
        return failOneCommit('READ_ONLY')
      case 1:
        store.isFull = true
        return
      case 2:
        store.isFull = false
        return
      default:
        return store.holdCommits()
    }
  }

  /** Kills the daemon as SIGKILL does: no report follows, and the commit in flight may or may not reach the store. */
  async #crash(core: Core): Promise<void> {
    if (this.pick(2) === 0) core.store.fault = () => new KernelError('UNAVAILABLE', 'the daemon is dead')
    await this.#close(core)
  }

  /** Stops the daemon on request: holds all processes, which may still reach a boundary. */
  async #stop(core: Core): Promise<void> {
    core.store.isFull = false
    core.store.releaseCommits()
    core.store.fault = () => null
    // If the commit in flight fails, it is repeated a second later.
    await waitUntilSettled()
    this.#clock.wind(2_000)
    await waitUntilSettled()
    core.pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    for (let i = this.pick(200); i > 0; i -= 1) {
      this.schedule.next()
      if (i % 8 === 0) await waitUntilSettled()
    }
    await core.pipeline.waitUntilIdle()
    if (core.writeFailures.currentError) this.reportViolation('the disk has room, but the daemon still treats it as full')
    for (const { life, uuid } of core.table.rows()) {
      if (life.state === 'running' && life.holds.some(({ reason }) => reason === 'disk-full'))
        this.reportViolation(`${uuid} is held for a full disk, but the disk has room`)
    }
    await waitUntilSettled()
    this.#followers.check(core)
    // A process that ended before it began is handled a moment later.
    for (const ms of [1, 999]) {
      this.#clock.wind(ms)
      await waitUntilSettled()
    }
    this.#checkDeadlines(core)
    await this.#close(core)
  }

  #checkDeadlines(core: Core): void {
    for (const row of core.table.rows())
      if ((deadlineOf(row) ?? Infinity) < this.#clock.now().mono - 1_000)
        this.reportViolation(`the deadline of ${row.uuid} has passed, but nothing has happened`)
  }

  async #close(core: Core): Promise<void> {
    this.#core = null
    this.#followers.dropAll()
    for (const driver of this.#drivers.values()) driver.end()
    this.#drivers.clear()
    this.schedule.dropAll()
    // Pending work may wait for a delayed commit.
    core.store.releaseCommits()
    await this.forksAndRemovals.close()
    await core[Symbol.asyncDispose]()
    this.schedule.dropAll()
  }

  /** Checks the store: rows are the folds of their journals, cursors and PIDs only rise, no acknowledged fact is missing. */
  async #verifyStore(core: Core): Promise<void> {
    for (;;) {
      const page = await core.store.since({ afterCursor: this.#lastReadCursor, limit: 500 })
      for (const fact of page) {
        const { cursor, uuid, pid, body } = fact
        this.#followers.recordFact(fact, this.#lastReadCursor)
        this.#lastReadCursor = cursor
        this.#rules.read(fact)
        if (body.type === 'process.spawned' || body.type === 'process.forked') this.#stored.add(`spawn ${uuid}`)
        if (body.type === 'process.queue') this.#stored.add(`message ${uuid} ${body.id}`)
        if (body.type === 'model.finished') this.#stored.add(`model ${uuid} ${body.step}`)
        if (body.type === 'context.compacted') this.#stored.add(`compacted ${uuid} ${body.step}`)
        if (body.type === 'tool.finished') this.#stored.add(`tool ${body.callId}`)
        if (body.type === 'process.output' && body.text.startsWith('[the disk is full')) this.#cutOutputs.add(`line ${uuid} ${pid}`)
        else if (body.type === 'process.output') this.#checkLine(`line ${uuid} ${pid}`, Number(body.text))
      }
      if (page.length < 500) break
    }
    // A process that ends while the disk is full loses the output after the line that reports the loss.
    for (const fact of this.acknowledged)
      if (
        !this.#stored.has(fact) &&
        !this.#cutOutputs.has(fact.slice(0, fact.lastIndexOf(' '))) &&
        !this.forksAndRemovals.removed.has(fact.split(/[ .]/)[1] ?? '')
      )
        this.reportViolation(`acknowledged and lost: ${fact}`)
    await this.forksAndRemovals.verify(core)
    for (const row of core.table.rows()) await this.#verifyRow(core, row.uuid)
    for (let i = 0; i < 3; i += 1) await this.#verifyRow(core, this.#uuids[this.pick(Math.max(1, this.#uuids.length))] ?? '')
  }

  async #verifyRow(core: Core, uuid: Uuid): Promise<void> {
    const row = core.table.get(uuid) ?? (await core.store.process(uuid))
    const refolded = await foldedProcess(core, uuid)
    if (sortedJson(row) !== sortedJson(refolded))
      this.reportViolation(`the row of ${uuid} is not the fold of its journal: ${sortedJson(row)} and ${sortedJson(refolded)}`)
  }

  #checkLine(output: string, line: number): void {
    const lastLine = this.#lastLines.get(output) ?? 0
    if (line <= lastLine) this.reportViolation(`${output} ${line} follows ${lastLine}`)
    this.#lastLines.set(output, line)
    this.#stored.add(`${output} ${line}`)
  }
}

/** Returns the tables that still have rows after the removal of all processes. */
function nonEmptyTables(dir: string): string[] {
  const db = new DatabaseSync(join(dir, 'store.db'), { readOnly: true })
  try {
    const tables = ['processes', 'journal', 'places', 'blobs', 'shared', 'kept', 'doomed']
    return tables.filter((table) => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined)
  } finally {
    db.close()
  }
}

/** JSON with sorted keys. */
function sortedJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, field: unknown) =>
      field !== null && typeof field === 'object' && !Array.isArray(field)
        ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : field,
    ) ?? 'none'
  )
}

function killAll({ table, pipeline }: Core): void {
  for (const { uuid, life } of [...table.rows()]) {
    if (life.state === 'created' || (life.state === 'running' && !life.stopping)) {
      pipeline.submit({ type: 'signal', reply: 0, by: 'user', uuid, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
    }
  }
}
