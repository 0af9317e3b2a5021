// One incarnation as the daemon runs it: its driver's agent, its containment, its gate.
// Owns the order of what is asked of an agent (in the order of the effects, also while it is still starting) and the
// release at its end. Knows no state: what it learns goes to the pipeline. Test: test/tables/incarnation.test.ts, test/e2e/api-life.test.ts.
import { mkdir, rm } from 'node:fs/promises'
import { KernelError } from '../kernel/errors.ts'
import { stoppedAmong, stoppedBelow } from '../drivers/contain/stopped.ts'
import { withInstall } from './installed.ts'
import { Standstill } from './standstill.ts'
import type { Agent, Driver, KernelPort, Launch } from '../drivers/port.ts'
import type { OpenGateway } from './gateways.ts'
import type { RunFiles } from '../drivers/files/run-files.ts'
import type { Containment, Ladder } from '../drivers/contain/contain.ts'
import type { Ack, Report } from '../kernel/reports.ts'
import type { OsHandle } from '../kernel/types.ts'

export interface IncarnationParts {
  readonly driver: Driver
  readonly launch: Omit<Launch, 'containment'>
  readonly open: () => Promise<Containment>
  readonly report: (report: Report) => Promise<Ack>
  readonly begin: KernelPort['begin']
  /** its worktree; null if it has none of its own */
  readonly files: Pick<RunFiles, 'begin' | 'pass' | 'inOrder' | 'abandon' | 'close'> | null
  /** its seat at the gateway; absent: it calls its models itself */
  readonly gateway?: ((port: KernelPort) => Promise<OpenGateway>) | undefined
  /** called when nothing of it is left */
  readonly ended?: () => void
  readonly isHeld: () => boolean
  readonly live: KernelPort['live']
  readonly log: (message: string, error: unknown) => void
}

export class Incarnation {
  readonly #parts: IncarnationParts
  readonly #abort = new AbortController()
  readonly #standstill: Standstill
  readonly #started: Promise<Agent | null>
  #order: Promise<void> = Promise.resolve()
  #containment: Containment | null = null
  #gateway: OpenGateway | null = null
  #gate = Promise.withResolvers<void>()

  constructor(parts: IncarnationParts) {
    this.#parts = parts
    this.#standstill = new Standstill({
      frozen: () => parts.report({ type: 'frozen', inFlight: null }),
      log: (message, error) => parts.log(`process ${parts.launch.pid}: ${message}`, error),
    })
    this.#started = this.#start()
  }

  get pid(): number {
    return this.#parts.launch.pid
  }

  /** Asks the agent, once it is there; what fails is logged, as the agent tells the rest by its reports. */
  ask(what: string, how: (agent: Agent) => Promise<void>): void {
    this.askWith(what, () => Promise.resolve(), how)
  }

  /** The same with something that must be fetched first. What is asked later waits for that, but not for the agent's answer. */
  askWith<T>(what: string, fetch: () => Promise<T>, how: (agent: Agent, fetched: T) => Promise<void>): void {
    const turn = this.#order.then(async () => ({ agent: await this.#started, fetched: await fetch() }))
    this.#order = turn.then(() => undefined, () => undefined)
    turn
      .then(({ agent, fetched }) => agent && how(agent, fetched))
      .catch((error: unknown) => {
        if (!this.#abort.signal.aborted) this.#parts.log(`${what} of process ${this.pid} failed`, error)
      })
  }

  /** A hold was added. An agent that is up is told; what still begins heeds it by itself. */
  pause(freeze: boolean): void {
    const isStill = this.#standstill.pause(freeze)
    this.ask('pause', (agent) => (isStill() ? agent.pause(freeze) : Promise.resolve()))
  }

  /** The kernel hears of a kill before it can hear of the end that it makes. */
  stop({ signal, graceMs }: Pick<Ladder, 'signal' | 'graceMs'>): void {
    // What is being recorded would keep it: the next incarnation begins with a record.
    this.#parts.files?.abandon()
    this.#standstill.end()
    const since = performance.now()
    const onKill = (): void => {
      if (signal === 'SIGKILL') return
      const afterMs = Math.round(performance.now() - since)
      this.#parts.report({ type: 'escalated', from: signal, afterMs }).catch((late: unknown) => this.#parts.log('the kill was not reported', late))
    }
    this.ask('stop', (agent) => agent.stop({ signal, graceMs, onKill }))
  }

  /** The last hold is gone: who waits at the gate goes on. */
  unpause(): void {
    this.#gate.resolve()
    this.#gate = Promise.withResolvers()
    this.#standstill.unpause()
    // Of what was before, an agent that comes later is not told.
    if (this.#standstill.isUp) this.ask('unpause', (agent) => agent.unpause())
  }

  /** The PID of a program that somebody has stopped: of the main one, or else of all that run. */
  async stopped(handle: OsHandle | null): Promise<number | null> {
    if (handle !== null) return stoppedBelow(handle, this.#parts.launch.intent.kind === 'pidns')
    return stoppedAmong((await this.#containment?.members()) ?? [])
  }

  /** Cancels what runs in it; idempotent. */
  cancel(): void {
    this.#parts.files?.abandon()
    this.#abort.abort()
    this.#standstill.end()
  }

  /** Waits for the driver, empties the containment, removes the temporary files. Gives the PIDs that survived. */
  async release(): Promise<readonly number[]> {
    // What was asked before is asked before: an agent that is gone is asked nothing.
    await this.#order
    const agent = await this.#started
    await agent?.[Symbol.asyncDispose]()
    this.#gateway?.close()
    this.#parts.ended?.()
    await this.#parts.files?.close()
    const result = await this.#containment?.dispose()
    if (result && result.survivors.length > 0) return result.survivors
    await rm(this.#parts.launch.tmpDir, { recursive: true, force: true, maxRetries: 2 })
    return []
  }

  async #start(): Promise<Agent | null> {
    const { driver, launch, open } = this.#parts
    try {
      await mkdir(launch.tmpDir, { recursive: true, mode: 0o700 })
      await this.#parts.files?.begin()
      this.#containment = await open()
      this.#standstill.own(this.#containment)
      const port = this.#port()
      this.#gateway = (await this.#parts.gateway?.(port)) ?? null
      await this.#standstill.clear()
      const agent = await driver.start({ ...launch, containment: this.#containment, ...(this.#gateway ? { gateway: this.#gateway } : {}) }, port)
      this.#standstill.up()
      return agent
    } catch (error) {
      await this.#cannotStart(error)
      return null
    }
  }

  async #cannotStart(thrown: unknown): Promise<void> {
    const error = withInstall(thrown)
    const { report, log } = this.#parts
    const message = error instanceof KernelError && error !== thrown ? `${error.message}. ${error.hint}` : error instanceof Error ? error.message : String(error)
    const code = error instanceof KernelError ? startCode(error) : 1
    if (!(error instanceof KernelError)) log(`driver of process ${this.pid} cannot start`, error)
    await report({ type: 'exited', code, osSignal: null, error: message }).catch((late: unknown) => {
      // Nobody waits for the word of one that is cancelled, and a daemon that stops hears none.
      if (!this.#abort.signal.aborted) log('exit not reported', late)
    })
  }

  #port(): KernelPort {
    const { report: say, begin: ask, files, live } = this.#parts
    const report: KernelPort['report'] = files ? (said) => files.pass(said) : say
    const begin: KernelPort['begin'] = files ? (asking) => files.inOrder(asking, () => ask(asking)) : ask
    return { report, begin, live, signal: this.#abort.signal, clear: (isStill) => this.#clear(isStill) }
  }

  async #clear(isStill = () => true): Promise<void> {
    const { signal } = this.#abort
    // Who was told to wait is given first what it was told to wait for.
    await this.#order
    signal.throwIfAborted()
    if (!this.#parts.isHeld()) return
    const aborted = Promise.withResolvers<never>()
    const onAbort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      while (this.#parts.isHeld()) {
        const open = this.#gate.promise
        if (isStill()) await Promise.race([this.#parts.report({ type: 'drained' }), aborted.promise])
        if (!this.#parts.isHeld()) return
        await Promise.race([open, aborted.promise])
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      aborted.promise.catch(() => undefined)
    }
  }
}

function startCode(error: KernelError): number {
  if (error.code === 'COMMAND_NOT_FOUND') return 127
  return error.code === 'NOT_RUNNABLE' ? 126 : 1
}
