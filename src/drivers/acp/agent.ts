// One incarnation of an agent of the protocol: its program from the handshake to its end, and what the daemon asks of it.
// Owns when it is paused, frozen and stopped; its turns are turns.ts's. Must never say `exited` before all that it said is
// on its way to the disk. Tests: test/processes/acp*.test.ts.
import { methods } from '@agentclientprotocol/sdk'
import type { ClientConnection } from '@agentclientprotocol/sdk'
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpStart } from '../../kernel/mcp.ts'
import type { Ladder, Program } from '../contain/contain.ts'
import { Freezer } from '../native/tools/freezer.ts'
import type { Agent, KernelPort, Launch, Message } from '../port.ts'
import { Asks } from './asks.ts'
import type { Answer } from './asks.ts'
import { capabilitiesOf, connect } from './connect.ts'
import type { WallClock } from './driver.ts'
import { Files } from './files.ts'
import { Gate } from './gate.ts'
import { Hearing } from './hearing.ts'
import { Link, describeExit } from './link.ts'
import type { Past } from './past.ts'
import { refusalsTo } from './refusals.ts'
import { Saying } from './saying.ts'
import { ownServer, serversFor } from './servers.ts'
import { openSession } from './session.ts'
import type { Session } from './session.ts'
import { Terminals } from './terminals.ts'
import { Turns, wordsOf } from './turns.ts'

export interface AgentParts {
  readonly launch: Launch
  readonly kernel: KernelPort
  readonly program: Program
  readonly past: Past
  readonly servers: () => Promise<readonly McpStart[]>
  readonly handshakeMs: number
  readonly clock: WallClock
  readonly cancelMs: number
}

/** At its end an agent has so long to close its session, and then to end with its input. */
const CLOSE_MS = 1_000
const STDIN_MS = 2_000

export class AcpAgent implements Agent {
  readonly #parts: AgentParts
  readonly #saying: Saying
  readonly #link: Link
  readonly #connection: ClientConnection
  readonly #hearing: Hearing
  readonly #asks: Asks
  readonly #terminals: Terminals
  readonly #turns: Turns
  readonly #gate = new Gate()
  readonly #freezer = new Freezer()
  readonly #life: Promise<void>
  #session: Session | null = null
  #unsaidSystem: string | null = null
  #ending = false
  #frozen = false

  constructor(parts: AgentParts) {
    const { launch, kernel, program, past, cancelMs } = parts
    const { spec, containment } = launch
    this.#parts = parts
    this.#saying = new Saying(kernel)
    this.#terminals = new Terminals({ containment, cwd: spec.cwd, env: spec.env })
    this.#hearing = new Hearing({ past, saying: this.#saying, live: (event) => kernel.live(event), terminal: (id) => this.#terminals.text(id) })
    const { steps } = this.#hearing
    const refused = refusalsTo(this.#saying)
    this.#asks = new Asks({
      refused, spec, own: (launch.own?.list ?? []).map(({ name }) => name.replace(/^mcp__reeve__/, '')), prefix: `${launch.pid}-`, saying: this.#saying,
      gate: () => this.#gate.clear(),
      asked: (call) => { steps.call(call); steps.flush() },
      denied: (callId) => steps.denied(callId),
      changed: () => this.#settled(),
    })
    this.#link = new Link({ program, room: () => this.#saying.room() })
    this.#connection = connect(this.#link.stream, { asks: this.#asks, files: new Files(spec.cwd, spec, refused), terminals: this.#terminals, rules: spec, heard: this.#hearing.hear, refused })
    this.#turns = new Turns({
      connection: this.#connection, sessionId: () => this.#session?.id ?? '', hearing: this.#hearing, asks: this.#asks, saying: this.#saying,
      gate: this.#gate, freezer: this.#freezer, cancelMs, settled: () => this.#settled(),
    })
    kernel.signal.addEventListener('abort', () => { this.#ending = true }, { once: true })
    this.#life = this.#live()
  }

  deliver(message: Message): Promise<void> {
    const { launch, past } = this.#parts
    // Put into the turn that was cut off: it hears of that first.
    this.#prompt(message.turn, message.turn <= launch.turn ? `${past.goOn}\n\n${message.text}` : message.text)
    return Promise.resolve()
  }

  proceed(turn: number): Promise<void> {
    this.#prompt(turn, this.#parts.past.goOn)
    return Promise.resolve()
  }

  answer(answer: Answer): Promise<void> {
    this.#asks.answer(answer)
    return Promise.resolve()
  }

  /** While it is frozen it hears of it later; the time that it has for it stands still, too. */
  interrupt(): Promise<void> {
    return this.#turns.interrupt()
  }

  async pause(now: boolean): Promise<void> {
    this.#gate.hold()
    if (!now) return this.#settled()
    this.#frozen = true
    this.#freezer.set(true)
    await this.#parts.launch.containment.freeze()
    if (this.#frozen && !this.#ending) await this.#saying.say({ type: 'frozen', inFlight: this.#inFlight() })
  }

  async unpause(): Promise<void> {
    await this.#thaw()
    this.#gate.release()
  }

  async stop(ladder: Ladder): Promise<void> {
    this.#ending = true
    const since = performance.now()
    if (ladder.signal !== 'SIGKILL' && this.#mayWake()) {
      const stepMs = ladder.graceMs / 4
      await this.interrupt()
      await Promise.race([this.#turns.idle(), sleep(stepMs, undefined, { ref: false })])
      await this.#close(stepMs)
    }
    const left = Math.max(0, ladder.graceMs - (performance.now() - since))
    const { outcome, survivors } = await this.#parts.launch.containment.stop({ ...ladder, graceMs: left })
    if (outcome === 'survived') this.#saying.note(`survived the kill: PID ${survivors.join(', ')}`)
  }

  /** Tries once: what survives is found by the daemon, which says so and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending = true
    this.#asks.cancel()
    if (this.#mayWake()) await this.#close(STDIN_MS)
    const { outcome } = await this.#parts.launch.containment.dispose()
    this.#connection.close()
    if (outcome !== 'survived') await this.#life
  }

  /** Closes its session and ends its input, patiently for `ms` each; what is left then is the containment's. */
  async #close(ms: number): Promise<void> {
    await this.#thaw()
    const session = this.#session
    if (session?.canClose === true && !this.#connection.signal.aborted) {
      const closed = this.#connection.agent.request(methods.agent.session.close, { sessionId: session.id }).catch(() => undefined)
      await Promise.race([closed, sleep(Math.min(ms, CLOSE_MS), undefined, { ref: false })])
    }
    this.#link.close()
    await this.#link.endsWithin(Math.min(ms, STDIN_MS))
  }

  #prompt(turn: number, text: string): void {
    const system = this.#unsaidSystem
    this.#unsaidSystem = null
    this.#turns.prompt(turn, system === null ? text : `${system}\n\n${text}`)
  }

  /** Never rejects. */
  async #live(): Promise<void> {
    const failed = await this.#open().then(() => null, wordsOf)
    // It ends with its input, and what does not is ended with all that it started.
    if (failed !== null && !this.#ending) await this.#parts.launch.containment.stop({ signal: 'SIGKILL', graceMs: 0 })
    const exit = await this.#link.ended
    this.#connection.close()
    await this.#turns.idle()
    this.#hearing.close()
    const error = this.#ending ? null : this.#whyEnded(failed, describeExit(exit))
    if (error !== null && this.#link.tail !== '') this.#saying.tell({ type: 'output', stream: 'stderr', text: this.#link.tail })
    await this.#saying.say({ type: 'exited', code: exit.code, osSignal: exit.signal, ...(error === null ? {} : { error }) })
  }

  #whyEnded(failed: string | null, how: string): string {
    const { reason, lastLine } = this.#link
    const said = lastLine === '' ? '' : `: ${lastLine}`
    if (failed !== null) return `the agent cannot be used: ${failed}${failed.includes(lastLine) ? '' : said}`
    return `the agent ended ${this.#turns.isBroken ? 'in its turn' : 'by itself'}: ${reason ?? how}${said}`
  }

  /** Errors: in words. */
  async #open(): Promise<void> {
    const { launch, kernel, handshakeMs, program, servers, past, clock } = this.#parts
    const { spec } = launch
    const note = (text: string): void => this.#saying.note(text)
    const late = Promise.withResolvers<never>()
    const arm = (): (() => void) => this.#freezer.deadline(handshakeMs, () => late.reject(new Error(`it was not ready within ${handshakeMs / 1_000} s`)))
    let disarm = arm()
    const rest = async (ms: number): Promise<void> => {
      disarm()
      await clock.rest(ms, kernel.signal)
      disarm = arm()
    }
    const opening = openSession({
      connection: this.#connection, spec, sessionId: launch.sessionId, forkOf: launch.forkOf ?? null, begunAt: past.sessionAt, now: clock.now, capabilities: capabilitiesOf(spec), note, rest,
      servers: async ({ http }) => [...serversFor(await servers(), spec, http, note), ...(await ownServer(launch.own, http))],
    })
    try {
      this.#session = await Promise.race([opening, late.promise, this.#gone()])
    } catch (error) {
      throw this.#connection.signal.aborted ? await this.#gone().catch((how: unknown) => how) : error
    } finally {
      disarm()
    }
    this.#unsaidSystem = this.#session.unsaidSystem
    this.#hearing.opened(this.#session)
    if (this.#session.isLoaded) await this.#hearing.replayed()
    if (!kernel.signal.aborted) await this.#saying.say({ type: 'up', handle: program.handle, sessionId: this.#session.id })
  }

  /** Rejects when its output has ended: with how it ended itself, which is known a moment later. */
  async #gone(): Promise<never> {
    await this.#link.silent
    const exit = await this.#link.ended
    throw new Error(`it has ended: ${this.#link.reason ?? describeExit(exit)}`)
  }

  /** While paused: does anything of it still go on? Called whenever that may have changed; at the end of a turn the kernel knows by itself. */
  #settled(): void {
    if (!this.#gate.isHeld || this.#frozen || this.#ending || this.#turns.state === 'idle' || !this.#isStill()) return
    this.#saying.tell({ type: 'drained' })
  }

  /** It waits for a message or an answer, and nothing of it runs. */
  #isStill(): boolean {
    const { state } = this.#turns
    if (state === 'idle' || state === 'held') return true
    const { steps } = this.#hearing
    const waiting = this.#asks.waiting
    return state === 'requires_action' && !steps.isOpen && steps.running.every((callId) => waiting.includes(callId))
  }

  /** What was frozen in the middle of something must not go on with it at its end. */
  #mayWake(): boolean {
    return !this.#frozen || this.#turns.state === 'idle'
  }

  async #thaw(): Promise<void> {
    if (!this.#frozen) return
    this.#frozen = false
    await this.#parts.launch.containment.thaw()
    this.#freezer.set(false)
  }

  #inFlight(): string | null {
    const { steps } = this.#hearing
    if (this.#isStill()) return null
    const calls = steps.running
    return calls.length > 0 ? `tool calls: ${calls.join(', ')}` : 'a turn of the agent'
  }
}
