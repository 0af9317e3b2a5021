// An agent with a conversation whose program answers once and ends: each turn is one program, the first of a session is asked and
// each later one goes on with that session. Owns its turns, one after the other, and that none begins while it is paused; what
// a program left running in the background stays, and goes at the end. Must never say `exited` before it was told to end.
// Tests: test/processes/conversation.test.ts, test/e2e/conversation.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { Report } from '../../kernel/reports.ts'
import type { OwnPrices } from '../native/prices.ts'
import { CUT_OFF, type Past } from '../acp/past.ts'
import { Gate } from '../acp/gate.ts'
import { Freezer } from '../native/tools/freezer.ts'
import type { Ladder, Program } from '../contain/contain.ts'
import type { Agent, KernelPort, Launch, Message } from '../port.ts'
import { openAgentOutput } from './agent-output.ts'
import type { AgentOutput, Standing } from './agent-output.ts'
import { turnReports } from './ending.ts'
import { agentStart, follow, type Say } from './following.ts'
import type { Spoken } from './formats/formats.ts'

/** It may have read it, and worked on it, without a word that is on disk: a step is told when it is whole. */
const MAYBE_BEGUN = 'Your last turn was cut off. You may have begun with what follows: look before you do anything again.'

/** The longest argument that Linux takes, with its NUL. */
const ARGUMENT_BYTES = 128 * 1024

export interface ConversationParts {
  readonly launch: Launch
  readonly kernel: KernelPort
  readonly spoken: Spoken
  readonly standing: Standing
  readonly past: Pick<Past, 'goOn'>
  readonly say: Say
  readonly prices: OwnPrices | undefined
  /** how long a program may take to end when its turn is interrupted */
  readonly cancelMs: number
}

interface Turn {
  readonly id: number
  readonly text: string
  readonly cancelled: PromiseWithResolvers<void>
  isCancelled: boolean
  /** its program wrote what is a step */
  hasBegun: boolean
  program: Program | null
}

export class Conversation implements Agent {
  readonly #parts: ConversationParts
  readonly #gate = new Gate()
  readonly #freezer = new Freezer()
  readonly #up: Promise<void>
  #standing: Standing
  #turn: Turn | null = null
  /** the last one, also when it is over */
  #last: Turn | null = null
  #tail: Promise<void>
  #ending = false
  #frozen = false
  #left: Promise<void> | null = null

  constructor(parts: ConversationParts) {
    this.#parts = parts
    this.#standing = parts.standing
    parts.kernel.signal.addEventListener('abort', () => this.#end(), { once: true })
    this.#up = this.#begin()
    this.#tail = this.#up
  }

  deliver({ turn, text }: Message): Promise<void> {
    // Put into a turn that was cut off: it hears of that first.
    const before = this.#goOn(turn)
    this.#take(turn, before === null ? text : `${before}\n\n${text}`)
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    this.#take(turn, this.#goOn(turn) ?? CUT_OFF)
    return Promise.resolve()
  }

  /** While it is frozen its program hears of it later; the time that it has for it stands still, too. */
  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (turn === null || turn.isCancelled) return
    turn.isCancelled = true
    turn.cancelled.resolve()
    if (turn.program !== null) this.#cancel(turn.program)
  }

  /** Its programs have no boundary to stop at, so each pause freezes them. */
  async pause(): Promise<void> {
    this.#frozen = true
    this.#gate.hold()
    this.#freezer.set(true)
    await this.#parts.launch.containment.freeze()
    if (this.#frozen && !this.#ending) await this.#parts.kernel.report({ type: 'frozen', inFlight: this.#turn?.program ? 'a turn of the agent' : null })
  }

  async unpause(): Promise<void> {
    if (!this.#frozen) return
    this.#frozen = false
    await this.#parts.launch.containment.thaw()
    this.#freezer.set(false)
    this.#gate.release()
  }

  async stop(ladder: Ladder): Promise<void> {
    this.#end()
    const { outcome, survivors } = await this.#parts.launch.containment.stop(ladder)
    if (outcome === 'survived') await this.#tell({ type: 'note', text: `survived the kill: PID ${survivors.join(', ')}` })
    this.#left ??= this.#leave(null)
    await this.#left
  }

  /** Tries once: what survives is found by the daemon, which says so and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end()
    const { outcome } = await this.#parts.launch.containment.dispose()
    if (outcome !== 'survived') await this.#tail
  }

  /** What a turn is told that was on before: its own text again if nothing came of that. Null: this turn begins. */
  #goOn(turn: number): string | null {
    const { launch, past } = this.#parts
    const last = this.#last
    if (last?.id === turn) return last.hasBegun && this.#standing.sessionId !== null ? CUT_OFF : last.text
    if (turn > launch.turn) return null
    return past.goOn === CUT_OFF ? CUT_OFF : `${MAYBE_BEGUN}\n\n${past.goOn}`
  }

  #take(id: number, text: string): void {
    const turn: Turn = { id, text, cancelled: Promise.withResolvers(), isCancelled: false, hasBegun: false, program: null }
    this.#turn = this.#last = turn
    this.#tail = this.#tail.then(() => this.#run(turn))
  }

  /** That it runs cannot be recorded, so it shall not. */
  async #begin(): Promise<void> {
    try {
      await this.#parts.kernel.report({ type: 'up' })
    } catch (error) {
      this.#end()
      this.#left ??= this.#leave(wordsOf(error))
    }
  }

  /** Never rejects. */
  async #run(turn: Turn): Promise<void> {
    if (this.#ending) return
    const failed = await this.#work(turn).then(() => null, wordsOf)
    if (this.#turn === turn) this.#turn = null
    if (failed === null || this.#ending) return
    await this.#tell(turn.isCancelled ? interrupted(turn) : { type: 'turn.ended', turn: turn.id, outcome: 'error', error: failed })
  }

  /** Its program to the end, and what is to be said of that. Errors: in words, of one that could not be started. */
  async #work(turn: Turn): Promise<void> {
    const { launch, spoken, say } = this.#parts
    const started = await agentStart(launch, spoken, this.#argv(turn.text))
    while (this.#gate.isHeld && !turn.isCancelled && !this.#ending) await Promise.race([this.#gate.clear(), turn.cancelled.promise])
    if (this.#ending) return
    if (turn.isCancelled) return this.#tell(interrupted(turn))
    const output = this.#output(turn)
    turn.program = await launch.containment.spawn({ ...started, cwd: launch.spec.cwd, stdin: 'null' })
    // It may have been told to end, or interrupted, while its program began.
    if (this.#ending) turn.program.signal('SIGKILL')
    else if (turn.isCancelled) this.#cancel(turn.program)
    const exit = await follow(turn.program, output, say)
    await output.end(exit).catch(() => 'late')
    this.#standing = output.standing
  }

  #output(turn: Turn): AgentOutput {
    const { launch, spoken, prices, say } = this.#parts
    return openAgentOutput({
      spoken, prices, turn: turn.id,
      forkOf: this.#standing.sessionId === null ? launch.forkOf : undefined,
      last: (format, ended) => {
        if (this.#ending) return []
        return turn.isCancelled ? [interrupted(turn)] : turnReports(format, ended)
      },
      say: (reports) => {
        turn.hasBegun ||= reports.some(({ type }) => type === 'model.started')
        return say(reports)
      },
    }, this.#standing)
  }

  /** Errors: INVALID, NOT_RESUMABLE. */
  #argv(text: string): readonly string[] {
    const { spoken: { format, command }, launch: { spec, forkOf } } = this.#parts
    const { sessionId } = this.#standing
    // A role prompt is said before the first prompt of a session that begins.
    const isNew = sessionId === null && forkOf === undefined
    const prompt = isNew && spec.system !== null ? `${spec.system}\n\n${text}` : text
    if (Buffer.byteLength(prompt) >= ARGUMENT_BYTES - 1024) throw new KernelError('INVALID', `what it is told is longer than a command line takes (${ARGUMENT_BYTES / 1024} KiB)`)
    if (sessionId !== null) return [...command.program, ...format.resume(command, sessionId, prompt)]
    if (forkOf === undefined) return [...command.program, ...format.ask(command, prompt)]
    if (format.fork === null) throw new KernelError('NOT_RESUMABLE', `${format.title} cannot fork its sessions`)
    return [...command.program, ...format.fork(command, forkOf, prompt)]
  }

  #cancel(program: Program): void {
    program.signal('SIGINT')
    const disarm = this.#freezer.deadline(this.#parts.cancelMs, () => program.signal('SIGKILL'))
    program.exited.then(disarm, disarm)
  }

  #end(): void {
    this.#ending = true
    this.#turn?.cancelled.resolve()
  }

  /** Waits for what its last program wrote. */
  async #leave(error: string | null): Promise<void> {
    if (error === null) await this.#tail
    await this.#tell({ type: 'exited', code: error === null ? 0 : 1, osSignal: null, ...(error === null ? {} : { error }) })
  }

  /** If the kernel no longer listens there is nobody to tell. */
  async #tell(report: Report): Promise<void> {
    await this.#parts.kernel.report(report).catch(() => 'late')
  }
}

function interrupted({ id }: Turn): Report {
  return { type: 'turn.ended', turn: id, outcome: 'interrupted' }
}

function wordsOf(error: unknown): string {
  if (error instanceof KernelError && error.code === 'COMMAND_NOT_FOUND') return `${error.message}. ${error.hint}`
  return error instanceof Error ? error.message : String(error)
}
