// One incarnation of a native agent: takes messages, runs their turns one after another, and ends when told to.
// Owns what of the loop is alive. It decides nothing about the process: that a turn or the agent has ended is reported.
// Tests: test/e2e/native.test.ts, test/e2e/native-stop.test.ts.
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ladder } from '../contain/contain.ts'
import type { Agent, Message } from '../port.ts'
import type { ToolCall } from './context.ts'
import { runTurn } from './loop.ts'
import { say } from './work.ts'
import type { Turn, Work } from './work.ts'

/** What the agent adds to the work by itself. */
export type AgentParts = Omit<Work, 'ending' | 'isPaused' | 'pausing' | 'inFlight' | 'running'>

/** How long calls that have begun may take to end with their agent: a file system that hangs keeps nobody for ever. */
const LAST_CALLS_MS = 5_000

/** What holds tools has so long to end by itself, and then after SIGTERM. */
const PATIENT = { stdinMs: 2_000, termMs: 300 } as const
const IMPATIENT = { stdinMs: 0, termMs: null } as const

export class NativeAgent implements Agent {
  readonly #work: Work
  readonly #ending = new AbortController()
  readonly #turns = new Map<Turn, AbortController>()
  #tail: Promise<void>
  #pausing = new AbortController()
  #exited: Promise<void> | null = null

  constructor(parts: AgentParts) {
    const { signal } = this.#ending
    setMaxListeners(0, signal)
    this.#work = { ...parts, ending: signal, isPaused: () => this.#pausing.signal.aborted, pausing: () => this.#pausing.signal, inFlight: new Map(), running: new Set() }
    parts.kernel.signal.addEventListener('abort', this.#end, { once: true })
    if (parts.kernel.signal.aborted) this.#end()
    // Nobody waits for this to be on disk before it can be stopped: a full disk must not keep it alive.
    this.#tail = say(this.#work, { type: 'up', window: parts.model.window }).then(() => undefined, (defect: unknown) => this.#break(defect))
  }

  deliver(message: Message): Promise<void> {
    const { context } = this.#work
    if (this.#isOpen(message.turn)) context.incoming(message.id, message.text)
    else this.#begin(message.turn, () => {
      context.incoming(message.id, message.text)
      return []
    })
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    if (!this.#isOpen(turn)) this.#begin(turn, () => this.#leftOpen())
    return Promise.resolve()
  }

  interrupt(): Promise<void> {
    for (const controller of this.#turns.values()) controller.abort()
    return Promise.resolve()
  }

  async pause(now: boolean): Promise<void> {
    this.#pausing.abort()
    if (!now) return
    const { launch, freezer, inFlight, kernel } = this.#work
    freezer.set(true)
    await launch.containment.freeze()
    if (this.#ending.signal.aborted) return
    await kernel.report({ type: 'frozen', inFlight: inFlight.size === 0 ? null : [...inFlight.values()].join('; ') })
  }

  async unpause(): Promise<void> {
    if (this.#pausing.signal.aborted) this.#pausing = new AbortController()
    await this.#work.launch.containment.thaw()
    this.#work.freezer.set(false)
  }

  /** Waits until its programs have ended; how patiently is the ladder's business. */
  async stop(ladder: Ladder): Promise<void> {
    this.#end()
    await this.#work.launch.containment.stop(await this.#closeTools(ladder))
    await this.#tail
    await this.#sayExited()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end()
    await this.#work.toolbox.close(this.#work.freezer.frozen ? IMPATIENT : PATIENT)
    await this.#work.launch.containment.dispose()
    await this.#tail
    // A write that has begun is not cut off in the middle, and must not end under the next incarnation's eyes.
    const { running } = this.#work
    if (running.size > 0) await Promise.race([Promise.all(running), sleep(LAST_CALLS_MS, undefined, { ref: false })])
  }

  /** Servers end with their input, so that comes first; half of the grace is for that. */
  async #closeTools(ladder: Ladder): Promise<Ladder> {
    const { toolbox, freezer } = this.#work
    const since = performance.now()
    const isPatient = ladder.signal !== 'SIGKILL' && !freezer.frozen
    await toolbox.close(isPatient ? { stdinMs: Math.min(PATIENT.stdinMs, ladder.graceMs / 2), termMs: null } : IMPATIENT)
    return { ...ladder, graceMs: Math.max(0, ladder.graceMs - (performance.now() - since)) }
  }

  #isOpen(id: number): boolean {
    return [...this.#turns.keys()].some((turn) => turn.id === id)
  }

  #begin(id: number, open: () => readonly ToolCall[]): void {
    if (this.#ending.signal.aborted) return
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const turn: Turn = { id, signal: controller.signal, lastText: '' }
    this.#turns.set(turn, controller)
    this.#tail = this.#tail
      .then(() => runTurn(this.#work, turn, open()))
      .catch((defect: unknown) => this.#break(defect))
      .finally(() => this.#turns.delete(turn))
  }

  /** Calls that may run again do; what else is open has an unknown end. */
  #leftOpen(): readonly ToolCall[] {
    const { context, launch } = this.#work
    const again = new Set(launch.openCalls.map((call) => call.callId))
    const open = context.openCalls
    for (const { callId, name } of open) {
      if (!again.has(callId)) context.result({ callId, name, outcome: 'interrupted', content: '' })
    }
    return open.filter((call) => again.has(call.callId))
  }

  readonly #end = (): void => {
    this.#work.kernel.signal.removeEventListener('abort', this.#end)
    this.#ending.abort()
    for (const controller of this.#turns.values()) controller.abort()
  }

  /** A defect, or a kernel that takes no more reports: either way this incarnation is over. */
  async #break(defect: unknown): Promise<void> {
    const isOver = this.#ending.signal.aborted
    this.#end()
    if (!isOver) await this.#sayExited(defect instanceof Error ? defect.message : String(defect))
  }

  #sayExited(error?: string): Promise<void> {
    const report = { type: 'exited', code: null, osSignal: null, ...(error === undefined ? {} : { error }) } as const
    return (this.#exited ??= this.#work.kernel.report(report).then(() => undefined, () => undefined))
  }
}
