// Runs one incarnation of a native agent: takes messages, runs their turns one by one, and ends when it is stopped. The kernel decides
// about the process; the agent only reports what happens, such as the end of a turn.
// Tests: test/processes/native/tool-loop.test.ts, test/processes/native/stop.test.ts.
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ladder } from '../contain/containment-contract.ts'
import type { Agent, Message } from '../port.ts'
import type { ToolCall } from './context/context.ts'
import { reservedAnswerTokens } from './context/compaction.ts'
import { runTurn } from './loop.ts'
import { PauseGate } from '../common/pause-gate.ts'
import { OpenQuestions } from './permissions/questions.ts'
import { reportDurably } from './run-context.ts'
import type { Turn, RunContext } from './run-context.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** The run context without the fields that the agent adds. */
export type NativeAgentDeps = Omit<
  RunContext,
  'endSignal' | 'isPaused' | 'pauseSignal' | 'pauseGate' | 'questions' | 'inFlight' | 'runningCalls'
>

/** The longest wait for running tool calls when the agent ends, in ms. A call on a hanging file system never ends. */
const MAX_RUNNING_CALLS_MS = 5_000

/** How long the agent waits for its MCP servers to exit. */
const LONG_WAITS = { stdinMs: 2_000, termMs: 300 } as const
const SHORT_WAITS = { stdinMs: 0, termMs: null } as const

export class NativeAgent implements Agent {
  readonly #run: RunContext
  readonly #endController = new AbortController()
  readonly #turns = new Map<Turn, AbortController>()
  /** resolves when all queued turns have ended */
  #queue: Promise<void>
  #pauseController = new AbortController()
  #exitReport: Promise<void> | null = null

  constructor(deps: NativeAgentDeps) {
    const { signal } = this.#endController
    setMaxListeners(0, signal)
    this.#run = {
      ...deps,
      endSignal: signal,
      isPaused: () => this.#pauseController.signal.aborted,
      pauseSignal: () => this.#pauseController.signal,
      pauseGate: new PauseGate(),
      questions: new OpenQuestions(deps.launch.pid),
      inFlight: new Map(),
      runningCalls: new Set(),
    }
    deps.kernel.signal.addEventListener('abort', this.#abort, { once: true })
    if (deps.kernel.signal.aborted) this.#abort()
    // A stop does not wait until this report is on disk: a full disk must not keep the agent alive.
    this.#queue = reportDurably(this.#run, { type: 'up', window: deps.model.window, answer: reservedAnswerTokens(deps.model) }).then(
      () => undefined,
      (defect: unknown) => this.#endAfterDefect(defect),
    )
  }

  deliver(message: Message): Promise<void> {
    const { context } = this.#run
    if (this.#hasTurn(message.turn)) context.takeMessage(message.id, message.text)
    else
      this.#queueTurn(message.turn, () => {
        context.takeMessage(message.id, message.text)
        return []
      })
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    if (!this.#hasTurn(turn)) this.#queueTurn(turn, () => this.#interruptUnrepeatable())
    return Promise.resolve()
  }

  interrupt(): Promise<void> {
    for (const controller of this.#turns.values()) controller.abort()
    return Promise.resolve()
  }

  answer({ id, option, text }: { readonly id: string; readonly option: string | null; readonly text: string | null }): Promise<void> {
    this.#run.questions.answer(id, { option, text })
    return Promise.resolve()
  }

  async pause(freezeNow: boolean): Promise<void> {
    this.#run.pauseGate.close()
    this.#pauseController.abort()
    if (!freezeNow) return
    const { launch, timers, inFlight, kernel } = this.#run
    timers.setFrozen(true)
    await launch.containment.freeze()
    if (this.#endController.signal.aborted) return
    await kernel.report({ type: 'frozen', inFlight: inFlight.size === 0 ? null : [...inFlight.values()].join('; ') })
  }

  async unpause(): Promise<void> {
    if (this.#pauseController.signal.aborted) this.#pauseController = new AbortController()
    this.#run.pauseGate.open()
    await this.#run.launch.containment.thaw()
    this.#run.timers.setFrozen(false)
  }

  /** Stops the agent. Resolves when its programs have ended; the ladder sets the time limits. */
  async stop(ladder: Ladder): Promise<void> {
    this.#abort()
    await this.#run.launch.containment.stop(await this.#closeTools(ladder))
    await this.#queue
    await this.#reportExited()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort()
    await this.#run.toolbox.close(this.#run.timers.isFrozen ? SHORT_WAITS : LONG_WAITS)
    await this.#run.launch.containment.dispose()
    await this.#queue
    // Waits for running calls: a write must be complete, and must not happen while the next incarnation runs.
    const { runningCalls } = this.#run
    if (runningCalls.size > 0) await Promise.race([Promise.all(runningCalls), sleep(MAX_RUNNING_CALLS_MS, undefined, { ref: false })])
  }

  /** Closes the MCP servers, which have half of the grace period to exit. Returns the ladder with the remaining grace period. */
  async #closeTools(ladder: Ladder): Promise<Ladder> {
    const { toolbox, timers } = this.#run
    const startedAt = performance.now()
    const canWait = ladder.signal !== 'SIGKILL' && !timers.isFrozen
    await toolbox.close(canWait ? { stdinMs: Math.min(LONG_WAITS.stdinMs, ladder.graceMs / 2), termMs: null } : SHORT_WAITS)
    return { ...ladder, graceMs: Math.max(0, ladder.graceMs - (performance.now() - startedAt)) }
  }

  #hasTurn(id: number): boolean {
    return [...this.#turns.keys()].some((turn) => turn.id === id)
  }

  #queueTurn(id: number, openCalls: () => readonly ToolCall[]): void {
    if (this.#endController.signal.aborted) return
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const turn: Turn = { id, signal: controller.signal, lastText: '' }
    this.#turns.set(turn, controller)
    this.#queue = this.#queue
      .then(() => runTurn(this.#run, turn, openCalls()))
      .catch((defect: unknown) => this.#endAfterDefect(defect))
      .finally(() => this.#turns.delete(turn))
  }

  /**
   * Returns the open calls that may run again. All other open calls get the outcome `interrupted`, because their real outcome is unknown.
   */
  #interruptUnrepeatable(): readonly ToolCall[] {
    const { context, launch } = this.#run
    const repeatable = new Set(launch.openCalls.map((call) => call.callId))
    const { openCalls } = context
    for (const { callId, name } of openCalls) {
      if (!repeatable.has(callId)) context.addResult({ callId, name, outcome: 'interrupted', content: '' })
    }
    return openCalls.filter((call) => repeatable.has(call.callId))
  }

  readonly #abort = (): void => {
    this.#run.kernel.signal.removeEventListener('abort', this.#abort)
    this.#endController.abort()
    for (const controller of this.#turns.values()) controller.abort()
  }

  /** Ends the incarnation after a defect of reeve, or when the kernel accepts no more reports. */
  async #endAfterDefect(defect: unknown): Promise<void> {
    const wasEnding = this.#endController.signal.aborted
    this.#abort()
    if (!wasEnding) await this.#reportExited(errorText(defect))
  }

  #reportExited(error?: string): Promise<void> {
    const report = { type: 'exited', code: null, osSignal: null, ...(error === undefined ? {} : { error }) } as const
    return (this.#exitReport ??= this.#run.kernel.report(report).then(
      () => undefined,
      () => undefined,
    ))
  }
}
