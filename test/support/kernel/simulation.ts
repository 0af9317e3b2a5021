// A daemon's core on one seed: people who ask, drivers that report, commits that fail or wait, disks that fill, clocks that
// run and daemons that die. After each death, what the store has is held against what was promised.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bootAll } from '../../../src/daemon/boot.ts'
import { deadlineOf } from '../../../src/kernel/deadline.ts'
import { KernelError } from '../../../src/kernel/errors.ts'
import type { Container } from '../../../src/drivers/contain/contain.ts'
import type { Effect } from '../../../src/kernel/effects.ts'
import type { ErrorCode } from '../../../src/kernel/errors.ts'
import type { RequestBody } from '../../../src/daemon/pipeline.ts'
import type { Signal, Uuid } from '../../../src/kernel/types.ts'
import { HandClock } from '../clock.ts'
import { uuidOf } from '../store-facts.ts'
import { folded, openCore, settled } from './daemon-core.ts'
import { FakeDriver } from './fake-driver.ts'
import { Histories } from './histories.ts'
import { RULES, Rules, personHolds } from './rules.ts'
import { Schedule } from './schedule.ts'
import { Viewers } from './viewers.ts'
import { kernelSpec } from './world.ts'
import type { Core } from './daemon-core.ts'
import type { FaultyStore } from './faulty-store.ts'
import type { Outside } from './fake-driver.ts'
import type { Pick } from './random.ts'

const MAX_PROCESSES = 12
/** commands in one go, at most */
const MAX_BURST = 8
/** commands are about one of so many; what has ended is among the older */
const YOUNG = 10
const OLD = 40
const SIGNALS: readonly Signal[] = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGPAUSE', 'SIGPAUSE', 'SIGRESUME', 'SIGRESUME']
const HANDLED: readonly Signal[] = ['SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']
/** nothing of an old daemon's programs is left, as these programs are none */
const CONTAINER = { recover: async () => ({ outcome: 'gone', survivors: [] }) } as unknown as Container

/** One commit that fails, counted over all daemons, instead of weather by chance. */
export interface Fault {
  readonly commit: number
  readonly code: ErrorCode
}

export class Simulation implements Outside {
  readonly pick: Pick
  readonly schedule: Schedule
  readonly acted = new Map<string, { effect: string; times: number }>()
  readonly acknowledged = new Set<string>()
  readonly #dir: string
  readonly #clock = new HandClock()
  readonly #uuids: Uuid[] = []
  readonly #drivers = new Map<Uuid, FakeDriver>()
  /** facts that the store has, in words, up to `#read` */
  readonly #stored = new Set<string>()
  readonly #lines = new Map<string, number>()
  #read = 0
  readonly #rules = new Rules((rule, words) => this.broken(`${RULES[rule]}: ${words}`))
  readonly histories: Histories
  readonly #viewers: Viewers
  #core: Core | null = null
  #wrong: string | null = null
  #messages = 0
  readonly #fault: Fault | null
  restarts = 0
  /** what people asked for */
  commands = 0
  #tried = 0
  /** commits that were made to fail by `Fault` */
  failed = 0

  constructor(dir: string, pick: Pick, fault: Fault | null = null) {
    this.#dir = dir
    this.pick = pick
    this.#fault = fault
    this.schedule = new Schedule(pick)
    this.histories = new Histories({
      pick, acknowledged: this.acknowledged, newUuid: () => this.#newUuid(),
      broken: (rule, words) => this.broken(rule === 'defect' ? words : `${RULES[rule]}: ${words}`),
    })
    this.#viewers = new Viewers(this.histories.gone, (words) => this.broken(`${RULES.cursors}: ${words}`))
  }

  broken(rule: string): void {
    this.#wrong ??= rule
  }

  /** One thing happens. */
  async step(): Promise<void> {
    const core = this.#core ?? (await this.#open())
    const kind = this.pick(1_000)
    if (kind < 620) this.schedule.next()
    else if (kind < 780) this.#commands(core)
    else if (kind < 880) this.#clock.wind([1, 100, 1_000, 12_000, 130_000][this.pick(5)] ?? 1)
    else if (kind < 930) this.#weather(core)
    else if (kind < 985) core.store.letGo()
    else if (kind < 992) this.#viewers.add(core, this.pick(core.pipeline.cursor + 1))
    else if (kind < 998) await this.#crash(core)
    else await this.#stop(core)
    if (this.pick(3) > 0) await settled()
    if (this.#wrong !== null) throw new Error(this.#wrong)
  }

  /** People ask for things, now and then for many at once. */
  #commands(core: Core): void {
    for (let more = this.pick(MAX_BURST); more >= 0; more -= 1) {
      this.commands += 1
      const uuid = this.#recent(YOUNG)
      if (uuid === undefined || this.pick(4) > 0) this.#request(core)
      else this.histories.act(this.pick(2) === 0 ? uuid : (this.#recent(OLD) ?? uuid))
    }
  }

  /** All is well again; everyone is killed, and everything must come to its end. */
  async end(): Promise<void> {
    if (this.#core) await this.#stop(this.#core)
    const core = await this.#open()
    for (let i = 0; i < 2_000 && core.table.size > 0; i += 1) {
      // The commit that fails as planned may be the one that has the kills: they are asked for again.
      if (i % 100 === 0) killAll(core)
      this.schedule.next()
      await settled()
      if (i % 100 === 0) this.#clock.wind(10_000)
    }
    if (core.table.size > 0) throw new Error(`not all have ended: ${JSON.stringify([...core.table.rows()].map(({ uuid, life }) => [uuid, life]))}`)
    await this.histories.clear(this.#uuids)
    await this.#stop(core)
    const left = leftIn(this.#dir)
    if (left.length > 0) this.broken(`${RULES.nothingLeft}: ${left.join(', ')}`)
    if (this.#wrong !== null) throw new Error(this.#wrong)
  }

  async #open(): Promise<Core> {
    const core = await openCore({ dir: this.#dir, clock: this.#clock, maxProcesses: MAX_PROCESSES, perform: (effect, of) => this.#perform(effect, of), faults: (store) => this.#planFault(store) })
    this.#core = core
    this.restarts += 1
    await this.#verify(core)
    const paused = personHolds(core.table.rows())
    this.#viewers.add(core, core.pipeline.cursor)
    this.histories.open(core)
    const started = await bootAll({ table: core.table, container: CONTAINER, pipeline: core.pipeline, diskFull: core.diskFull }).then(() => true, this.#cannotStart)
    if (!started) {
      await this.#close(core)
      return this.#open()
    }
    const still = personHolds(core.table.rows())
    for (const [uuid, holds] of paused) if (still.get(uuid) !== holds) this.broken(`${RULES.holdStays}: ${uuid}`)
    for (const { life, uuid } of core.table.rows()) if (life.state === 'running' && life.attached && !this.#drivers.has(uuid)) this.broken(`${uuid} runs after a restart, and nobody runs it`)
    return core
  }

  /** A daemon that cannot write what has become of the rows does not start; the next one tries again. */
  #cannotStart = (error: unknown): boolean => {
    if (!(error instanceof KernelError)) this.broken(`the start failed: ${String(error)}`)
    return false
  }

  #perform(effect: Effect, core: Core): void {
    if (core !== this.#core || !('uuid' in effect)) return
    const { uuid, pid } = effect
    const driver = this.#drivers.get(uuid)
    switch (effect.type) {
      case 'start': return this.#later(() => core.pipeline.submit({ type: 'start', uuid, pid, containment: { kind: 'group', path: null, marker: uuid }, missingKeys: [] }))
      case 'driver.start': return this.#start(core, effect)
      case 'checkpoint': return core.pipeline.join({ type: 'checkpoint', uuid, pid, error: null })
      case 'release':
        if (effect.action === 'cancel' && driver?.pid === pid) driver.end()
        if (effect.action === 'context' && driver?.pid === pid) this.#drivers.delete(uuid)
        if (effect.action === 'await') this.#later(() => this.#release(core, effect))
        return
      default:
        if (driver?.pid === pid) driver.ask(effect)
        else this.broken(`${effect.type} for PID ${pid}, which nobody runs`)
    }
  }

  #start(core: Core, effect: Extract<Effect, { type: 'driver.start' }>): void {
    const row = core.table.get(effect.uuid)
    if (!row || row.pid !== effect.pid) return
    if (this.#drivers.has(row.uuid)) this.broken(`two drivers for ${row.uuid}`)
    const driver = new FakeDriver(core, this, row)
    this.#drivers.set(row.uuid, driver)
    driver.ask(effect)
  }

  #release(core: Core, { uuid, pid }: { readonly uuid: Uuid; readonly pid: number }): void {
    const survivors = this.pick(10) === 0 ? [4711] : []
    core.pipeline.submit({ type: 'released', uuid, pid, survivors })
    if (survivors.length > 0) this.#later(() => this.#release(core, { uuid, pid }))
  }

  #later(act: () => void): void {
    this.schedule.turn(act).then(act, () => {})
  }

  #request(core: Core): void {
    const body = this.#ask()
    if (!body) return
    core.pipeline.request(body).then(
      () => {
        if (core !== this.#core) return
        if (body.type === 'spawn') this.acknowledged.add(`spawn ${body.uuid}`)
        if (body.type === 'send') this.acknowledged.add(`message ${body.uuid} ${body.id}`)
      },
      (error: unknown) => {
        if (error instanceof KernelError && error.code === 'INTERNAL') this.broken(`${body.type} was refused: ${error.message}`)
      },
    )
  }

  #ask(): RequestBody | null {
    const uuid = this.#recent(YOUNG)
    if (uuid === undefined || this.pick(5) === 0) return this.#spawn(uuid)
    const row = this.#core?.table.get(uuid)
    this.#messages += 1
    switch (this.pick(10)) {
      case 9: return { type: 'handle', by: 'user', uuid, signal: HANDLED[this.pick(HANDLED.length)] ?? 'SIGTERM', handler: 'message' }
      case 8: return { type: 'answer', by: 'user', uuid, id: null, option: null, text: 'that one' }
      case 0:
      case 1: return { type: 'send', by: 'user', uuid, id: `m${this.#messages}`, text: 'hello' }
      case 2:
      case 3:
      case 4: return {
        type: 'signal', by: 'user', uuid, signal: SIGNALS[this.pick(SIGNALS.length)] ?? 'SIGTERM',
        subtree: this.pick(3) === 0, graceMs: this.pick(3) === 0 ? 20_000 : null, freeze: this.pick(3) === 0,
      }
      default: {
        if (!row) this.histories.resume(uuid)
        return row ? { type: 'resume', by: 'user', uuid, frozen: null, subtree: this.pick(2) === 0, only: this.pick(3) === 0, rerun: true, message: null, spec: null } : null
      }
    }
  }

  #newUuid(): Uuid {
    const uuid = uuidOf(this.#uuids.length + 1)
    this.#uuids.push(uuid)
    return uuid
  }

  /** One of the youngest, if there is one at all. */
  #recent(of: number): Uuid | undefined {
    return this.#uuids[this.#uuids.length - 1 - this.pick(Math.max(1, Math.min(of, this.#uuids.length)))]
  }

  #spawn(parent: Uuid | undefined): RequestBody {
    const uuid = this.#newUuid()
    const driver = (['command', 'command', 'acp', 'acp', 'native', 'native', 'native'] as const)[this.pick(7)] ?? 'native'
    const lines = driver === 'command' && this.pick(2) === 0 ? { agent: 'mine', format: 'claude' as const } : {}
    const limits = this.pick(4) === 0 ? { timeoutMs: 20_000 } : {}
    return { type: 'spawn', by: 'user', uuid, parent: this.pick(2) === 0 ? null : (parent ?? null), spec: kernelSpec({ driver, ...lines, limits, interactive: this.pick(2) === 0 }) }
  }

  #planFault(store: FaultyStore): void {
    const fault = this.#fault
    if (!fault) return
    store.fault = () => {
      this.#tried += 1
      if (this.#tried !== fault.commit) return null
      this.failed += 1
      return new KernelError(fault.code, 'as planned')
    }
  }

  /** Commits that wait, commits that fail, and a disk that is full for a while. */
  #weather(core: Core): void {
    const { store } = core
    if (this.#fault) return store.letGo()
    const once = (code: ErrorCode): void => {
      const at = store.tried + 1 + this.pick(2)
      store.fault = (_, number) => (number === at ? new KernelError(code, 'by chance') : null)
    }
    switch (this.pick(6)) {
      case 0: return once('DISK_FULL')
      case 5: return once('READ_ONLY')
      case 1:
        store.isFull = true
        return
      case 2:
        store.isFull = false
        return
      default: return store.hold()
    }
  }

  /** As by kill -9: nothing is said any more; the commit in flight is in the store, or it is not. */
  async #crash(core: Core): Promise<void> {
    if (this.pick(2) === 0) core.store.fault = () => new KernelError('UNAVAILABLE', 'the daemon is dead')
    await this.#close(core)
  }

  /** In order: all are held, and may come to a boundary. */
  async #stop(core: Core): Promise<void> {
    core.store.isFull = false
    core.store.letGo()
    core.store.fault = () => null
    // The commit that was in flight may still fail, and is then tried again a second later.
    await settled()
    this.#clock.wind(2_000)
    await settled()
    core.pipeline.submit({ type: 'hold', uuid: null, reason: 'daemon-shutdown' })
    for (let i = this.pick(200); i > 0; i -= 1) {
      this.schedule.next()
      if (i % 8 === 0) await settled()
    }
    await core.pipeline.idle()
    if (core.diskFull.trouble) this.broken('the disk has room, and the daemon does not see it')
    for (const { life, uuid } of core.table.rows()) {
      if (life.state === 'running' && life.holds.some(({ reason }) => reason === 'disk-full')) this.broken(`${uuid} is held for want of room, and there is room`)
    }
    await settled()
    this.#viewers.check(core)
    // One that was over before its process began is acted on a moment later.
    for (const ms of [1, 999]) {
      this.#clock.wind(ms)
      await settled()
    }
    this.#checkDeadlines(core)
    await this.#close(core)
  }

  #checkDeadlines(core: Core): void {
    for (const row of core.table.rows()) if ((deadlineOf(row) ?? Infinity) < this.#clock.now().mono - 1_000) this.broken(`the deadline of ${row.uuid} is over, and nothing has happened`)
  }

  async #close(core: Core): Promise<void> {
    this.#core = null
    this.#viewers.dropAll()
    for (const driver of this.#drivers.values()) driver.end()
    this.#drivers.clear()
    this.schedule.dropAll()
    // What is under way may wait for a commit that waits.
    core.store.letGo()
    await this.histories.close()
    await core[Symbol.asyncDispose]()
    this.schedule.dropAll()
  }

  /** What the store has: rows are the folds of their journals, cursors and PIDs only rise, nothing acknowledged is missing. */
  async #verify(core: Core): Promise<void> {
    for (;;) {
      const page = await core.store.since({ afterCursor: this.#read, limit: 500 })
      for (const fact of page) {
        const { cursor, uuid, pid, body } = fact
        this.#viewers.note(fact, this.#read)
        this.#read = cursor
        this.#rules.read(fact)
        if (body.type === 'process.spawned' || body.type === 'process.forked') this.#stored.add(`spawn ${uuid}`)
        if (body.type === 'process.queue') this.#stored.add(`message ${uuid} ${body.id}`)
        if (body.type === 'model.finished') this.#stored.add(`model ${uuid} ${body.step}`)
        if (body.type === 'context.compacted') this.#stored.add(`compacted ${uuid} ${body.step}`)
        if (body.type === 'tool.finished') this.#stored.add(`tool ${body.callId}`)
        if (body.type === 'process.output') this.#line(`line ${uuid} ${pid}`, Number(body.text))
      }
      if (page.length < 500) break
    }
    for (const what of this.acknowledged) if (!this.#stored.has(what) && !this.histories.gone.has(what.split(/[ .]/)[1] ?? '')) this.broken(`acknowledged and lost: ${what}`)
    await this.histories.verify(core)
    for (const row of core.table.rows()) await this.#verifyRow(core, row.uuid)
    for (let i = 0; i < 3; i += 1) await this.#verifyRow(core, this.#uuids[this.pick(Math.max(1, this.#uuids.length))] ?? '')
  }

  async #verifyRow(core: Core, uuid: Uuid): Promise<void> {
    const row = core.table.get(uuid) ?? (await core.store.process(uuid))
    const told = await folded(core, uuid)
    if (sorted(row) !== sorted(told)) this.broken(`the row of ${uuid} is not the fold of its journal: ${sorted(row)} and ${sorted(told)}`)
  }

  #line(of: string, line: number): void {
    const last = this.#lines.get(of) ?? 0
    if (line <= last) this.broken(`${of} ${line} follows ${last}`)
    this.#lines.set(of, line)
    this.#stored.add(`${of} ${line}`)
  }
}

/** Tables that still have rows of processes, when all of them were removed. */
function leftIn(dir: string): string[] {
  const db = new DatabaseSync(join(dir, 'store.db'), { readOnly: true })
  try {
    const tables = ['processes', 'journal', 'places', 'blobs', 'shared', 'kept', 'doomed']
    return tables.filter((table) => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined)
  } finally {
    db.close()
  }
}

/** JSON whose keys are in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (one !== null && typeof one === 'object' && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one)) ?? 'none'
}

function killAll({ table, pipeline }: Core): void {
  for (const { uuid, life } of [...table.rows()]) {
    if (life.state === 'created' || (life.state === 'running' && !life.stopping)) {
      pipeline.submit({ type: 'signal', reply: 0, by: 'user', uuid, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
    }
  }
}
