// Runs one incarnation: starts its agent with a driver in a containment, passes requests to the agent, and releases everything at the end.
// The order of the requests is that of the effects, even while the agent is still starting. Knows no state of the process: it sends reports
// to the pipeline. Test: test/tables/daemon/incarnation/incarnation.test.ts, test/e2e/daemon/api-processes.test.ts.
import { raceAbort } from '../../drivers/common/race-abort.ts'
import { mkdir, rm } from 'node:fs/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import { findStoppedMember, findStoppedProgram } from '../../drivers/contain/proc/find-stopped.ts'
import { withInstallHint } from './check-installed.ts'
import { StartFreeze } from './start-freeze.ts'
import type { Agent, Driver, KernelPort, Launch } from '../../drivers/port.ts'
import type { OpenGateway } from './gateway-sessions.ts'
import type { IncarnationWorktree } from '../../drivers/git/incarnation-worktree.ts'
import type { Containment, Ladder } from '../../drivers/contain/containment-contract.ts'
import type { Ack, Report } from '../../kernel/model/reports.ts'
import type { OsHandle } from '../../kernel/model/process.ts'

export interface IncarnationDeps {
  readonly driver: Driver
  readonly launch: Omit<Launch, 'containment'>
  readonly openContainment: () => Promise<Containment>
  readonly report: (report: Report) => Promise<Ack>
  readonly requestCall: KernelPort['requestCall']
  /** the worktree of the process; null if it has none */
  readonly worktree: Pick<IncarnationWorktree, 'prepare' | 'send' | 'sendInOrder' | 'abandon' | 'close'> | null
  /** opens the access to the gateway; absent if the agent calls its models directly */
  readonly openGateway?: ((port: KernelPort) => Promise<OpenGateway>) | undefined
  /** called at the release, when the agent has ended */
  readonly onReleased?: () => void
  /** true while the process has a hold */
  readonly isHeld: () => boolean
  readonly showLive: KernelPort['showLive']
  readonly log: (message: string, error: unknown) => void
}

export class Incarnation {
  readonly #deps: IncarnationDeps
  readonly #abort = new AbortController()
  readonly #startFreeze: StartFreeze
  /** the started agent; null if its start failed */
  readonly #agent: Promise<Agent | null>
  /** resolves when the agent has started and all requests so far can be passed on */
  #lastRequest: Promise<void> = Promise.resolve()
  #containment: Containment | null = null
  #gateway: OpenGateway | null = null
  /** resolves when the last hold is gone; callers of `#waitWhileHeld` wait for it */
  #holdsEnded = Promise.withResolvers<void>()

  constructor(deps: IncarnationDeps) {
    this.#deps = deps
    this.#startFreeze = new StartFreeze({
      reportFrozen: () => deps.report({ type: 'frozen', inFlight: null }),
      log: (message, error) => deps.log(`process ${deps.launch.pid}: ${message}`, error),
    })
    this.#agent = this.#start()
  }

  get pid(): number {
    return this.#deps.launch.pid
  }

  /** Passes a request to the agent when it has started. Errors are logged with the name of the request. */
  request(name: string, perform: (agent: Agent) => Promise<void>): void {
    this.requestWith(name, () => Promise.resolve(), perform)
  }

  /** Like `request`, for a request that first fetches data. Later requests wait for the fetch, but not for the agent's answer. */
  requestWith<T>(name: string, fetch: () => Promise<T>, perform: (agent: Agent, fetched: T) => Promise<void>): void {
    const ready = this.#lastRequest.then(async () => ({ agent: await this.#agent, fetched: await fetch() }))
    this.#lastRequest = ready.then(
      () => undefined,
      () => undefined,
    )
    ready
      .then(({ agent, fetched }) => agent && perform(agent, fetched))
      .catch((error: unknown) => {
        if (!this.#abort.signal.aborted) this.#deps.log(`${name} of process ${this.pid} failed`, error)
      })
  }

  /** Applies a new hold: pauses the agent, or freezes the programs of an agent that is still starting. */
  pause(freeze: boolean): void {
    const isInForce = this.#startFreeze.pause(freeze)
    this.request('pause', (agent) => (isInForce() ? agent.pause(freeze) : Promise.resolve()))
  }

  /** Stops the agent. If the stop ends in a kill, the kernel gets the report of the kill before the exit report. */
  stop({ signal, graceMs }: Pick<Ladder, 'signal' | 'graceMs'>): void {
    // A file record in progress would delay the end. The next incarnation begins with a new record.
    this.#deps.worktree?.abandon()
    this.#startFreeze.cancel()
    const since = performance.now()
    const onKill = (): void => {
      if (signal === 'SIGKILL') return
      const afterMs = Math.round(performance.now() - since)
      this.#deps
        .report({ type: 'escalated', from: signal, afterMs })
        .catch((error: unknown) => this.#deps.log('the kill was not reported', error))
    }
    this.request('stop', (agent) => agent.stop({ signal, graceMs, onKill }))
  }

  /** Must be called at the end of the last hold: the callers that wait for it continue, and the agent is unpaused. */
  unpause(): void {
    this.#holdsEnded.resolve()
    this.#holdsEnded = Promise.withResolvers()
    this.#startFreeze.unpause()
    // An agent that is still starting has received no pause: `#startFreeze` has frozen and thawed it.
    if (this.#startFreeze.isAgentStarted) this.request('unpause', (agent) => agent.unpause())
  }

  /**
   * Returns the OS pid of a program that a signal has stopped, or null. Checks the program of `handle` and those that it started; without a
   * handle, checks all programs.
   */
  async findStopped(handle: OsHandle | null): Promise<number | null> {
    if (handle !== null) return findStoppedProgram(handle, this.#deps.launch.intent.kind === 'pidns')
    return findStoppedMember((await this.#containment?.members()) ?? [])
  }

  /** Cancels all running work; idempotent. */
  cancel(): void {
    this.#deps.worktree?.abandon()
    this.#abort.abort()
    this.#startFreeze.cancel()
  }

  /** Waits for the agent's end, ends all programs and removes the temporary files. Returns the OS pids that survived. */
  async release(): Promise<readonly number[]> {
    // Requests before the release are passed on first.
    await this.#lastRequest
    const agent = await this.#agent
    await agent?.[Symbol.asyncDispose]()
    this.#gateway?.close()
    this.#deps.onReleased?.()
    await this.#deps.worktree?.close()
    const end = await this.#containment?.dispose()
    if (end && end.survivors.length > 0) return end.survivors
    await rm(this.#deps.launch.tmpDir, { recursive: true, force: true, maxRetries: 2 })
    return []
  }

  /** Starts the agent; null if it cannot start, which is then reported as its exit. */
  async #start(): Promise<Agent | null> {
    const { driver, launch, worktree, openContainment, openGateway } = this.#deps
    try {
      await mkdir(launch.tmpDir, { recursive: true, mode: 0o700 })
      await worktree?.prepare()
      this.#containment = await openContainment()
      this.#startFreeze.setContainment(this.#containment)
      const port = this.#kernelPort()
      this.#gateway = (await openGateway?.(port)) ?? null
      await this.#startFreeze.waitUntilAllowed()
      const agent = await driver.start(
        { ...launch, containment: this.#containment, ...(this.#gateway ? { gateway: this.#gateway } : {}) },
        port,
      )
      this.#startFreeze.markStarted()
      return agent
    } catch (error) {
      await this.#reportFailedStart(error)
      return null
    }
  }

  /** Reports a failed start as the exit of the incarnation. */
  async #reportFailedStart(thrown: unknown): Promise<void> {
    const error = withInstallHint(thrown)
    const { report, log } = this.#deps
    const message =
      error instanceof KernelError && error !== thrown
        ? `${error.message}. ${error.hint}`
        : error instanceof Error
          ? error.message
          : String(error)
    const code = error instanceof KernelError ? startCode(error) : 1
    // A stop during the start is not an error.
    const isAborted = error instanceof Error && error.name === 'AbortError'
    if (!(error instanceof KernelError) && !isAborted) log(`driver of process ${this.pid} cannot start`, error)
    await report({ type: 'exited', code, osSignal: null, error: message }).catch((failure: unknown) => {
      // The exit report of a cancelled incarnation is not needed, and a stopping daemon accepts none.
      if (!this.#abort.signal.aborted) log('the exit was not reported', failure)
    })
  }

  /** The connection of the agent to the kernel. With a worktree, reports and calls pass through it, in the order of its file records. */
  #kernelPort(): KernelPort {
    const { report: reportDirectly, requestCall: requestDirectly, worktree, showLive } = this.#deps
    const report: KernelPort['report'] = worktree ? (message) => worktree.send(message) : reportDirectly
    const requestCall: KernelPort['requestCall'] = worktree
      ? (callRequest) => worktree.sendInOrder(callRequest, () => requestDirectly(callRequest))
      : requestDirectly
    return {
      report,
      requestCall,
      showLive,
      signal: this.#abort.signal,
      waitUntilUnpaused: (isDrained) => this.#waitWhileHeld(isDrained),
    }
  }

  /**
   * Resolves when the process has no hold. While it waits, it reports `drained` if `isDrained` returns true.
   * Errors: an AbortError when the incarnation is cancelled.
   */
  async #waitWhileHeld(isDrained = () => true): Promise<void> {
    const { signal } = this.#abort
    // Earlier requests reach the agent before it waits.
    await this.#lastRequest
    signal.throwIfAborted()
    while (this.#deps.isHeld()) {
      // Read before the report, so that the end of the hold during the report is not missed.
      const unheld = this.#holdsEnded.promise
      if (isDrained()) await raceAbort(this.#deps.report({ type: 'drained' }), signal)
      if (!this.#deps.isHeld()) return
      await raceAbort(unheld, signal)
    }
  }
}

/** The exit code of a failed start: 127 and 126 as in a shell, else 1. */
function startCode(error: KernelError): number {
  if (error.code === 'COMMAND_NOT_FOUND') return 127
  return error.code === 'NOT_RUNNABLE' ? 126 : 1
}
