// The link to the agent's program: ACP messages over the pipes of a contained program. Lines that are not messages count as
// noise, which has a limit and is never printed. Reading stops until `waitForRoom` resolves, so that an agent that writes faster
// than the disk waits at its pipe. Tests: test/processes/acp/hostile.test.ts.
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { finished } from 'node:stream/promises'
import { JsonRpcPipe } from '../common/json-rpc-pipe.ts'
import type { Program, ProgramExit } from '../contain/containment-contract.ts'
import { drainSlowly } from '../common/throttled-drain.ts'
import { MIB } from '../../kernel/util/mib.ts'

/** The maximum number of bytes on stdout that are not messages. */
const MAX_NOISE_BYTES = 8 * MIB
/** The number of characters kept from the end of stderr, to explain an exit. */
const TAIL_CHARS = 2_000
const LAST_LINE_CHARS = 300

export interface JsonRpcLinkDeps {
  readonly program: Program
  /** resolves when more output may be read */
  readonly waitForRoom: () => Promise<void>
  /** called with each message, as the program wrote it */
  readonly onMessage: (line: string) => void
}

export class JsonRpcLink {
  /** the messages in both directions, for the ACP library */
  readonly stream: Stream
  /** resolves with the exit status when the program has exited and its output is read to the end */
  readonly exited: Promise<ProgramExit>
  /** resolves as soon as no more output can come, whether or not the program has exited */
  readonly outputEnded: Promise<void>
  readonly #program: Program
  readonly #pipe: JsonRpcPipe
  readonly #waitForRoom: () => Promise<void>
  readonly #onMessage: (line: string) => void
  #noiseBytes = 0
  #tail = ''

  constructor({ program, waitForRoom, onMessage }: JsonRpcLinkDeps) {
    this.#onMessage = onMessage
    this.#program = program
    this.#pipe = new JsonRpcPipe({ program, closedMessage: 'the agent has ended', onEnd: () => program.signal('SIGKILL') })
    this.#waitForRoom = waitForRoom
    drainSlowly(program.stderr, (text) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARS)
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.outputEnded = promise
    this.stream = {
      readable: ReadableStream.from(this.#messages(resolve)),
      writable: new WritableStream({ write: (message) => this.#write(message) }),
    }
    // A broken pipe also ends the stream.
    const outputEnds = [promise, finished(program.stderr, { writable: false }).catch(() => undefined)]
    this.exited = program.exited.then(async (exit) => {
      await Promise.all(outputEnds)
      return exit
    })
  }

  /** why the connection was given up; null if it was not */
  get reason(): string | null {
    return this.#pipe.endReason
  }

  /** the end of stderr; adapters write there all the time, so it matters only after their exit */
  get tail(): string {
    return this.#tail
  }

  /** the last line of `tail` with a letter or digit; empty if there is none. A printed object ends with a line that has only a brace */
  get lastLine(): string {
    const line = this.#tail.split('\n').findLast((text) => /[\p{L}\p{N}]/u.test(text))
    return line?.trim().slice(-LAST_LINE_CHARS) ?? ''
  }

  /** Closes the agent's stdin, so that the agent exits. */
  close(): void {
    this.#pipe.refuseWrites()
    this.#pipe.closeInput()
  }

  /** Waits for the exit, for at most `ms`. Returns whether the program has exited. */
  exitsWithin(ms: number): Promise<boolean> {
    return this.#pipe.exitsWithin(ms)
  }

  async *#messages(onEnd: () => void): AsyncGenerator<AnyMessage> {
    try {
      for await (const chunk of this.#program.stdout as AsyncIterable<Buffer>) {
        yield* this.#parse(chunk)
        if (this.#pipe.endReason !== null) break
        await this.#waitForRoom()
      }
    } finally {
      onEnd()
      // `endUnlessExits` never rejects.
      this.#pipe.endUnlessExits().catch(() => undefined)
    }
  }

  *#parse(chunk: Buffer): Generator<AnyMessage> {
    for (const line of this.#pipe.readLines(chunk)) {
      const message = messageOf(line)
      if (message === null || !this.#isExpected(message)) {
        this.#countNoise(Buffer.byteLength(line))
        continue
      }
      this.#onMessage(line)
      yield message
    }
  }

  /** Whether the message is a request or answers one. Other answers are noise: the library would print their ids. */
  #isExpected(message: AnyMessage): boolean {
    return 'method' in message || this.#pipe.removePending(message.id)
  }

  #countNoise(bytes: number): void {
    this.#noiseBytes += bytes + 1
    if (this.#noiseBytes > MAX_NOISE_BYTES)
      this.#pipe.endProgram(`it wrote more than ${MAX_NOISE_BYTES / MIB} MiB of output outside the protocol`)
  }

  #write(message: AnyMessage): Promise<void> {
    return this.#pipe.write(message, 'method' in message && 'id' in message ? message.id : undefined)
  }
}

/** Parses a message; null for other output, such as a greeting of `npm`. */
function messageOf(line: string): AnyMessage | null {
  try {
    const message: unknown = JSON.parse(line)
    return isMessage(message) ? message : null
  } catch {
    // A line that is not JSON is other output of the program.
    return null
  }
}

function isMessage(value: unknown): value is AnyMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const message = value as Readonly<Record<string, unknown>>
  if ('id' in message && !['string', 'number'].includes(typeof message['id'])) return false
  if ('method' in message) return typeof message['method'] === 'string'
  return 'id' in message && ('result' in message || isError(message['error']))
}

function isError(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'code' in value && 'message' in value && typeof value.message === 'string'
}
