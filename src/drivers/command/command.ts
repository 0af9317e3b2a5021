// The driver for any argv: starts it in the containment, carries its output to the kernel and says how it ended. Of an
// agent whose JSON lines are known (`format`) the output becomes steps, calls and usage, and it goes on with its session.
// Owns nothing of the operating system itself: all that it starts or signals goes through the containment.
// Must never say `exited` before all that was written is acknowledged. Tests: test/processes/command*.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { OwnPrices } from '../native/prices.ts'
import type { Containment, Ladder, Program } from '../contain/contain.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import { isConversation } from '../../kernel/capabilities.ts'
import { readPast } from '../acp/past.ts'
import { startOf } from '../gateway/clients.ts'
import type { Agent, Driver, KernelPort, Launch, Message } from '../port.ts'
import { openAgentOutput, standingOf } from './agent-output.ts'
import { Conversation } from './conversation.ts'
import { lastReports } from './ending.ts'
import { agentStart, follow, saying, type Say } from './following.ts'
import { spokenBy } from './formats/formats.ts'
import type { Spoken } from './formats/formats.ts'
import { Kept } from './kept.ts'
import { pump } from './pump.ts'

/** How much of the command line is shown as what was in flight. */
const IN_FLIGHT_CHARS = 200

/** What an agent is told that goes on with its session, if nobody has anything else to say. */
const GO_ON = 'Go on where you were interrupted.'

const MIB = 1024 * 1024
/** Most of its output that one incarnation has in the journal: a server that complains for a night must not fill the disk. */
const KEPT_BYTES = 256 * MIB

/** A program has so long to end when the turn of its conversation is interrupted. */
const CANCEL_MS = 10_000

interface CommandOptions {
  readonly keptBytes?: number
  readonly cancelMs?: number
  /** the user's own, looked at whenever an agent starts */
  readonly prices?: () => OwnPrices
}

export function commandWith(options: CommandOptions): Driver {
  return {
    start: (launch, kernel) => startCommand(launch, kernel, options),
  }
}

async function startCommand(launch: Launch, kernel: KernelPort, options: CommandOptions): Promise<Agent> {
  const { keptBytes = KEPT_BYTES, prices, cancelMs = CANCEL_MS } = options
  const { spec, containment } = launch
  if (spec.argv === null) throw new KernelError('INVALID', 'A command process needs a command line')
  const say = saying(kernel, new Kept(keptBytes))
  const spoken = spec.format === undefined ? null : spokenBy(ownArgv(spec.argv, spec), spec.format)
  if (spoken !== null && isConversation(spec)) {
    const past = await readPast(launch)
    return new Conversation({ launch, kernel, spoken, past, say, cancelMs, standing: await standingOf(launch), prices: prices?.() })
  }
  const argv = spoken === null ? spec.argv : await agentArgv(launch, spoken)
  const started = await (spoken === null ? startOf(launch, argv) : agentStart(launch, spoken, argv))
  const program = await containment.spawn({
    ...started,
    cwd: spec.cwd,
    // A known agent waits for the end of a pipe that nobody closes, some for ever.
    stdin: spec.interactive ? 'pipe' : 'null',
  })
  return new CommandAgent({ program, launch, kernel, argv, spoken, say, prices: prices?.() })
}

/** Of an agent that a file describes the command line ends with what it is asked: each takes that in a way of its own. */
function ownArgv(argv: readonly string[], { agent, intent }: ProcessSpec): readonly string[] {
  return agent !== 'command' && intent !== '' && argv.at(-1) === intent ? argv.slice(0, -1) : argv
}

/** Errors: NOT_RESUMABLE. */
async function agentArgv({ spec, sessionId, forkOf, resumed, message }: Launch, { format, command }: Spoken): Promise<readonly string[]> {
  if (forkOf !== undefined) {
    if (format.fork === null) throw new KernelError('NOT_RESUMABLE', `${format.title} cannot fork its sessions`)
    return [...command.program, ...format.fork(command, forkOf, (await message()) ?? GO_ON)]
  }
  if (resumed && sessionId !== null) return [...command.program, ...format.resume(command, sessionId, (await message()) ?? GO_ON)]
  const isTold = spec.agent === 'command' || spec.intent === ''
  return [...command.program, ...(isTold ? command.args : format.ask(command, spec.intent))]
}

interface CommandParts {
  readonly say: Say
  readonly prices: OwnPrices | undefined
  readonly program: Program
  readonly launch: Launch
  readonly kernel: KernelPort
  readonly argv: readonly string[]
  readonly spoken: Spoken | null
}

class CommandAgent implements Agent {
  readonly #program: Program
  readonly #containment: Containment
  readonly #kernel: KernelPort
  readonly #launch: Launch
  readonly #spoken: Spoken | null
  readonly #prices: OwnPrices | undefined
  readonly #inFlight: string
  readonly #say: Say
  readonly #life: Promise<void>
  #paused = false
  #over = false

  constructor({ program, launch, kernel, argv, spoken, say, prices }: CommandParts) {
    this.#prices = prices
    this.#say = say
    this.#program = program
    this.#launch = launch
    this.#spoken = spoken
    this.#containment = launch.containment
    this.#kernel = kernel
    this.#inFlight = `command: ${argv.join(' ')}`.slice(0, IN_FLIGHT_CHARS)
    this.#life = this.#live()
  }

  async deliver(message: Message): Promise<void> {
    const { stdin } = this.#program
    if (stdin === null) throw new KernelError('INVALID', 'This command takes no messages: it was not started with --interactive')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.write(`${message.text}\n`, (error) => (error ? reject(error) : resolve()))
    await promise.catch((error: unknown) => {
      throw new KernelError('INVALID', `The command no longer reads its input: ${(error as Error).message}`)
    })
  }

  /** A command has no turns to go on with: it was started again from its beginning. */
  async proceed(): Promise<void> {}

  async interrupt(): Promise<void> {
    this.#program.signal('SIGINT')
  }

  /** A command has no boundary to stop at, so each pause freezes it. */
  async pause(): Promise<void> {
    this.#paused = true
    if (this.#over) return
    await this.#containment.freeze()
    if (this.#paused && !this.#over) await this.#kernel.report({ type: 'frozen', inFlight: this.#inFlight })
  }

  async unpause(): Promise<void> {
    this.#paused = false
    await this.#containment.thaw()
  }

  async stop(ladder: Ladder): Promise<void> {
    const result = await this.#containment.stop(ladder)
    if (result.outcome === 'survived') await this.#tellSurvivors(result.survivors)
  }

  /** Tries once: what survives is found by the daemon, which says so and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { outcome } = await this.#containment.dispose()
    if (outcome !== 'survived') await this.#life
  }

  // Never rejects: if the kernel no longer listens there is nobody to tell. Nobody waits for `up` to be on disk before the
  // command can be stopped: a full disk must not keep it alive.
  async #live(): Promise<void> {
    try {
      await this.#kernel.report({ type: 'up', handle: this.#program.handle })
    } catch (error) {
      return this.#giveUp(error)
    }
    if (this.#spoken === null) await this.#carry()
    else await this.#follow(this.#spoken).catch((error: unknown) => this.#giveUp(error))
  }

  /** What it writes is output, and nothing else is known of it. */
  async #carry(): Promise<void> {
    const keep = (stream: 'stdout' | 'stderr') => (text: string) => this.#say([{ type: 'output', stream, text }])
    const outputs = [pump(this.#program.stdout, keep('stdout')), pump(this.#program.stderr, keep('stderr'))]
    const { code, signal } = await this.#program.exited
    this.#over = true
    await Promise.all(outputs)
    await this.#kernel.report({ type: 'exited', code, osSignal: signal }).catch(() => 'late')
  }

  /** What it writes says what it does. */
  async #follow(spoken: Spoken): Promise<void> {
    const { forkOf, turn } = this.#launch
    const output = openAgentOutput({ spoken, forkOf, prices: this.#prices, turn: turn + 1, last: lastReports, say: this.#say }, await standingOf(this.#launch))
    if (this.#launch.spec.agent === 'command') await this.#say([{ type: 'note', text: `its lines are read as those of ${spoken.format.title}` }]).catch(() => 'late')
    const exit = await follow(this.#program, output, this.#say, () => { this.#over = true })
    await output.end(exit).catch(() => 'late')
  }

  /** That it runs cannot be recorded, so it shall not. */
  async #giveUp(error: unknown): Promise<void> {
    await this.#containment.stop({ signal: 'SIGKILL', graceMs: 0 })
    const message = error instanceof Error ? error.message : String(error)
    await this.#kernel.report({ type: 'exited', code: null, osSignal: null, error: message }).catch(() => 'late')
  }

  async #tellSurvivors(pids: readonly number[]): Promise<void> {
    await this.#kernel.report({ type: 'note', text: `survived the kill: PID ${pids.join(', ')}` }).catch(() => 'late')
  }
}
