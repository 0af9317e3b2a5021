// Runs commands for an agent (ACP terminals) in the containment, and keeps their output within a limit. Releasing a terminal
// kills its process group; the containment ends the processes that survive that. Tests: test/processes/acp/client.test.ts.
import { RequestError } from '@agentclientprotocol/sdk'
import type {
  CreateTerminalRequest,
  CreateTerminalResponse,
  TerminalOutputResponse,
  WaitForTerminalExitResponse,
} from '@agentclientprotocol/sdk'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { KernelError } from '../../kernel/model/errors.ts'
import type { Containment, Program } from '../contain/containment-contract.ts'

const MAX_TERMINALS = 64
const DEFAULT_BYTES = 256 * 1024
const MAX_BYTES = 4 * 1024 * 1024
/** The PATH for commands if the recorded environment has none. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

interface Terminal {
  readonly program: Program
  readonly output: Tail
  /** resolves with the exit status when all output was read */
  readonly ended: Promise<WaitForTerminalExitResponse>
  exit: WaitForTerminalExitResponse | null
}

export interface TerminalsDeps {
  readonly containment: Containment
  readonly cwd: string
  /** the environment of commands, without API keys */
  readonly env: Readonly<Record<string, string>>
}

export class Terminals {
  readonly #deps: TerminalsDeps
  readonly #terminals = new Map<string, Terminal>()
  #lastNumber = 0

  constructor(deps: TerminalsDeps) {
    this.#deps = deps
  }

  /** Starts a command. Errors: `RequestError` with a message for the agent. */
  async create({ command, args = [], env = [], cwd, outputByteLimit }: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    const { containment, ...base } = this.#deps
    if (this.#terminals.size >= MAX_TERMINALS)
      throw RequestError.invalidParams(undefined, `${MAX_TERMINALS} terminals are open already: release some`)
    // Some agents pass a whole shell command line as the command.
    const argv = args.length === 0 && /\s/.test(command) ? ['sh', '-c', command] : [command, ...args]
    const program = await withRequestErrors(
      containment.spawn({
        argv,
        cwd: cwd ?? base.cwd,
        stdin: 'null',
        env: { PATH: DEFAULT_PATH, ...base.env, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
      }),
    )
    const output = new Tail(Math.min(outputByteLimit ?? DEFAULT_BYTES, MAX_BYTES))
    const terminal: Terminal = { program, output, exit: null, ended: waitForEnd(program, output) }
    terminal.ended.then(
      (exit) => {
        terminal.exit = exit
      },
      () => undefined,
    )
    const terminalId = `t${(this.#lastNumber += 1)}`
    this.#terminals.set(terminalId, terminal)
    return { terminalId }
  }

  output(id: string): TerminalOutputResponse {
    const { output, exit } = this.#require(id)
    return { output: output.text(), truncated: output.isCut, ...(exit === null ? {} : { exitStatus: exit }) }
  }

  waitForExit(id: string): Promise<WaitForTerminalExitResponse> {
    return this.#require(id).ended
  }

  /** Kills the command; the terminal's output stays readable. */
  kill(id: string): Record<string, never> {
    this.#require(id).program.signal('SIGKILL')
    return {}
  }

  release(id: string): Record<string, never> {
    this.#require(id).program.signal('SIGKILL')
    this.#terminals.delete(id)
    return {}
  }

  /** Returns a terminal's output so far; empty if there is no such terminal. */
  text(id: string): string {
    return this.#terminals.get(id)?.output.text() ?? ''
  }

  #require(id: string): Terminal {
    const terminal = this.#terminals.get(id)
    if (!terminal) throw RequestError.resourceNotFound(id)
    return terminal
  }
}

async function withRequestErrors(start: Promise<Program>): Promise<Program> {
  try {
    return await start
  } catch (error) {
    if (error instanceof KernelError) throw RequestError.invalidParams(undefined, error.message)
    throw error
  }
}

async function waitForEnd(program: Program, output: Tail): Promise<WaitForTerminalExitResponse> {
  const read = Promise.all([pump(program.stdout, output), pump(program.stderr, output)])
  const { code, signal } = await program.exited
  await read
  return { exitCode: code, signal }
}

/** Reads a stream to its end, so that a full pipe never blocks the command. */
async function pump(stream: Readable, output: Tail): Promise<void> {
  const decoder = new StringDecoder('utf8')
  stream.on('data', (chunk: Buffer) => output.push(decoder.write(chunk)))
  // A broken pipe also ends the stream.
  await finished(stream, { writable: false }).catch(() => undefined)
  output.push(decoder.end())
}

/** Keeps the last bytes of a text, cut at a character boundary. */
class Tail {
  readonly #limit: number
  #text = ''
  isCut = false

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  push(text: string): void {
    this.#text += text
    // A character has at least one byte, so this cuts rarely, and never below the limit.
    if (this.#text.length > 2 * this.#limit) this.#text = this.text()
  }

  text(): string {
    const bytes = Buffer.from(this.#text)
    if (bytes.length <= this.#limit) return this.#text
    this.isCut = true
    let from = bytes.length - this.#limit
    while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
    return bytes.toString('utf8', from)
  }
}
