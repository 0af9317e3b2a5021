// All incarnations that the daemon runs, and the one exhaustive switch that performs the kernel's effects.
// Owns nothing of the state: each effect is done or asked for, and what comes of it goes back through the pipeline.
// Test: test/e2e/api-life.test.ts, test/simulation.
import { join } from 'node:path'
import { Incarnation } from './incarnation.ts'
import type { Container, Containment } from '../drivers/contain/contain.ts'
import type { Driver, KernelPort, Message } from '../drivers/port.ts'
import type { Effect, ReplyValue } from '../kernel/effects.ts'
import type { Permit } from '../kernel/reports.ts'
import type { ContainmentIntent, DriverName, Pid, Process, Sender, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { ComposeNodes } from './compose-nodes.ts'
import type { Desk } from './mcp/desk.ts'
import type { Feed } from './feed.ts'
import { startWith, type Gateways } from './gateways.ts'
import type { Keys } from './keys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Sampler } from './sampler.ts'
import type { Table } from './table.ts'
import type { Worktrees } from './worktrees.ts'

export interface IncarnationsParts {
  readonly table: Table
  readonly store: Store
  readonly container: Container
  readonly drivers: Readonly<Partial<Record<DriverName, Driver>>>
  readonly feed: Feed
  /** it writes */
  readonly heard: (uuid: Uuid) => void
  readonly sampler: Pick<Sampler, 'watch' | 'wake' | 'last' | 'forget'>
  readonly clock: Clock
  readonly tmpDir: string
  readonly keys: Keys
  readonly gateways: Pick<Gateways, 'decide' | 'open'>
  readonly worktrees: Pick<Worktrees, 'of'>
  readonly composeNodes: Pick<ComposeNodes, 'start'>
  readonly desk: Pick<Desk, 'seatFor'>
  readonly log: (message: string, error: unknown) => void
}

type EffectOf<T extends Effect['type']> = Extract<Effect, { type: T }>

/** A member that is left keeps the row a zombie and is tried again after so long. */
const RETRY_RELEASE_MS = 5_000

export class Incarnations {
  readonly #parts: IncarnationsParts
  readonly #running = new Map<Uuid, Incarnation>()
  #pipeline: Pipeline | null = null

  constructor(parts: IncarnationsParts) {
    this.#parts = parts
  }

  /** The pipeline needs `perform`, and this needs the pipeline: it is handed over once. */
  connect(pipeline: Pipeline): void {
    this.#pipeline = pipeline
  }

  perform(effect: Effect): void {
    switch (effect.type) {
      case 'reply':
      case 'refuse': return this.#pipe.answer(effect)
      case 'start': return this.#plan(effect)
      case 'driver.start': return this.#start(effect)
      case 'driver.deliver': return this.#deliver(effect)
      case 'driver.proceed': return this.#of(effect)?.ask('proceed', (agent) => agent.proceed(effect.turn))
      case 'driver.answer': return this.#of(effect)?.ask('answer', (agent) => agent.answer?.({ id: effect.id, option: effect.option, text: effect.text }) ?? Promise.resolve())
      case 'driver.interrupt': return this.#of(effect)?.ask('interrupt', (agent) => agent.interrupt())
      case 'driver.pause': return this.#of(effect)?.pause(effect.freeze)
      case 'driver.unpause': return this.#unpause(effect)
      case 'driver.stop': return this.#of(effect)?.stop(effect)
      case 'checkpoint': return this.#checkpoint(effect)
      case 'compose.start': return this.#parts.composeNodes.start(effect)
      case 'release': return this.#release(effect)
    }
  }

  /** The PID of a program of it that somebody has stopped; null: none is. */
  stopped({ uuid, pid, handle }: Process): Promise<number | null> {
    return this.#of({ uuid, pid })?.stopped(handle) ?? Promise.resolve(null)
  }

  /** Ends all that runs without a word to the kernel: for a daemon that stops, after it has drained. */
  async shutdown(): Promise<void> {
    const all = [...this.#running.values()]
    for (const incarnation of all) incarnation.cancel()
    const left = await Promise.all(all.map((incarnation) => incarnation.release()))
    this.#running.clear()
    if (left.flat().length > 0) this.#parts.log(`still alive after the kill: ${left.flat().join(', ')}`, null)
  }

  get #pipe(): Pipeline {
    if (!this.#pipeline) throw new Error('the pipeline is not connected')
    return this.#pipeline
  }

  #of(effect: { readonly uuid: Uuid; readonly pid: Pid }): Incarnation | undefined {
    const incarnation = this.#running.get(effect.uuid)
    return incarnation?.pid === effect.pid ? incarnation : undefined
  }

  #plan({ uuid, pid }: EffectOf<'start'>): void {
    const { table, keys, gateways, log } = this.#parts
    const process = table.get(uuid)
    if (!process) return
    const containment = this.#intent(process)
    const begin = (missingKeys: readonly string[], kin: readonly Process[] = []): void => {
      // It may have ended while its keys were looked for; then nobody would forget them.
      if (table.get(uuid)) this.#pipe.submit({ type: 'start', uuid, pid, containment, missingKeys, ...startWith(gateways.decide(process)), ...(kin.length > 0 ? { kin } : {}) })
      else keys.forget(uuid)
    }
    Promise.all([keys.of(process), this.#kin(process)]).then(
      ([{ missing }, kin]) => begin(missing, kin),
      (error: unknown) => {
        log(`keys of process ${pid}`, error)
        begin(process.spec.credentials)
      },
    )
  }

  /** The children of a supervisor that have ended: their rows are not in the table. */
  async #kin({ supervision }: Process): Promise<readonly Process[]> {
    const { table, store } = this.#parts
    const ended = (supervision?.children ?? []).filter(({ uuid }) => !table.get(uuid))
    const rows = await Promise.all(ended.map(({ uuid }) => store.process(uuid)))
    return rows.filter((row) => row !== undefined)
  }

  /** What was asked for may work no more: then another owns the process, until it has said so and ended (`#open`). */
  #intent({ uuid, pid, spec }: Process): ContainmentIntent {
    const { container } = this.#parts
    try {
      return container.plan(uuid, pid, spec.containment)
    } catch {
      return container.plan(uuid, pid, 'auto')
    }
  }

  async #open(process: Process, intent: ContainmentIntent, tmpDir: string): Promise<Containment> {
    const { container, sampler } = this.#parts
    container.plan(process.uuid, process.pid, process.spec.containment)
    const containment = await container.open(intent, tmpDir, process.spec.capabilities?.network)
    sampler.watch(process, containment)
    return containment
  }

  #unpause(effect: EffectOf<'driver.unpause'>): void {
    this.#parts.sampler.wake(effect.uuid)
    this.#of(effect)?.unpause()
  }

  /** What its programs used and nobody was told of: before its end, and once more when they are all gone. */
  #tellUse(of: { readonly uuid: Uuid; readonly pid: Pid }): void {
    const report = this.#parts.sampler.last(of)
    if (report) this.#pipe.submit({ type: 'report', reply: 0, uuid: of.uuid, pid: of.pid, report })
  }

  #start({ uuid, pid }: EffectOf<'driver.start'>): void {
    const { table, feed, heard, log } = this.#parts
    const process = table.get(uuid)
    const intent = process?.containment
    if (!process || !intent || process.pid !== pid) return
    const tmpDir = join(this.#parts.tmpDir, `${uuid}.${pid}`)
    const driver = this.#parts.drivers[process.spec.driver]
    if (!driver) {
      this.#pipe.submit({ type: 'report', reply: 0, uuid, pid, report: { type: 'exited', code: null, osSignal: null, error: `there is no driver ${process.spec.driver}` } })
      return
    }
    const report: KernelPort['report'] = async (said) => {
      if (said.type === 'exited') this.#tellUse({ uuid, pid })
      const value = await this.#pipe.request({ type: 'report', uuid, pid, report: said })
      return value.type === 'ack' ? value.ack : 'ok'
    }
    const begin: KernelPort['begin'] = async (asking) => permitOf(await this.#pipe.request({ type: 'report', uuid, pid, report: asking }))
    const own = this.#parts.desk.seatFor(process)
    this.#running.set(uuid, new Incarnation({
      driver, report, begin, ...(own ? { ended: () => own.close() } : {}),
      files: this.#parts.worktrees.of(process, report),
      launch: { ...this.#launch(process, tmpDir, intent), ...(own ? { own } : {}) },
      open: () => this.#open(process, intent, tmpDir),
      gateway: process.metered || process.spec.gateway === 'on' ? (port) => this.#parts.gateways.open(process, port, () => heard(uuid)) : undefined,
      isHeld: () => isHeld(table.get(uuid)),
      live: (event) => {
        heard(uuid)
        feed.live(uuid, pid, event)
      },
      log,
    }))
  }

  #launch(process: Process, tmpDir: string, intent: NonNullable<Process['containment']>): ConstructorParameters<typeof Incarnation>[0]['launch'] {
    const { uuid, pid, spec, progress } = process
    const { store, keys } = this.#parts
    return {
      uuid, pid, spec, intent, tmpDir,
      credentials: keys.known(uuid),
      step: progress.step,
      turn: progress.turn,
      sessionId: process.sessionId,
      ...(process.forkOf === undefined ? {} : { forkOf: process.forkOf }),
      resumed: process.sessionId !== null,
      message: () => this.#messageFor(process),
      openCalls: progress.openCalls,
      context: process.context?.ranges ?? null,
      history: (afterSeq, limit) => store.facts(uuid, afterSeq, limit),
      skim: (afterSeq, limit, skim) => store.skim(uuid, afterSeq, limit, skim),
      historyOf: (other, afterSeq, limit) => store.facts(other, afterSeq, limit),
    }
  }

  async #messageFor({ uuid, queue }: Process): Promise<string | null> {
    const [next] = queue
    return next ? (await this.#queued(uuid, next.seq)).text : null
  }

  async #queued(uuid: Uuid, seq: number): Promise<{ readonly from: Sender; readonly text: string }> {
    const [fact] = await this.#parts.store.facts(uuid, seq - 1, 1)
    if (fact?.body.type !== 'process.queue') throw new Error(`no message at ${seq}`)
    return fact.body
  }

  #deliver({ uuid, pid, message: id, seq, turn }: EffectOf<'driver.deliver'>): void {
    const fetch = async (): Promise<Message> => {
      const { from, text } = await this.#queued(uuid, seq)
      return { id, from, text, turn }
    }
    this.#of({ uuid, pid })?.askWith('deliver', fetch, (agent, message) => agent.deliver(message))
  }

  #checkpoint({ uuid, pid }: EffectOf<'checkpoint'>): void {
    this.#pipe.join({ type: 'checkpoint', uuid, pid, error: null })
  }

  #release(effect: EffectOf<'release'>): void {
    switch (effect.action) {
      case 'cancel': return this.#of(effect)?.cancel()
      case 'await': return this.#awaitEnd(effect)
      case 'channel': return this.#parts.feed.end(effect.uuid)
      case 'context':
        if (this.#of(effect)) this.#running.delete(effect.uuid)
        return this.#forget(effect)
      case 'remove': return
    }
  }

  /** Its next incarnation, if that is there by now, has its keys. */
  #forget({ uuid, pid }: EffectOf<'release'>): void {
    const { table, keys } = this.#parts
    if ((table.get(uuid)?.pid ?? pid) === pid) keys.forget(uuid)
  }

  #awaitEnd(effect: EffectOf<'release'>): void {
    const { uuid, pid } = effect
    const incarnation = this.#of(effect)
    const ended = incarnation ? incarnation.release() : this.#endOld(uuid)
    ended.then(
      (survivors) => {
        this.#tellUse({ uuid, pid })
        if (survivors.length === 0) this.#parts.sampler.forget({ uuid, pid })
        this.#pipe.submit({ type: 'released', uuid, pid, survivors })
        if (survivors.length > 0) this.#parts.clock.after(RETRY_RELEASE_MS, () => this.#awaitEnd(effect))
      },
      (error: unknown) => {
        this.#parts.log(`release of process ${pid} failed`, error)
        this.#parts.clock.after(RETRY_RELEASE_MS, () => this.#awaitEnd(effect))
      },
    )
  }

  /** What a daemon before this one ran, and its start could not end. */
  async #endOld(uuid: Uuid): Promise<readonly number[]> {
    const { table, container } = this.#parts
    const { containment, handle } = table.get(uuid) ?? {}
    if (!containment) return []
    return (await container.recover(containment, handle ?? null)).survivors
  }
}

function permitOf(value: ReplyValue): Permit {
  if (value.type !== 'ack' || value.ack === 'ok') return { ack: 'late', reason: null }
  return value.ack === 'go' ? { ack: 'go', maxOutputTokens: value.maxOutputTokens ?? null } : { ack: value.ack, reason: value.reason ?? null }
}

function isHeld(process: Process | undefined): boolean {
  return process?.life.state === 'running' && process.life.holds.length > 0
}
