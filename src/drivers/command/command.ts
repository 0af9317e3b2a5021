// The driver for any argv: starts it in the containment, carries its output to the kernel and says how it ended.
// Owns nothing of the operating system itself: all that it starts or signals goes through the containment.
// Must never say `exited` before all that was written is acknowledged. Test: test/processes/command.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { Containment, Ladder, Program } from '../contain/contain.ts'
import type { Agent, Driver, KernelPort, Launch, Message } from '../port.ts'
import { pump } from './pump.ts'

/** How much of the command line is shown as what was in flight. */
const IN_FLIGHT_CHARS = 200

const MIB = 1024 * 1024
/** Most of its output that one incarnation has in the journal: a server that complains for a night must not fill the disk. */
const KEPT_BYTES = 256 * MIB

interface CommandOptions {
  readonly keptBytes: number
}

export const commandDriver = commandWith({ keptBytes: KEPT_BYTES })

export function commandWith(options: CommandOptions): Driver {
  return {
    start: (launch, kernel) => startCommand(launch, kernel, options),
  }
}

async function startCommand(launch: Launch, kernel: KernelPort, options: CommandOptions): Promise<Agent> {
  const { spec, containment, credentials } = launch
  if (spec.argv === null) throw new KernelError('INVALID', 'A command process needs a command line')
  const program = await containment.spawn({
    argv: spec.argv,
    cwd: spec.cwd,
    env: { ...spec.env, ...credentials },
    stdin: spec.interactive ? 'pipe' : 'null',
  })
  return new CommandAgent({ program, containment, kernel, argv: spec.argv, ...options })
}

interface CommandParts extends CommandOptions {
  readonly program: Program
  readonly containment: Containment
  readonly kernel: KernelPort
  readonly argv: readonly string[]
}

class CommandAgent implements Agent {
  readonly #program: Program
  readonly #containment: Containment
  readonly #kernel: KernelPort
  readonly #inFlight: string
  readonly #keptBytes: number
  #outputBytes = 0
  #toldFull = false
  readonly #life: Promise<void>
  #paused = false
  #over = false

  constructor({ program, containment, kernel, argv, keptBytes }: CommandParts) {
    this.#keptBytes = keptBytes
    this.#program = program
    this.#containment = containment
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
    const keep = (stream: 'stdout' | 'stderr') => (text: string) => this.#keep(stream, text)
    const outputs = [pump(this.#program.stdout, keep('stdout')), pump(this.#program.stderr, keep('stderr'))]
    const { code, signal } = await this.#program.exited
    this.#over = true
    await Promise.all(outputs)
    await this.#kernel.report({ type: 'exited', code, osSignal: signal }).catch(() => 'late')
  }

  async #keep(stream: 'stdout' | 'stderr', text: string): Promise<void> {
    if (this.#outputBytes >= this.#keptBytes) return
    this.#outputBytes += Buffer.byteLength(text)
    await this.#kernel.report({ type: 'output', stream, text })
    if (this.#outputBytes < this.#keptBytes || this.#toldFull) return
    this.#toldFull = true
    await this.#kernel.report({ type: 'note', text: `its output is more than ${this.#keptBytes / MIB} MiB: no more of it is kept` })
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
