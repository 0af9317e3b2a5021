// JSON-RPC over the pipes of a contained program, one message per line, for ACP agents and MCP servers. The program's output is
// untrusted, so the length of a line is limited. A program that exceeds a limit or closes its output is ended, and the reason is kept.
// Must never block on input that the program does not read.
// Tests: test/processes/acp/hostile.test.ts, test/processes/mcp/hostile-servers.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../contain/containment-contract.ts'
import { LineSplitter } from './line-splitter.ts'
import { MIB } from '../../kernel/util/mib.ts'

/** The longest line that the program may write, in bytes. */
const MAX_LINE_BYTES = 16 * MIB
/** The maximum amount of input, in bytes, that the program may leave unread. */
const MAX_UNREAD_BYTES = 16 * MIB
/** The longest time that a program may live after it has closed its output, in ms. */
const MAX_SILENT_MS = 1_000

export interface JsonRpcPipeDeps {
  readonly program: Program
  /** called when the program has exceeded a limit or closed its output; must end the program */
  readonly onEnd: () => void
  /** the error message for a write after the program has ended, such as `the agent has ended` */
  readonly closedMessage: string
}

/** Writes and reads the messages of one program. */
export class JsonRpcPipe {
  readonly #deps: JsonRpcPipeDeps
  readonly #splitter = new LineSplitter()
  /** the ids of reeve's requests that have no answer yet */
  readonly #pending = new Set<unknown>()
  #endReason: string | null = null
  #closed = false

  constructor(deps: JsonRpcPipeDeps) {
    this.#deps = deps
  }

  /** why the program was ended, as an error message; null if it was not */
  get endReason(): string | null {
    return this.#endReason
  }

  /** Yields the lines that end in this chunk. Ends the program if its unfinished line is longer than the limit. */
  *readLines(chunk: Buffer): Generator<string> {
    for (const line of this.#splitter.push(chunk)) yield line.toString('utf8')
    if (this.#splitter.unfinishedBytes > MAX_LINE_BYTES) this.endProgram(`it wrote a line of more than ${MAX_LINE_BYTES / MIB} MiB`)
  }

  /** Removes the pending request with this id. Returns true if there was one. */
  removePending(id: unknown): boolean {
    return this.#pending.delete(id)
  }

  /**
   * Writes one message. `requestId` is set if the message is a request. Rejects if the program has ended, or ends before it reads the
   * message.
   */
  write(message: object, requestId?: unknown): Promise<void> {
    const { program, closedMessage } = this.#deps
    if (this.#closed || program.stdin === null) return Promise.reject(new Error(closedMessage))
    if (program.stdin.writableLength > MAX_UNREAD_BYTES) this.endProgram('it does not read its input')
    if (requestId !== undefined) this.#pending.add(requestId)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    program.stdin.write(`${JSON.stringify(message)}\n`, (error) => {
      // Waits for the program's exit first, because the exit explains more than a broken pipe.
      if (error) this.exitsWithin(MAX_SILENT_MS).then(() => reject(error), reject)
      else resolve()
    })
    return promise
  }

  /** Closes the program's stdin. Most programs then exit. */
  closeInput(): void {
    this.#deps.program.stdin?.end()
  }

  /** Rejects every write from now on. */
  refuseWrites(): void {
    this.#closed = true
  }

  /** Waits at most `ms` for the program's exit. Resolves to true if it has exited. */
  async exitsWithin(ms: number): Promise<boolean> {
    const timer = new AbortController()
    try {
      return await Promise.race([this.#deps.program.exited.then(() => true), sleep(ms, false, { signal: timer.signal })])
    } finally {
      timer.abort()
    }
  }

  /** Called when the program has closed its output. Ends the program unless it exits soon. */
  async endUnlessExits(): Promise<void> {
    if (!(await this.exitsWithin(MAX_SILENT_MS))) this.endProgram('it has closed its output')
  }

  /** Ends the program with this reason and reads no more of its output. The containment ends the processes that the program started. */
  endProgram(reason: string): void {
    this.#endReason ??= reason
    this.#deps.program.stdout.destroy()
    this.#splitter.clear()
    this.#deps.onEnd()
  }
}
