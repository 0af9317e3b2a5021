// Performs the kernel's effects, by a table with one handler for each type, and keeps the running incarnations. The result of an effect
// goes back to the kernel as an input of the pipeline.
// Tests: test/tables/daemon/incarnation/effect-performer.test.ts, test/e2e/daemon/api-processes.test.ts, test/simulation.
import { join } from 'node:path'
import { Incarnation } from './incarnation.ts'
import type { ContainmentManager, Containment } from '../../drivers/contain/containment-contract.ts'
import type { Drivers, KernelPort, LiveOutput, Message } from '../../drivers/port.ts'
import type { Effect, ReplyValue } from '../../kernel/model/effects.ts'
import type { CallGrant } from '../../kernel/model/reports.ts'
import type { ContainmentIntent, Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { ComposeNodeStarter } from '../compose/node-starter.ts'
import type { CrewJobs } from '../crew/jobs/jobs.ts'
import type { ToolService } from '../mcp/tool-service.ts'
import type { Feed } from '../loop/feed.ts'
import { startFieldsOf, type GatewaySessions } from './gateway-sessions.ts'
import type { ApiSockets } from './api-sockets.ts'
import type { Credentials } from './credentials.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { Sampler } from './sampler.ts'
import type { Table } from '../loop/table.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { Pid, Sender, Uuid } from '../../kernel/model/ids.ts'

export interface EffectPerformerDeps {
  readonly table: Table
  readonly store: Store
  readonly containments: ContainmentManager
  readonly drivers: Drivers
  readonly feed: Feed
  /** called when a process writes output, or has traffic at the gateway; `output`: for viewers, not stored */
  readonly recordActivity: (uuid: Uuid, output?: LiveOutput) => void
  readonly sampler: Pick<Sampler, 'watch' | 'wake' | 'takeUnreported' | 'forget'>
  readonly clock: Clock
  readonly tmpDir: string
  readonly apiSockets: Pick<ApiSockets, 'open' | 'close'>
  readonly credentials: Pick<Credentials, 'resolveAndKeep' | 'storedKeys' | 'forget' | 'inputs'>
  readonly gateways: Pick<GatewaySessions, 'decide' | 'open'>
  readonly worktrees: Pick<Worktrees, 'openFor'>
  readonly nodeStarter: Pick<ComposeNodeStarter, 'start'>
  readonly crewJobs: Pick<CrewJobs, 'perform'>
  readonly toolService: Pick<ToolService, 'openAccess'>
  readonly log: (message: string, error: unknown) => void
}

type EffectOf<T extends Effect['type']> = Extract<Effect, { type: T }>

/** While programs survive their release, the process stays a zombie. The release is repeated after this time, in ms. */
const RETRY_RELEASE_MS = 5_000

export class EffectPerformer {
  readonly #deps: EffectPerformerDeps
  readonly #incarnations = new Map<Uuid, Incarnation>()
  #pipeline: Pipeline | null = null
  /** The handler of each type of effect; a type without a handler does not compile. */
  readonly #handlers: { readonly [T in Effect['type']]: (effect: EffectOf<T>) => void } = {
    reply: (effect) => this.#connectedPipeline.answer(effect),
    refuse: (effect) => this.#connectedPipeline.answer(effect),
    start: (effect) => this.#prepareStart(effect),
    'driver.start': (effect) => this.#startIncarnation(effect),
    'driver.deliver': (effect) => this.#deliverMessage(effect),
    'driver.proceed': (effect) => this.#incarnationOf(effect)?.request('proceed', (agent) => agent.proceed(effect.turn)),
    'driver.answer': (effect) => this.#passAnswer(effect),
    'driver.interrupt': (effect) => this.#incarnationOf(effect)?.request('interrupt', (agent) => agent.interrupt()),
    'driver.pause': (effect) => this.#incarnationOf(effect)?.pause(effect.freeze),
    'driver.unpause': (effect) => this.#unpause(effect),
    'driver.stop': (effect) => this.#incarnationOf(effect)?.stop(effect),
    checkpoint: (effect) => this.#requestCheckpoint(effect),
    'compose.start': (effect) => this.#deps.nodeStarter.start(effect),
    'crew.job': (effect) => this.#deps.crewJobs.perform(effect),
    'crew.move': (effect) => this.#deps.crewJobs.perform(effect),
    'crew.retire': (effect) => this.#deps.crewJobs.perform(effect),
    release: (effect) => this.#performRelease(effect),
  }

  constructor(deps: EffectPerformerDeps) {
    this.#deps = deps
  }

  /** Must be called once before the first effect. The pipeline is created after this object, because the pipeline calls `perform`. */
  connect(pipeline: Pipeline): void {
    this.#pipeline = pipeline
  }

  perform<T extends Effect['type']>(effect: EffectOf<T>): void {
    const handler: (effect: EffectOf<T>) => void = this.#handlers[effect.type]
    handler(effect)
  }

  /** Finds an OS process of the process that a signal has stopped. Returns its OS pid, or null. */
  findStopped({ uuid, pid, handle }: Process): Promise<number | null> {
    return this.#incarnationOf({ uuid, pid })?.findStopped(handle) ?? Promise.resolve(null)
  }

  /** Ends all incarnations when the daemon stops, after the drain. The kernel gets no report: the next boot decides their state. */
  async shutdown(): Promise<void> {
    const all = [...this.#incarnations.values()]
    for (const incarnation of all) incarnation.cancel()
    const survivors = (await Promise.all(all.map((incarnation) => incarnation.release()))).flat()
    this.#incarnations.clear()
    if (survivors.length > 0) this.#deps.log(`OS processes that are still alive after the kill: ${survivors.join(', ')}`, null)
  }

  get #connectedPipeline(): Pipeline {
    if (!this.#pipeline) throw new Error('the pipeline is not connected')
    return this.#pipeline
  }

  /** Returns the incarnation that an effect is about; undefined if it has ended. */
  #incarnationOf(effect: { readonly uuid: Uuid; readonly pid: Pid }): Incarnation | undefined {
    const incarnation = this.#incarnations.get(effect.uuid)
    return incarnation?.pid === effect.pid ? incarnation : undefined
  }

  /** Looks up what a start needs (containment, keys, gateway), and submits it as the `start` input. */
  #prepareStart({ uuid, pid }: EffectOf<'start'>): void {
    const { table, credentials, gateways, log } = this.#deps
    const process = table.get(uuid)
    if (!process) return
    const containment = this.#planContainment(process)
    const submitStart = (missingKeys: readonly string[], endedChildren: readonly Process[] = []): void => {
      // If the process ended during the key lookup, nothing else would forget its keys.
      if (table.get(uuid))
        this.#connectedPipeline.submit({
          type: 'start',
          uuid,
          pid,
          containment,
          missingKeys,
          ...startFieldsOf(gateways.decide(process)),
          ...(endedChildren.length > 0 ? { endedChildren } : {}),
        })
      else credentials.forget(uuid)
    }
    Promise.all([credentials.resolveAndKeep(process), this.#loadEndedChildren(process)]).then(
      ([{ missing }, endedChildren]) => submitStart(missing, endedChildren),
      (error: unknown) => {
        log(`the keys of process ${pid} cannot be looked up`, error)
        submitStart(process.spec.credentials)
      },
    )
  }

  /** Loads the ended children of a supervisor, whose rows are not in the table. */
  async #loadEndedChildren({ supervision }: Process): Promise<readonly Process[]> {
    const { table, store } = this.#deps
    const ended = (supervision?.children ?? []).filter(({ uuid }) => !table.get(uuid))
    const rows = await Promise.all(ended.map(({ uuid }) => store.process(uuid)))
    return rows.filter((row) => row !== undefined)
  }

  /** Plans the containment. If the requested kind no longer works, plans a fallback: `#openContainment` then reports the error. */
  #planContainment({ uuid, pid, spec }: Process): ContainmentIntent {
    const { containments } = this.#deps
    try {
      return containments.plan(uuid, pid, spec.containment)
    } catch {
      return containments.plan(uuid, pid, 'auto')
    }
  }

  /** Opens the containment and starts its measurements. Errors: those of the requested kind of containment. */
  async #openContainment(process: Process, intent: ContainmentIntent, tmpDir: string): Promise<Containment> {
    const { containments, sampler } = this.#deps
    // Fails if the requested kind does not work; `intent` is only a fallback then.
    containments.plan(process.uuid, process.pid, process.spec.containment)
    const apiSocket = await this.#deps.apiSockets.open(process)
    const containment = await containments.open(intent, tmpDir, process.spec.capabilities?.network, apiSocket)
    sampler.watch(process, containment)
    return containment
  }

  #unpause(effect: EffectOf<'driver.unpause'>): void {
    this.#deps.sampler.wake(effect.uuid)
    this.#incarnationOf(effect)?.unpause()
  }

  /** Submits the measured usage that was not reported yet. Called before the exit report, and again when all programs have ended. */
  #reportUsage({ uuid, pid }: { readonly uuid: Uuid; readonly pid: Pid }): void {
    const report = this.#deps.sampler.takeUnreported({ uuid, pid })
    if (report) this.#connectedPipeline.submit({ type: 'report', reply: 0, uuid, pid, report })
  }

  #startIncarnation({ uuid, pid }: EffectOf<'driver.start'>): void {
    const { table, feed, recordActivity, log } = this.#deps
    const process = table.get(uuid)
    const intent = process?.containment
    if (!process || !intent || process.pid !== pid) return
    const tmpDir = join(this.#deps.tmpDir, `${uuid}.${pid}`)
    const driver = this.#deps.drivers[process.spec.driver]
    if (!driver) {
      this.#connectedPipeline.submit({
        type: 'report',
        reply: 0,
        uuid,
        pid,
        report: { type: 'exited', code: null, osSignal: null, error: `there is no driver ${process.spec.driver}` },
      })
      return
    }
    const report: KernelPort['report'] = async (report) => {
      if (report.type === 'exited') this.#reportUsage({ uuid, pid })
      const value = await this.#connectedPipeline.request({ type: 'report', uuid, pid, report })
      return value.type === 'ack' ? value.ack : 'ok'
    }
    const requestCall: KernelPort['requestCall'] = async (callRequest) =>
      grantOf(await this.#connectedPipeline.request({ type: 'report', uuid, pid, report: callRequest }))
    const toolAccess = this.#deps.toolService.openAccess(process)
    this.#incarnations.set(
      uuid,
      new Incarnation({
        driver,
        report,
        requestCall,
        onReleased: () => {
          toolAccess?.close()
          this.#deps.apiSockets.close(uuid)
        },
        worktree: this.#deps.worktrees.openFor(process, report),
        launch: { ...this.#launchOptions(process, tmpDir, intent), ...(toolAccess ? { ownTools: toolAccess } : {}) },
        openContainment: () => this.#openContainment(process, intent, tmpDir),
        openGateway:
          process.metered || process.spec.gateway === 'on'
            ? (port) => this.#deps.gateways.open(process, port, () => recordActivity(uuid))
            : undefined,
        isHeld: () => isHeld(table.get(uuid)),
        showLive: (event) => {
          recordActivity(uuid, event)
          feed.publishLive(uuid, pid, event)
        },
        log,
      }),
    )
  }

  /** Everything that the driver needs to start, except the containment and the gateway. */
  #launchOptions(
    process: Process,
    tmpDir: string,
    intent: NonNullable<Process['containment']>,
  ): ConstructorParameters<typeof Incarnation>[0]['launch'] {
    const { uuid, pid, spec, progress } = process
    const { store, credentials } = this.#deps
    const input = credentials.inputs.take(uuid)
    return {
      uuid,
      pid,
      spec,
      intent,
      tmpDir,
      credentials: credentials.storedKeys(uuid),
      currentCredentials: () => credentials.storedKeys(uuid),
      step: progress.step,
      turn: progress.turn,
      sessionId: process.sessionId,
      ...(process.forkOf === undefined ? {} : { forkOf: process.forkOf }),
      resumed: process.sessionId !== null,
      ...(input === undefined ? {} : { input }),
      resumeMessage: () => this.#firstMessageOf(process),
      openCalls: progress.openCalls,
      context: process.context?.ranges ?? null,
      history: (afterSeq, limit) => store.facts(uuid, afterSeq, limit),
      filteredHistory: (afterSeq, limit, skim) => store.filteredFacts(uuid, afterSeq, limit, skim),
      historyOf: (other, afterSeq, limit) => store.facts(other, afterSeq, limit),
    }
  }

  /** The text of the first queued message; null if none is queued. */
  async #firstMessageOf({ uuid, queue }: Process): Promise<string | null> {
    const [next] = queue
    return next ? (await this.#readQueuedMessage(uuid, next.seq)).text : null
  }

  /** Reads the message of the `process.queue` fact with this number. */
  async #readQueuedMessage(uuid: Uuid, seq: number): Promise<{ readonly from: Sender; readonly text: string }> {
    const [fact] = await this.#deps.store.facts(uuid, seq - 1, 1)
    if (fact?.body.type !== 'process.queue') throw new Error(`no message at ${seq}`)
    return fact.body
  }

  #deliverMessage({ uuid, pid, message: id, seq, turn }: EffectOf<'driver.deliver'>): void {
    const fetch = async (): Promise<Message> => {
      const { from, text } = await this.#readQueuedMessage(uuid, seq)
      return { id, from, text, turn }
    }
    this.#incarnationOf({ uuid, pid })?.requestWith('deliver', fetch, (agent, message) => agent.deliver(message))
  }

  #passAnswer(effect: EffectOf<'driver.answer'>): void {
    const { id, option, text } = effect
    this.#incarnationOf(effect)?.request('answer', (agent) => agent.answer?.({ id, option, text }) ?? Promise.resolve())
  }

  /** The checkpoint joins the next batch, because it is not worth a separate commit. */
  #requestCheckpoint({ uuid, pid }: EffectOf<'checkpoint'>): void {
    this.#connectedPipeline.joinNextBatch({ type: 'checkpoint', uuid, pid, error: null })
  }

  /** Performs one action of a release. */
  #performRelease(effect: EffectOf<'release'>): void {
    switch (effect.action) {
      case 'cancel':
        return this.#incarnationOf(effect)?.cancel()
      case 'await':
        return this.#endPrograms(effect)
      case 'channel':
        return this.#deps.feed.endStreamsOf(effect.uuid)
      case 'context':
        if (this.#incarnationOf(effect)) this.#incarnations.delete(effect.uuid)
        return this.#forgetKeys(effect)
      case 'remove':
        // Nothing is left to do: the commit has taken the row out of the table.
        return
    }
  }

  /** Forgets the keys of the process, and the input of a command that never started, unless its next incarnation already uses them. */
  #forgetKeys({ uuid, pid }: EffectOf<'release'>): void {
    const { table, credentials } = this.#deps
    if ((table.get(uuid)?.pid ?? pid) === pid) credentials.forget(uuid)
  }

  /** Ends all programs of the incarnation and reports the survivors. Repeats that until there are none. */
  #endPrograms(effect: EffectOf<'release'>): void {
    const { uuid, pid } = effect
    const incarnation = this.#incarnationOf(effect)
    const ended = incarnation ? incarnation.release() : this.#endLeftoverPrograms(uuid)
    ended.then(
      (survivors) => {
        this.#reportUsage({ uuid, pid })
        if (survivors.length === 0) this.#deps.sampler.forget({ uuid, pid })
        this.#connectedPipeline.submit({ type: 'released', uuid, pid, survivors })
        if (survivors.length > 0) this.#deps.clock.after(RETRY_RELEASE_MS, () => this.#endPrograms(effect))
      },
      (error: unknown) => {
        this.#deps.log(`release of process ${pid} failed`, error)
        this.#deps.clock.after(RETRY_RELEASE_MS, () => this.#endPrograms(effect))
      },
    )
  }

  /** Ends programs of an earlier daemon that the boot could not end. Returns the OS pids that survived. */
  async #endLeftoverPrograms(uuid: Uuid): Promise<readonly number[]> {
    const { table, containments } = this.#deps
    const { containment, handle } = table.get(uuid) ?? {}
    if (!containment) return []
    return (await containments.recover(containment, handle ?? null)).survivors
  }
}

/** The driver's permission to make a call. Any answer without one means that the incarnation or its turn is over. */
function grantOf(value: ReplyValue): CallGrant {
  if (value.type !== 'ack' || value.ack === 'ok') return { ack: 'late', reason: null }
  return value.ack === 'go'
    ? { ack: 'go', maxOutputTokens: value.maxOutputTokens ?? null }
    : { ack: value.ack, reason: value.reason ?? null }
}

function isHeld(process: Process | undefined): boolean {
  return process?.life.state === 'running' && process.life.holds.length > 0
}
