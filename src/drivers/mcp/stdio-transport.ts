// Connects to an MCP server that is a program, as a transport of the MCP library. The program is in the containment, which stops and
// freezes it. The program is untrusted, so the length of a line and the amount of unsolicited output are limited. A program that exceeds a
// limit is ended, and the reason is kept. Must never block when the program does not read its input.
// Tests: test/processes/mcp/hostile-servers.test.ts, test/processes/mcp/stdio.test.ts.
import { finished } from 'node:stream/promises'
import { isJSONRPCRequest, isJSONRPCResponse, parseJSONRPCMessage } from '@modelcontextprotocol/client'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { describeExit } from '../common/describe-exit.ts'
import { JsonRpcPipe } from '../common/json-rpc-pipe.ts'
import type { Program } from '../contain/containment-contract.ts'
import type { EndWaits } from '../native/tools/tool.ts'
import { drainSlowly } from '../common/throttled-drain.ts'
import { MIB } from '../../kernel/util/mib.ts'

/** The maximum amount of output without an answer to a request, in bytes per `UNSOLICITED_MS`. */
const MAX_UNSOLICITED_BYTES = 64 * MIB
const UNSOLICITED_MS = 60_000
/** The maximum number of progress messages, one per call, that are kept until they are passed on. */
const MAX_KEPT_PROGRESS = 100
/** Matches the beginning of a progress message. An answer does not match, because it has no method. */
const PROGRESS_START = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"method"\s*:\s*"notifications\/progress"\s*,/
/** The number of first characters of a line that are tested for a progress message. */
const PROGRESS_START_CHARS = 200
/** The longest wait for the exit after SIGKILL, in ms. The containment ends a program that is still alive then. */
const KILL_MS = 1_000

/** The waits when a program must end soon. */
export const SHORT_END_WAITS: EndWaits = { stdinMs: 0, termMs: 300 }

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /**
   * The library recognizes a local program by `stderr` and `pid`. If a local program does not answer, the library treats it as an older
   * server.
   */
  readonly stderr = null
  readonly pid: number
  /** resolves when the program has ended; the text describes how */
  readonly ended: Promise<string>
  readonly #program: Program
  readonly #onOutput: (text: string) => void
  readonly #pipe: JsonRpcPipe
  /** the newest progress message of each call that has not been passed on, by the call's token */
  readonly #progress = new Map<string, string>()
  #unsolicitedBytes = 0
  #unsolicitedSince = performance.now()
  #unexpectedExit: string | null = null
  #closed = false

  /** `onOutput` receives the output that is not a message. */
  constructor(program: Program, onOutput: (text: string) => void) {
    this.#program = program
    this.#onOutput = onOutput
    this.#pipe = new JsonRpcPipe({
      program,
      closedMessage: 'the server has ended',
      onEnd: () => {
        // The containment ends a program that survives this.
        this.end(SHORT_END_WAITS).catch(() => undefined)
      },
    })
    this.pid = program.handle.pid
    this.ended = this.#watchExit()
    drainSlowly(program.stderr, onOutput)
  }

  /** how the program ended without a request of reeve; null if it runs, or if reeve closed the transport */
  get unexpectedEnd(): string | null {
    return this.#pipe.endReason ?? this.#unexpectedExit
  }

  start(): Promise<void> {
    const { stdout } = this.#program
    // Reads one chunk per turn of the event loop, so that a flood of output does not block the daemon.
    stdout.on('data', (chunk: Buffer) => {
      stdout.pause()
      setImmediate(() => stdout.resume())
      this.#onChunk(chunk)
    })
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#pipe.write(message, isJSONRPCRequest(message) ? message.id : undefined)
  }

  /** Closes the program's stdin and rejects the open requests. `end` also ends the program. */
  close(): Promise<void> {
    this.#pipe.closeInput()
    this.#markClosed()
    return Promise.resolve()
  }

  /** Ends the program: closes its stdin, then sends SIGTERM and SIGKILL to its process group. */
  async end({ stdinMs, termMs }: EndWaits): Promise<void> {
    await this.close()
    if ((await this.#pipe.exitsWithin(stdinMs)) || termMs === null) return
    this.#program.signal('SIGTERM')
    if (await this.#pipe.exitsWithin(termMs)) return
    this.#program.signal('SIGKILL')
    await this.#pipe.exitsWithin(KILL_MS)
  }

  async #watchExit(): Promise<string> {
    const { stdout, exited } = this.#program
    // `finished` rejects after a broken pipe, which also ends the output.
    const outputEnded = finished(stdout, { writable: false }).catch(() => undefined)
    // The wait for the exit never rejects.
    outputEnded.then(() => this.#pipe.endUnlessExits()).catch(() => undefined)
    const exitText = describeExit(await exited)
    if (!this.#closed) this.#unexpectedExit = exitText
    await outputEnded
    this.#markClosed()
    return this.#pipe.endReason ?? exitText
  }

  #markClosed(): void {
    if (this.#closed) return
    this.#closed = true
    this.#pipe.refuseWrites()
    this.onclose?.()
  }

  #onChunk(chunk: Buffer): void {
    if (this.#pipe.endReason !== null) return
    for (const line of this.#pipe.readLines(chunk)) this.#onLine(line)
    this.#passProgressOn()
    this.#countUnsolicited(chunk.length)
  }

  /** Ends the program after too much output without an answer. */
  #countUnsolicited(bytes: number): void {
    const now = performance.now()
    if (now - this.#unsolicitedSince > UNSOLICITED_MS) this.#resetUnsolicited(now)
    this.#unsolicitedBytes += bytes
    if (this.#unsolicitedBytes > MAX_UNSOLICITED_BYTES)
      this.#pipe.endProgram(`it wrote more than ${MAX_UNSOLICITED_BYTES / MIB} MiB without answering a request`)
  }

  #resetUnsolicited(now: number): void {
    this.#unsolicitedBytes = 0
    this.#unsolicitedSince = now
  }

  /** Handles one line. A line that is not a message, such as a greeting of `npm`, is passed on as output. */
  #onLine(line: string): void {
    const call = progressCallOf(line)
    if (call !== null) return this.#keepProgress(call, line)
    this.#passProgressOn()
    const message = parseMessage(line)
    if (message === null) return line.trim() === '' ? undefined : this.#onOutput(`${line}\n`)
    if (isJSONRPCResponse(message) && this.#pipe.removePending(message.id)) this.#resetUnsolicited(performance.now())
    this.onmessage?.(message)
  }

  /** Keeps only the newest progress message of each call. */
  #keepProgress(call: string, line: string): void {
    this.#progress.set(call, line)
    if (this.#progress.size > MAX_KEPT_PROGRESS) this.#passProgressOn()
  }

  #passProgressOn(): void {
    const lines = [...this.#progress.values()]
    this.#progress.clear()
    for (const message of lines.map(parseMessage)) if (message !== null) this.onmessage?.(message)
  }
}

/**
 * The token of the call to which a progress message belongs; null for any other line. Uses a regular expression, because a flood of
 * lines would take too long to parse.
 */
function progressCallOf(line: string): string | null {
  return PROGRESS_START.test(line.slice(0, PROGRESS_START_CHARS))
    ? (/"progressToken"\s*:\s*("[^"\\]{0,200}"|\d{1,20})/.exec(line)?.[1] ?? null)
    : null
}

function parseMessage(line: string): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(JSON.parse(line))
  } catch {
    // A line that is not a message is output of the server.
    return null
  }
}
