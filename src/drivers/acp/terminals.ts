// Commands that an agent runs through its client: programs of the containment like all others, with output that is kept
// within a limit. What is released or left is ended with its group; what outlives that is the containment's.
// Tests: test/processes/acp-client.test.ts.
import { RequestError } from '@agentclientprotocol/sdk'
import type { CreateTerminalRequest, CreateTerminalResponse, TerminalOutputResponse, WaitForTerminalExitResponse } from '@agentclientprotocol/sdk'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { KernelError } from '../../kernel/errors.ts'
import type { Containment, Program } from '../contain/contain.ts'

const MAX_TERMINALS = 64
const DEFAULT_BYTES = 256 * 1024
const MAX_BYTES = 4 * 1024 * 1024
/** Where commands are looked for when the recorded environment has no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

interface Terminal {
  readonly program: Program
  readonly output: Tail
  readonly ended: Promise<WaitForTerminalExitResponse>
  exit: WaitForTerminalExitResponse | null
}

export interface TerminalsParts {
  readonly containment: Containment
  readonly cwd: string
  /** without keys */
  readonly env: Readonly<Record<string, string>>
}

export class Terminals {
  readonly #parts: TerminalsParts
  readonly #open = new Map<string, Terminal>()
  #last = 0

  constructor(parts: TerminalsParts) {
    this.#parts = parts
  }

  async create({ command, args = [], env = [], cwd, outputByteLimit }: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    const { containment, ...base } = this.#parts
    if (this.#open.size >= MAX_TERMINALS) throw RequestError.invalidParams(undefined, `${MAX_TERMINALS} terminals are open already: release some`)
    // Some agents give a whole line for a shell.
    const argv = args.length === 0 && /\s/.test(command) ? ['sh', '-c', command] : [command, ...args]
    const program = await spawned(containment.spawn({
      argv, cwd: cwd ?? base.cwd, stdin: 'null',
      env: { PATH: DEFAULT_PATH, ...base.env, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
    }))
    const output = new Tail(Math.min(outputByteLimit ?? DEFAULT_BYTES, MAX_BYTES))
    const terminal: Terminal = { program, output, exit: null, ended: ending(program, output) }
    terminal.ended.then((exit) => { terminal.exit = exit }, () => undefined)
    const terminalId = `t${(this.#last += 1)}`
    this.#open.set(terminalId, terminal)
    return { terminalId }
  }

  output(id: string): TerminalOutputResponse {
    const { output, exit } = this.#need(id)
    return { output: output.text(), truncated: output.isCut, ...(exit === null ? {} : { exitStatus: exit }) }
  }

  waitForExit(id: string): Promise<WaitForTerminalExitResponse> {
    return this.#need(id).ended
  }

  /** It stays, to be looked at. */
  kill(id: string): Record<string, never> {
    this.#need(id).program.signal('SIGKILL')
    return {}
  }

  release(id: string): Record<string, never> {
    this.#need(id).program.signal('SIGKILL')
    this.#open.delete(id)
    return {}
  }

  /** What one has printed so far; nothing if there is no such terminal. */
  text(id: string): string {
    return this.#open.get(id)?.output.text() ?? ''
  }

  #need(id: string): Terminal {
    const terminal = this.#open.get(id)
    if (!terminal) throw RequestError.resourceNotFound(id)
    return terminal
  }
}

async function spawned(start: Promise<Program>): Promise<Program> {
  try {
    return await start
  } catch (error) {
    if (error instanceof KernelError) throw RequestError.invalidParams(undefined, error.message)
    throw error
  }
}

async function ending(program: Program, output: Tail): Promise<WaitForTerminalExitResponse> {
  const read = Promise.all([pump(program.stdout, output), pump(program.stderr, output)])
  const { code, signal } = await program.exited
  await read
  return { exitCode: code, signal }
}

/** To the end: a full pipe must not hold it up. */
async function pump(stream: Readable, output: Tail): Promise<void> {
  const decoder = new StringDecoder('utf8')
  stream.on('data', (chunk: Buffer) => output.push(decoder.write(chunk)))
  await finished(stream, { writable: false }).catch(() => undefined)
  output.push(decoder.end())
}

/** The last bytes of a text, whole characters of it. */
class Tail {
  readonly #limit: number
  #text = ''
  isCut = false

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  push(text: string): void {
    this.#text += text
    // A character has at least one byte: so the text is cut seldom, and never too early.
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
