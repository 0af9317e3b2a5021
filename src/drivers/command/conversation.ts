// A conversation with an agent whose program answers one prompt and exits. Each turn runs one program: the first begins a session, and each
// later one resumes it. Guarantees that no turn begins during a pause. Background processes of a program stay until the conversation ends.
// Reports `exited` only after a request to end, or if its start cannot be recorded.
// Tests: test/processes/command/conversation.test.ts, test/e2e/external/conversation.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { UserPrices } from '../native/models/prices.ts'
import { CUT_OFF_PROMPT, type SessionHistory } from '../common/session-history.ts'
import { PauseGate } from '../common/pause-gate.ts'
import { FreezableTimers } from '../common/freezable-timers.ts'
import type { Ladder, Program } from '../contain/containment-contract.ts'
import type { Agent, KernelPort, Launch, Message } from '../port.ts'
import { openAgentOutput } from './agent-output.ts'
import type { AgentOutput, ResumePoint } from './agent-output.ts'
import { turnReports } from './exit-cause.ts'
import { prepareAgentStart, followProgram, type SendReports } from './agent-program.ts'
import type { KnownCommand } from './formats/formats.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import type { CommandSpec } from '../../kernel/model/process-spec.ts'

/**
 * Precedes the message of a cut-off turn without a recorded step. The agent may still have worked on it, because only whole steps
 * are recorded.
 */
const MAYBE_BEGUN_PROMPT = 'Your last turn was cut off. You may have begun the following message: check before you repeat anything.'

/** The maximum length of one argument on Linux, including its NUL byte. */
const ARGUMENT_BYTES = 128 * 1024

export interface ConversationDeps {
  readonly launch: Launch<CommandSpec>
  readonly kernel: KernelPort
  readonly known: KnownCommand
  /** the state from which the first program continues */
  readonly resumePoint: ResumePoint
  readonly history: Pick<SessionHistory, 'resumePrompt'>
  readonly send: SendReports
  readonly prices: UserPrices | undefined
  /** how long a program may take to end after its turn was interrupted, in ms */
  readonly cancelMs: number
  /** how long a program may be silent after its result before it is ended, in ms */
  readonly silentMs: number | undefined
}

interface Turn {
  readonly id: number
  readonly text: string
  readonly cancelled: PromiseWithResolvers<void>
  isCancelled: boolean
  /** whether the turn's program has reported a step */
  hasBegun: boolean
  program: Program | null
}

export class Conversation implements Agent {
  readonly #deps: ConversationDeps
  readonly #gate = new PauseGate()
  readonly #timers = new FreezableTimers()
  readonly #upReported: Promise<void>
  #resumePoint: ResumePoint
  #turn: Turn | null = null
  /** the last turn; kept after its end */
  #lastTurn: Turn | null = null
  #queue: Promise<void>
  #isEnding = false
  #isFrozen = false
  #exitReport: Promise<void> | null = null

  constructor(deps: ConversationDeps) {
    this.#deps = deps
    this.#resumePoint = deps.resumePoint
    deps.kernel.signal.addEventListener('abort', () => this.#markEnding(), { once: true })
    this.#upReported = this.#reportUp()
    this.#queue = this.#upReported
  }

  deliver({ turn, text }: Message): Promise<void> {
    // If the message joins a turn that was cut off, the agent first gets the notice about the cut-off.
    const notice = this.#continuationOf(turn)
    this.#queueTurn(turn, notice === null ? text : `${notice}\n\n${text}`)
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    this.#queueTurn(turn, this.#continuationOf(turn) ?? CUT_OFF_PROMPT)
    return Promise.resolve()
  }

  /** Ends the running turn. A frozen program gets the signal after the thaw; the time limit is suspended until then. */
  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (turn === null || turn.isCancelled) return
    turn.isCancelled = true
    turn.cancelled.resolve()
    if (turn.program !== null) this.#cancel(turn.program)
  }

  /** Freezes the programs, because they have no safe point at which to pause. */
  async pause(): Promise<void> {
    this.#isFrozen = true
    this.#gate.close()
    this.#timers.setFrozen(true)
    await this.#deps.launch.containment.freeze()
    if (this.#isFrozen && !this.#isEnding)
      await this.#deps.kernel.report({ type: 'frozen', inFlight: this.#turn?.program ? 'a turn of the agent' : null })
  }

  async unpause(): Promise<void> {
    if (!this.#isFrozen) return
    this.#isFrozen = false
    await this.#deps.launch.containment.thaw()
    this.#timers.setFrozen(false)
    this.#gate.open()
  }

  async stop(ladder: Ladder): Promise<void> {
    this.#markEnding()
    const { outcome, survivors } = await this.#deps.launch.containment.stop(ladder)
    if (outcome === 'survived') await this.#report({ type: 'note', text: `survived the kill: OS pid ${survivors.join(', ')}` })
    this.#exitReport ??= this.#reportExit(null)
    await this.#exitReport
  }

  /** Kills the programs once; if some survive, the daemon reports them and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#markEnding()
    const { outcome } = await this.#deps.launch.containment.dispose()
    if (outcome !== 'survived') await this.#queue
  }

  /** Returns the prompt that continues an earlier turn, or the turn's message again if no step was recorded. Null for a new turn. */
  #continuationOf(turn: number): string | null {
    const { launch, history } = this.#deps
    const last = this.#lastTurn
    if (last?.id === turn) return last.hasBegun && this.#resumePoint.sessionId !== null ? CUT_OFF_PROMPT : last.text
    if (turn > launch.turn) return null
    return history.resumePrompt === CUT_OFF_PROMPT ? CUT_OFF_PROMPT : `${MAYBE_BEGUN_PROMPT}\n\n${history.resumePrompt}`
  }

  #queueTurn(id: number, text: string): void {
    const turn: Turn = { id, text, cancelled: Promise.withResolvers(), isCancelled: false, hasBegun: false, program: null }
    this.#turn = this.#lastTurn = turn
    this.#queue = this.#queue.then(() => this.#run(turn))
  }

  /** Reports `up`. If the start cannot be recorded, the conversation ends: an unrecorded process must not run. */
  async #reportUp(): Promise<void> {
    try {
      await this.#deps.kernel.report({ type: 'up' })
    } catch (error) {
      this.#markEnding()
      this.#exitReport ??= this.#reportExit(describeError(error))
    }
  }

  /** Runs a turn. If its program could not start, reports the end of the turn with the reason. Never rejects. */
  async #run(turn: Turn): Promise<void> {
    if (this.#isEnding) return
    const startError = await this.#runProgram(turn).then(() => null, describeError)
    if (this.#turn === turn) this.#turn = null
    if (startError === null || this.#isEnding) return
    await this.#report(
      turn.isCancelled ? interruptedReport(turn) : { type: 'turn.ended', turn: turn.id, outcome: 'error', error: startError },
    )
  }

  /** Runs the turn's program to its exit, and reports the end of the turn. Errors: those of a failed start. */
  async #runProgram(turn: Turn): Promise<void> {
    const { launch, known, send } = this.#deps
    const started = await prepareAgentStart(launch, known, this.#argv(turn.text))
    while (this.#gate.isClosed && !turn.isCancelled && !this.#isEnding)
      await Promise.race([this.#gate.waitUntilOpen(), turn.cancelled.promise])
    if (this.#isEnding) return
    if (turn.isCancelled) return this.#report(interruptedReport(turn))
    const output = this.#openOutput(turn)
    turn.program = await launch.containment.spawn({ ...started, cwd: launch.spec.cwd, stdin: 'null' })
    // The end or an interruption may have been requested while the program started.
    if (this.#isEnding) turn.program.signal('SIGKILL')
    else if (turn.isCancelled) this.#cancel(turn.program)
    const exit = await followProgram({ program: turn.program, output, send, timers: this.#timers, silentMs: this.#deps.silentMs })
    // A report is rejected only if the process no longer exists.
    await output.reportEnd(exit).catch(() => 'late')
    this.#resumePoint = output.resumePoint
  }

  #openOutput(turn: Turn): AgentOutput {
    const { launch, known, prices, send } = this.#deps
    return openAgentOutput(
      {
        known,
        prices,
        turn: turn.id,
        keepRaw: launch.spec.keepRaw,
        forkOf: this.#resumePoint.sessionId === null ? launch.forkOf : undefined,
        endReports: (format, ended) => {
          if (this.#isEnding) return []
          return turn.isCancelled ? [interruptedReport(turn)] : turnReports(format, ended)
        },
        send: (reports) => {
          turn.hasBegun ||= reports.some(({ type }) => type === 'model.started')
          return send(reports)
        },
      },
      this.#resumePoint,
    )
  }

  /** Returns the command line for a prompt. Errors: INVALID, NOT_RESUMABLE. */
  #argv(text: string): readonly string[] {
    const {
      known: { format, command },
      launch: { spec, forkOf },
    } = this.#deps
    const { sessionId } = this.#resumePoint
    // The role prompt precedes the first prompt of a new session.
    const isNew = sessionId === null && forkOf === undefined
    const prompt = isNew && spec.system !== null ? `${spec.system}\n\n${text}` : text
    if (Buffer.byteLength(prompt) >= ARGUMENT_BYTES - 1024)
      throw new KernelError('INVALID', `the prompt is longer than a command line allows (${ARGUMENT_BYTES / 1024} KiB)`)
    if (sessionId !== null) return [...command.program, ...format.resume(command, sessionId, prompt)]
    if (forkOf === undefined) return [...command.program, ...format.start(command, prompt)]
    if (format.fork === null) throw new KernelError('NOT_RESUMABLE', `${format.title} cannot fork its sessions`)
    return [...command.program, ...format.fork(command, forkOf, prompt)]
  }

  #cancel(program: Program): void {
    program.signal('SIGINT')
    const stopTimer = this.#timers.start(this.#deps.cancelMs, () => program.signal('SIGKILL'))
    program.exited.then(stopTimer, stopTimer)
  }

  #markEnding(): void {
    this.#isEnding = true
    this.#turn?.cancelled.resolve()
  }

  /** Reports the exit, after all reports of the last program. */
  async #reportExit(error: string | null): Promise<void> {
    if (error === null) await this.#queue
    await this.#report({ type: 'exited', code: error === null ? 0 : 1, osSignal: null, ...(error === null ? {} : { error }) })
  }

  /** Sends a report. Does nothing if the kernel accepts no more reports. */
  async #report(report: Report): Promise<void> {
    // A report is rejected only if the process no longer exists.
    await this.#deps.kernel.report(report).catch(() => 'late')
  }
}

function interruptedReport({ id }: Turn): Report {
  return { type: 'turn.ended', turn: id, outcome: 'interrupted' }
}

function describeError(error: unknown): string {
  if (error instanceof KernelError && error.code === 'COMMAND_NOT_FOUND') return `${error.message}. ${error.hint}`
  return errorText(error)
}
