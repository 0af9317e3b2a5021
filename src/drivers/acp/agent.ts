// Runs the program of one incarnation of an ACP agent, from the handshake to the exit. Pauses, freezes and stops the agent for the daemon;
// turns.ts runs its turns. Must never report `exited` before all earlier reports were sent.
// Tests: test/processes/acp.
import { methods } from '@agentclientprotocol/sdk'
import type { ClientConnection } from '@agentclientprotocol/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpStart } from '../../kernel/model/mcp-start.ts'
import { RawLines } from '../common/raw-lines.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { Ladder, Program } from '../contain/containment-contract.ts'
import { FreezableTimers } from '../common/freezable-timers.ts'
import type { Agent, KernelPort, Launch, Message } from '../port.ts'
import type { AskingMode } from './asking-mode.ts'
import { PermissionRequests } from './permission-requests.ts'
import type { PermissionAnswer } from './permission-requests.ts'
import { capabilitiesOf, connectAgent } from './client.ts'
import { ClientFiles } from './client-files.ts'
import { PauseGate } from '../common/pause-gate.ts'
import { keepWholeSession } from './gemini-sessions.ts'
import { SessionUpdates } from './session-updates.ts'
import { describeExit } from '../common/describe-exit.ts'
import { JsonRpcLink } from './json-rpc-link.ts'
import { ModeWatch } from './mode-watch.ts'
import type { SessionHistory } from '../common/session-history.ts'
import { refusalReporter } from './refusals.ts'
import { ReportQueue } from './report-queue.ts'
import { ownServer, serversFor } from './mcp-servers.ts'
import { LoginError, NO_OWN_TOOLS, closeFailure, openSession } from './session.ts'
import type { Session } from './session.ts'
import { Terminals } from './terminals.ts'
import { AcpTurns, describeAgentError } from './turns.ts'
import type { WallClock } from '../common/wall-clock.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'

export interface AcpAgentDeps {
  readonly launch: Launch<AcpSpec>
  readonly kernel: KernelPort
  readonly program: Program
  /** the state of the process before this incarnation */
  readonly history: SessionHistory
  readonly asking: AskingMode
  /** resolves the MCP servers of the process */
  readonly servers: () => Promise<readonly McpStart[]>
  /** the time limit from the start to an open session */
  readonly handshakeMs: number
  /** the time limit from the open session to the first request for reeve's own tools */
  readonly toolsMs: number
  readonly clock: WallClock
  /** the time limit for the agent to end an interrupted turn */
  readonly cancelMs: number
}

/** Time limit for the answer to `session/close`. */
const CLOSE_MS = 1_000
/** Time limit for the exit after stdin was closed. */
const STDIN_MS = 2_000

export class AcpAgent implements Agent {
  readonly #deps: AcpAgentDeps
  readonly #reports: ReportQueue
  readonly #raw: RawLines
  readonly #link: JsonRpcLink
  readonly #connection: ClientConnection
  readonly #updates: SessionUpdates
  readonly #permissionRequests: PermissionRequests
  readonly #terminals: Terminals
  readonly #turns: AcpTurns
  readonly #gate = new PauseGate()
  readonly #timers = new FreezableTimers()
  readonly #finished: Promise<void>
  #session: Session | null = null
  #pendingSystem: string | null = null
  /** whether the agent has requested reeve's own tools */
  #hasRequestedTools = false
  #isEnding = false
  /** why the agent must not continue; null while it may continue */
  #giveUpReason: string | null = null
  #isFrozen = false

  constructor(deps: AcpAgentDeps) {
    const { launch, kernel, program, history, cancelMs } = deps
    const { spec, containment } = launch
    this.#deps = deps
    this.#reports = new ReportQueue(kernel)
    this.#terminals = new Terminals({ containment, cwd: spec.cwd, env: spec.env })
    const modes = new ModeWatch({
      connection: () => this.#connection,
      session: () => this.#session,
      asking: deps.asking,
      note: (text) => this.#reports.note(text),
      giveUp: (why) => this.#giveUp(why),
    })
    this.#updates = new SessionUpdates({
      onMode: (mode) => modes.handleMode(mode),
      history,
      reports: this.#reports,
      showLive: (event) => kernel.showLive(event),
      terminalText: (id) => this.#terminals.text(id),
    })
    const { steps } = this.#updates
    const reportRefusal = refusalReporter(this.#reports)
    this.#permissionRequests = new PermissionRequests({
      reportRefusal,
      spec,
      ownTools: (launch.ownTools?.list ?? []).map(({ name }) => name.replace(/^mcp__reeve__/, '')),
      prefix: `${launch.pid}-`,
      reports: this.#reports,
      waitUntilUnpaused: () => this.#gate.waitUntilOpen(),
      onRequest: (call) => {
        steps.handleCall(call)
        steps.flush()
        return steps.detailsOf(call.toolCallId) ?? call
      },
      onDenied: (callId) => steps.markDenied(callId),
      onChange: () => this.#reportIfDrained(),
    })
    this.#raw = new RawLines(spec.keepRaw)
    this.#link = new JsonRpcLink({
      program,
      waitForRoom: () => this.#reports.waitForRoom(),
      onMessage: (line) => this.#postAll(this.#raw.add(line)),
    })
    this.#connection = connectAgent(this.#link.stream, {
      permissionRequests: this.#permissionRequests,
      files: new ClientFiles(spec.cwd, spec, reportRefusal),
      terminals: this.#terminals,
      rules: spec,
      onUpdate: this.#updates.handleUpdate,
      reportRefusal,
    })
    this.#turns = new AcpTurns({
      connection: this.#connection,
      sessionId: () => this.#session?.id ?? '',
      argv: spec.argv,
      updates: this.#updates,
      permissionRequests: this.#permissionRequests,
      reports: this.#reports,
      gate: this.#gate,
      timers: this.#timers,
      cancelMs,
      missingToolsError: () => this.#missingToolsError(),
      onTurnEnd: () => this.#postAll(this.#raw.drain()),
      onStateChange: () => this.#reportIfDrained(),
    })
    this.#watchLaunch()
    this.#finished = this.#run()
  }

  /** Records when the agent lists reeve's own tools, and when the kernel ends the agent. */
  #watchLaunch(): void {
    const { launch, kernel } = this.#deps
    launch.ownTools?.listed.then(
      () => {
        this.#hasRequestedTools = true
      },
      () => undefined,
    )
    kernel.signal.addEventListener(
      'abort',
      () => {
        this.#isEnding = true
      },
      { once: true },
    )
  }

  deliver(message: Message): Promise<void> {
    const { launch, history } = this.#deps
    // If the message joins a turn that was cut off, the agent first gets the notice about the cut-off.
    const notice = this.#turns.takeUndelivered(message.turn) ?? (message.turn <= launch.turn ? history.resumePrompt : null)
    this.#prompt(message.turn, notice === null ? message.text : `${notice}\n\n${message.text}`)
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    this.#prompt(turn, this.#turns.takeUndelivered(turn) ?? this.#deps.history.resumePrompt)
    return Promise.resolve()
  }

  answer(answer: PermissionAnswer): Promise<void> {
    this.#permissionRequests.answer(answer)
    return Promise.resolve()
  }

  /** Asks the agent to end its turn. A frozen agent gets the request after the thaw; the time limit is suspended until then. */
  interrupt(): Promise<void> {
    return this.#turns.interrupt()
  }

  async pause(freezeNow: boolean): Promise<void> {
    this.#gate.close()
    if (!freezeNow) return this.#reportIfDrained()
    this.#isFrozen = true
    this.#timers.setFrozen(true)
    await this.#deps.launch.containment.freeze()
    if (this.#isFrozen && !this.#isEnding) await this.#reports.send({ type: 'frozen', inFlight: this.#inFlight() })
  }

  async unpause(): Promise<void> {
    await this.#thaw()
    this.#gate.open()
  }

  async stop(ladder: Ladder): Promise<void> {
    this.#isEnding = true
    const since = performance.now()
    if (ladder.signal !== 'SIGKILL' && this.#mayThaw()) {
      const stepMs = ladder.graceMs / 4
      await this.interrupt()
      await Promise.race([this.#turns.waitUntilIdle(), sleep(stepMs, undefined, { ref: false })])
      await this.#close(stepMs)
    }
    const remainingMs = Math.max(0, ladder.graceMs - (performance.now() - since))
    const { outcome, survivors } = await this.#deps.launch.containment.stop({ ...ladder, graceMs: remainingMs })
    if (outcome === 'survived') this.#reports.note(`survived the kill: OS pid ${survivors.join(', ')}`)
  }

  /** Closes the session if it can, then kills the agent once. If programs survive, the daemon reports them and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true
    this.#permissionRequests.cancel()
    if (this.#mayThaw()) await this.#close(STDIN_MS)
    const { outcome } = await this.#deps.launch.containment.dispose()
    this.#connection.close()
    if (outcome !== 'survived') await this.#finished
  }

  /** Closes the session and then stdin, waiting up to `ms` for each. The containment ends the programs that remain. */
  async #close(ms: number): Promise<void> {
    await this.#thaw()
    const session = this.#session
    if (session?.canClose === true && !this.#connection.signal.aborted) {
      const noteFailure = (error: unknown): void => this.#reports.note(closeFailure(error))
      const closed = this.#connection.agent.request(methods.agent.session.close, { sessionId: session.id }).catch(noteFailure)
      await Promise.race([closed, sleep(Math.min(ms, CLOSE_MS), undefined, { ref: false })])
    }
    this.#link.close()
    await this.#link.exitsWithin(Math.min(ms, STDIN_MS))
  }

  #prompt(turn: number, text: string): void {
    const system = this.#pendingSystem
    this.#pendingSystem = null
    this.#turns.prompt(turn, system === null ? text : `${system}\n\n${text}`)
  }

  /** Runs the agent from the handshake to its exit. Never rejects. */
  async #run(): Promise<void> {
    let needsLogin = false
    const openError = await this.#open().then(
      () => null,
      (error: unknown) => {
        needsLogin = error instanceof LoginError
        return describeAgentError(error)
      },
    )
    // After a failed handshake the program and all its descendants are killed.
    if (openError !== null && !this.#isEnding) await this.#deps.launch.containment.stop({ signal: 'SIGKILL', graceMs: 0 })
    const exit = await this.#link.exited
    this.#connection.close()
    await this.#turns.waitUntilIdle()
    if (this.#session !== null) await keepWholeSession(this.#session.id, this.#deps.launch.spec)
    this.#updates.close()
    this.#postAll(this.#raw.drain())
    const error = this.#isEnding ? null : needsLogin ? openError : this.#endReason(openError, describeExit(exit))
    if (error !== null && this.#link.tail !== '') this.#reports.post({ type: 'output', stream: 'stderr', text: this.#link.tail })
    await this.#reports.send({
      type: 'exited',
      code: exit.code,
      osSignal: exit.signal,
      ...(error === null ? {} : { error }),
      ...(needsLogin && error !== null ? { account: true } : {}),
    })
  }

  #postAll(reports: readonly Report[]): void {
    for (const report of reports) this.#reports.post(report)
  }

  /** Kills the agent and all its programs; `why` becomes the error of the process. */
  #giveUp(why: string): void {
    this.#giveUpReason ??= why
    // The disposal of the agent kills again, and reports the programs that survive.
    this.#deps.launch.containment.stop({ signal: 'SIGKILL', graceMs: 0 }).catch(() => undefined)
  }

  #endReason(openError: string | null, exitText: string): string {
    if (this.#giveUpReason !== null) return this.#giveUpReason
    const { reason, lastLine } = this.#link
    const output = lastLine === '' ? '' : `: ${lastLine}`
    if (openError !== null) return `the agent cannot be used: ${openError}${openError.includes(lastLine) ? '' : output}`
    return `the agent ended ${this.#turns.isBroken ? 'during its turn' : 'by itself'}: ${reason ?? exitText}${output}`
  }

  /** Opens the session. Errors: an `Error` with a message for the user. */
  async #open(): Promise<void> {
    const { launch, kernel, handshakeMs, program, servers, history, clock, asking } = this.#deps
    const { spec } = launch
    const note = (text: string): void => this.#reports.note(text)
    const timeout = Promise.withResolvers<never>()
    const startTimer = (): (() => void) =>
      this.#timers.start(handshakeMs, () => timeout.reject(new Error(`it was not ready within ${handshakeMs / 1_000} s`)))
    let stopTimer = startTimer()
    const sleepUntimed = async (ms: number): Promise<void> => {
      stopTimer()
      await clock.sleep(ms, kernel.signal)
      stopTimer = startTimer()
    }
    const opening = openSession({
      connection: this.#connection,
      spec,
      asking,
      sessionId: launch.sessionId,
      forkOf: launch.forkOf ?? null,
      startedAt: history.sessionAt,
      now: clock.now,
      capabilities: capabilitiesOf(spec),
      note,
      sleepUntimed,
      hasTools: async () => {
        const hasTools = await this.#hasTools()
        if (hasTools) return true
        stopTimer()
        stopTimer = startTimer()
        return false
      },
      servers: async ({ http }) => [
        ...serversFor(await servers(), launch, http, note),
        ...(await ownServer(launch, http && launch.spec.capabilities?.network !== 'off')),
      ],
    })
    try {
      this.#session = await Promise.race([opening, timeout.promise, this.#rejectOnExit()])
    } catch (error) {
      throw this.#connection.signal.aborted ? await this.#rejectOnExit().catch((exitError: unknown) => exitError) : error
    } finally {
      stopTimer()
    }
    this.#pendingSystem = this.#session.pendingSystem
    this.#updates.startSession(this.#session)
    if (this.#session.isLoaded) await this.#updates.waitForReplay()
    if (!kernel.signal.aborted) await this.#reports.send({ type: 'up', handle: program.handle, sessionId: this.#session.id })
  }

  /** Whether the agent has requested reeve's own tools in time. Also true if there are none, or if the process is ending. */
  async #hasTools(): Promise<boolean> {
    const {
      launch: { ownTools: own, sessionId, spec },
      toolsMs,
      kernel,
    } = this.#deps
    if (!own) return true
    const timeout = Promise.withResolvers<boolean>()
    const stopTimer = this.#timers.start(toolsMs, () => timeout.resolve(false))
    const hasTools = await Promise.race([own.listed.then(() => true), timeout.promise, this.#link.outputEnded.then(() => true)]).finally(
      stopTimer,
    )
    if (!hasTools && sessionId !== null) await keepWholeSession(sessionId, spec)
    return hasTools || kernel.signal.aborted
  }

  /** Returns the error of a crew member's turn without reeve's tools, because the member cannot report its work. Otherwise null. */
  #missingToolsError(): string | null {
    const { ownTools: own, spec } = this.#deps.launch
    return own && spec.member && !this.#hasRequestedTools ? `${NO_OWN_TOOLS}: a member of a crew can report nothing without them` : null
  }

  /** Waits for the end of the output and for the exit of the program, then rejects with the exit status. */
  async #rejectOnExit(): Promise<never> {
    await this.#link.outputEnded
    const exit = await this.#link.exited
    throw new Error(`it has ended: ${this.#link.reason ?? describeExit(exit)}`)
  }

  /**
   * Reports `drained` once a paused agent waits for input. Called on each possible change. At the end of a turn the kernel needs no
   * such report.
   */
  #reportIfDrained(): void {
    if (!this.#gate.isClosed || this.#isFrozen || this.#isEnding || this.#turns.state === 'idle' || !this.#isDrained()) return
    this.#reports.post({ type: 'drained' })
  }

  /** Whether the agent waits for a message or an answer while none of its tool calls runs. */
  #isDrained(): boolean {
    const { state } = this.#turns
    if (state === 'idle' || state === 'held') return true
    const { steps } = this.#updates
    const waiting = this.#permissionRequests.waitingCalls
    return state === 'requires_action' && !steps.isOpen && steps.running.every((callId) => waiting.includes(callId))
  }

  /** Whether the agent may be thawed for an orderly end. If it was frozen in the middle of a turn, a thaw would continue that turn. */
  #mayThaw(): boolean {
    return !this.#isFrozen || this.#turns.state === 'idle'
  }

  async #thaw(): Promise<void> {
    if (!this.#isFrozen) return
    this.#isFrozen = false
    await this.#deps.launch.containment.thaw()
    this.#timers.setFrozen(false)
  }

  #inFlight(): string | null {
    const { steps } = this.#updates
    if (this.#isDrained()) return null
    const calls = steps.running
    return calls.length > 0 ? `tool calls: ${calls.join(', ')}` : 'a turn of the agent'
  }
}
