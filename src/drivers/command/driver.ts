// The driver for any command line. Starts the program in the containment, sends its output to the kernel and reports its exit. If `format`
// names the agent's JSON lines, the output becomes steps, calls and usage, and a resume continues the session. Starts and signals programs
// only through the containment. Must never report `exited` before all output is acknowledged. Tests: test/processes/command.
import { KernelError } from '../../kernel/model/errors.ts'
import type { UserPrices } from '../native/models/prices.ts'
import type { Containment, Ladder, Program, SpawnRequest } from '../contain/containment-contract.ts'
import { isConversation } from '../../kernel/model/capabilities.ts'
import { FreezableTimers } from '../common/freezable-timers.ts'
import { readSessionHistory } from '../common/session-history.ts'
import { prepareStart } from '../gateway/clients.ts'
import type { Agent, Driver, KernelPort, Launch, Message } from '../port.ts'
import { openAgentOutput, resumePointOf } from './agent-output.ts'
import { Conversation } from './conversation.ts'
import { lastReports } from './exit-cause.ts'
import { prepareAgentStart, followProgram, reportSender, type SendReports } from './agent-program.ts'
import { parseKnownCommand } from './formats/formats.ts'
import type { KnownCommand } from './formats/formats.ts'
import { RecordedOutputLimit } from './recorded-output-limit.ts'
import { pumpOutput } from './output-pump.ts'
import type { CommandSpec } from '../../kernel/model/process-spec.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { MIB } from '../../kernel/util/mib.ts'

/** The number of characters of the command line in the report `frozen`. */
const SHOWN_COMMAND_CHARS = 200

/** The prompt for an agent's session that is resumed without a message. */
const CONTINUE_PROMPT = 'Continue where you were interrupted.'

/** Limit of recorded output per incarnation, so that a server that logs errors all night cannot fill the disk. */
const MAX_RECORDED_BYTES = 256 * MIB

/** How long a program may take to end after its turn was interrupted. */
const CANCEL_MS = 10_000

interface CommandOptions {
  /** the limit of recorded output per incarnation */
  readonly keptBytes?: number
  /** how long a program may take to end after its turn was interrupted, in ms */
  readonly cancelMs?: number
  /** how long an agent may be silent after its result before it is ended, in ms */
  readonly silentMs?: number
  /** reads the user's price list; called whenever an agent starts */
  readonly prices?: () => UserPrices
}

export function commandDriver(options: CommandOptions): Driver<CommandSpec> {
  return {
    start: (launch, kernel) => startCommand(launch, kernel, options),
  }
}

async function startCommand(launch: Launch<CommandSpec>, kernel: KernelPort, options: CommandOptions): Promise<Agent> {
  const { keptBytes = MAX_RECORDED_BYTES, prices, cancelMs = CANCEL_MS, silentMs } = options
  const { spec, containment } = launch
  const send = reportSender(kernel, new RecordedOutputLimit(keptBytes))
  const known = spec.format === undefined ? null : parseKnownCommand(argvWithoutPrompt(spec), spec.format)
  if (known !== null && isConversation(spec)) {
    const history = await readSessionHistory(launch)
    return new Conversation({
      launch,
      kernel,
      known,
      history,
      send,
      cancelMs,
      silentMs,
      resumePoint: await resumePointOf(launch),
      prices: prices?.(),
    })
  }
  const argv = known === null ? spec.argv : await agentArgv(launch, known)
  const started = await (known === null ? prepareStart(launch, argv) : prepareAgentStart(launch, known, argv))
  const program = await containment.spawn({
    ...started,
    cwd: spec.cwd,
    stdin: stdinOf(launch),
  })
  return new CommandAgent({ program, launch, kernel, argv, known, send, silentMs, prices: prices?.() })
}

/** Returns what the program gets as its stdin. Errors: NOT_RESUMABLE for a command whose input is lost, which must not run without it. */
function stdinOf({ spec, input, resumed, forkOf }: Launch<CommandSpec>): SpawnRequest['stdin'] {
  if (spec.interactive) return 'pipe'
  // No open pipe: known agents read it to its end, and some of them wait for ever. A continued session already contains the input.
  if (!spec.input || resumed || forkOf !== undefined) return 'null'
  if (input === undefined)
    throw new KernelError('NOT_RESUMABLE', 'its input is lost, because it is not recorded: start it again with `reeve run`')
  return { text: input }
}

/** Removes the prompt from the end of an agent file's command line. Each format passes the prompt in its own way. */
function argvWithoutPrompt({ argv, agent, intent }: CommandSpec): readonly string[] {
  return agent !== 'command' && intent !== '' && argv.at(-1) === intent ? argv.slice(0, -1) : argv
}

/** Returns the command line of an agent with a known format. Errors: NOT_RESUMABLE. */
async function agentArgv(
  { spec, sessionId, forkOf, resumed, resumeMessage: message }: Launch<CommandSpec>,
  { format, command }: KnownCommand,
): Promise<readonly string[]> {
  if (forkOf !== undefined) {
    if (format.fork === null) throw new KernelError('NOT_RESUMABLE', `${format.title} cannot fork its sessions`)
    return [...command.program, ...format.fork(command, forkOf, (await message()) ?? CONTINUE_PROMPT)]
  }
  if (resumed && sessionId !== null) return [...command.program, ...format.resume(command, sessionId, (await message()) ?? CONTINUE_PROMPT)]
  const hasPrompt = spec.agent === 'command' || spec.intent === ''
  return [...command.program, ...(hasPrompt ? command.args : format.start(command, spec.intent))]
}

interface CommandDeps {
  readonly send: SendReports
  readonly silentMs: number | undefined
  readonly prices: UserPrices | undefined
  readonly program: Program
  readonly launch: Launch<CommandSpec>
  readonly kernel: KernelPort
  readonly argv: readonly string[]
  readonly known: KnownCommand | null
}

class CommandAgent implements Agent {
  readonly #program: Program
  readonly #containment: Containment
  readonly #kernel: KernelPort
  readonly #launch: Launch<CommandSpec>
  readonly #knownCommand: KnownCommand | null
  readonly #prices: UserPrices | undefined
  readonly #inFlight: string
  readonly #send: SendReports
  readonly #silentMs: number | undefined
  readonly #timers = new FreezableTimers()
  readonly #finished: Promise<void>
  #isPaused = false
  #hasExited = false

  constructor({ program, launch, kernel, argv, known, send, silentMs, prices }: CommandDeps) {
    this.#silentMs = silentMs
    this.#prices = prices
    this.#send = send
    this.#program = program
    this.#launch = launch
    this.#knownCommand = known
    this.#containment = launch.containment
    this.#kernel = kernel
    this.#inFlight = truncate(`command: ${argv.join(' ')}`, SHOWN_COMMAND_CHARS)
    this.#finished = this.#run()
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

  /** Does nothing, because a command has no turns to continue: it was started again from its beginning. */
  async proceed(): Promise<void> {}

  async interrupt(): Promise<void> {
    this.#program.signal('SIGINT')
  }

  /** Freezes the command, because it has no safe point at which to pause. */
  async pause(): Promise<void> {
    this.#isPaused = true
    this.#timers.setFrozen(true)
    if (this.#hasExited) return
    await this.#containment.freeze()
    if (this.#isPaused && !this.#hasExited) await this.#kernel.report({ type: 'frozen', inFlight: this.#inFlight })
  }

  async unpause(): Promise<void> {
    this.#isPaused = false
    await this.#containment.thaw()
    this.#timers.setFrozen(false)
  }

  async stop(ladder: Ladder): Promise<void> {
    const result = await this.#containment.stop(ladder)
    if (result.outcome === 'survived') await this.#reportSurvivors(result.survivors)
  }

  /** Kills the programs once; if some survive, the daemon reports them and tries again. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { outcome } = await this.#containment.dispose()
    if (outcome !== 'survived') await this.#finished
  }

  // Never rejects, even if the kernel no longer accepts reports. `stop` does not wait until `up` has been written to disk, so
  // that a full disk cannot keep the command alive.
  async #run(): Promise<void> {
    try {
      await this.#kernel.report({ type: 'up', handle: this.#program.handle })
    } catch (error) {
      return this.#giveUp(error)
    }
    if (this.#knownCommand === null) await this.#forwardOutput()
    else await this.#followOutput(this.#knownCommand).catch((error: unknown) => this.#giveUp(error))
  }

  /** Reports everything that an unknown program writes as output. */
  async #forwardOutput(): Promise<void> {
    const reportOutput = (stream: 'stdout' | 'stderr') => (text: string) => this.#send([{ type: 'output', stream, text }])
    const outputs = [pumpOutput(this.#program.stdout, reportOutput('stdout')), pumpOutput(this.#program.stderr, reportOutput('stderr'))]
    const { code, signal } = await this.#program.exited
    this.#hasExited = true
    await Promise.all(outputs)
    // A report is rejected only if the process no longer exists.
    await this.#kernel.report({ type: 'exited', code, osSignal: signal }).catch(() => 'late')
  }

  /** Maps the JSON lines of a known agent to reports. */
  async #followOutput(known: KnownCommand): Promise<void> {
    const {
      forkOf,
      turn,
      spec: { keepRaw },
    } = this.#launch
    const output = openAgentOutput(
      { known, forkOf, keepRaw, prices: this.#prices, turn: turn + 1, endReports: lastReports, send: this.#send },
      await resumePointOf(this.#launch),
    )
    if (this.#launch.spec.agent === 'command')
      // A report is rejected only if the process no longer exists.
      await this.#send([{ type: 'note', text: `reeve reads its output in the format of ${known.format.title}` }]).catch(() => 'late')
    this.#program.exited.then(
      () => {
        this.#hasExited = true
      },
      () => undefined,
    )
    const exit = await followProgram({ program: this.#program, output, send: this.#send, timers: this.#timers, silentMs: this.#silentMs })
    // A report is rejected only if the process no longer exists.
    await output.reportEnd(exit).catch(() => 'late')
  }

  /** Kills the command if its start or its output cannot be recorded: an agent must not work without a record. */
  async #giveUp(error: unknown): Promise<void> {
    await this.#containment.stop({ signal: 'SIGKILL', graceMs: 0 })
    const message = errorText(error)
    // A report is rejected only if the process no longer exists.
    await this.#kernel.report({ type: 'exited', code: null, osSignal: null, error: message }).catch(() => 'late')
  }

  async #reportSurvivors(pids: readonly number[]): Promise<void> {
    // A report is rejected only if the process no longer exists.
    await this.#kernel.report({ type: 'note', text: `survived the kill: OS pid ${pids.join(', ')}` }).catch(() => 'late')
  }
}
