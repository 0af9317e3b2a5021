// An MCP server that is a program: the library's transport over a program of the agent's containment, which owns it, stops
// it and freezes it as all others. Its output is hostile: a line has a longest length, and what nobody asked for has a
// most, else the program is ended and the reason is told. Must never block on what it does not read.
// Tests: test/processes/mcp-hostile.test.ts, test/e2e/mcp.test.ts.
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isJSONRPCRequest, isJSONRPCResponse, parseJSONRPCMessage } from '@modelcontextprotocol/client'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { Program, ProgramExit } from '../contain/contain.ts'
import type { Patience } from '../native/tools/tool.ts'
import { hearSlowly } from './slowed.ts'

const MIB = 1024 * 1024
const LF = 0x0a
const MAX_LINE_BYTES = 16 * MIB
/** Most that it may write within a minute without an answer among it. */
const MAX_UNASKED_BYTES = 64 * MIB
const UNASKED_MS = 60_000
/** Most that waits for it to read its input. */
const MAX_UNREAD_BYTES = 16 * MIB
/** How long a program may live without its output. */
const SILENT_MS = 1_000
/** How long the end is awaited after SIGKILL; what is left then is the containment's. */
const KILL_MS = 1_000

export const AT_ONCE: Patience = { stdinMs: 0, termMs: 300 }

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** By these two the library knows a local pipe, on which silence means an old server. */
  readonly stderr = null
  readonly pid: number
  /** resolves when it has ended, with how, in words */
  readonly ended: Promise<string>
  readonly #program: Program
  readonly #heard: (text: string) => void
  /** the ids of requests that it has not answered */
  readonly #asked = new Set<unknown>()
  #parts: Buffer[] = []
  #partBytes = 0
  #unaskedBytes = 0
  #unaskedSince = performance.now()
  #reason: string | null = null
  #byItself: string | null = null
  #closed = false

  /** `heard` is told what it says that is no message. */
  constructor(program: Program, heard: (text: string) => void) {
    this.#program = program
    this.#heard = heard
    this.pid = program.handle.pid
    this.ended = this.#watch()
    hearSlowly(program.stderr, heard)
  }

  /** how it ended, if that was not asked of it; null while it lives */
  get ownEnd(): string | null {
    return this.#reason ?? this.#byItself
  }

  start(): Promise<void> {
    this.#program.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program
    if (this.#closed || stdin === null) return Promise.reject(new Error('the server has ended'))
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#fail('it does not read its input')
    if (isJSONRPCRequest(message)) this.#asked.add(message.id)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
    return promise
  }

  /** Ends its input, and lets go of who waits for an answer. Its end is another thing: see `end`. */
  close(): Promise<void> {
    this.#program.stdin?.end()
    this.#letGo()
    return Promise.resolve()
  }

  /** Ends the program: its input first, then SIGTERM, then SIGKILL, both to its whole group. */
  async end({ stdinMs, termMs }: Patience): Promise<void> {
    await this.close()
    if ((await this.#exits(stdinMs)) || termMs === null) return
    this.#program.signal('SIGTERM')
    if (await this.#exits(termMs)) return
    this.#program.signal('SIGKILL')
    await this.#exits(KILL_MS)
  }

  async #exits(ms: number): Promise<boolean> {
    const timer = new AbortController()
    try {
      return await Promise.race([this.#program.exited.then(() => true), sleep(ms, false, { signal: timer.signal })])
    } finally {
      timer.abort()
    }
  }

  async #watch(): Promise<string> {
    const { stdout, exited } = this.#program
    const silent = finished(stdout, { writable: false }).catch(() => undefined)
    silent.then(() => this.#exits(SILENT_MS)).then((over) => over || this.#fail('it has closed its output'), () => undefined)
    const how = describe(await exited)
    if (!this.#closed) this.#byItself = how
    await silent
    this.#letGo()
    return this.#reason ?? how
  }

  #letGo(): void {
    if (this.#closed) return
    this.#closed = true
    this.onclose?.()
  }

  #fail(reason: string): void {
    this.#reason ??= reason
    this.#program.stdout.destroy()
    this.#parts = []
    this.end(AT_ONCE).catch(() => undefined)
  }

  #take(chunk: Buffer): void {
    if (this.#reason !== null) return
    let from = 0
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      this.#line(Buffer.concat([...this.#parts, chunk.subarray(from, at)]).toString('utf8'))
      this.#parts = []
      this.#partBytes = 0
      from = at + 1
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from))
    this.#partBytes += chunk.length - from
    this.#count(chunk.length)
  }

  #count(bytes: number): void {
    const now = performance.now()
    if (now - this.#unaskedSince > UNASKED_MS) this.#askedAgain(now)
    this.#unaskedBytes += bytes
    if (this.#partBytes > MAX_LINE_BYTES) this.#fail(`it wrote a line of more than ${MAX_LINE_BYTES / MIB} MiB`)
    else if (this.#unaskedBytes > MAX_UNASKED_BYTES) this.#fail(`it wrote more than ${MAX_UNASKED_BYTES / MIB} MiB that nobody asked for`)
  }

  #askedAgain(now: number): void {
    this.#unaskedBytes = 0
    this.#unaskedSince = now
  }

  /** Programs say other things on their output, too: a greeting of `npm`, say. */
  #line(line: string): void {
    const message = messageOf(line)
    if (message === null) return line.trim() === '' ? undefined : this.#heard(`${line}\n`)
    if (isJSONRPCResponse(message) && this.#asked.delete(message.id)) this.#askedAgain(performance.now())
    this.onmessage?.(message)
  }
}

function messageOf(line: string): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(JSON.parse(line))
  } catch {
    return null
  }
}

function describe({ code, signal }: ProgramExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`
}
