// The line to the agent's program: the messages of the protocol, one per line of JSON, over a program of the containment.
// Its output is hostile: a line has a longest length, what is no message has a most, and nothing of it is printed. Reading
// waits for `room`, so that an agent which talks faster than the disk waits at its pipe.
// Tests: test/processes/acp-hostile.test.ts.
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program, ProgramExit } from '../contain/contain.ts'
import { hearSlowly } from '../mcp/slowed.ts'

const MIB = 1024 * 1024
const LF = 0x0a
const MAX_LINE_BYTES = 16 * MIB
/** Most that it may write which is no message. */
const MAX_NOISE_BYTES = 8 * MIB
/** Most that waits for it to read its input. */
const MAX_UNREAD_BYTES = 16 * MIB
/** Of what it says beside the protocol so much is remembered, for the words of its end. */
const TAIL_CHARS = 2_000
const LAST_LINE_CHARS = 300
/** How long a program may live without its output. */
const SILENT_MS = 1_000

export interface LinkParts {
  readonly program: Program
  /** resolves when more may be read */
  readonly room: () => Promise<void>
}

export class Link {
  /** for the library */
  readonly stream: Stream
  /** resolves with how the program ended, when its output is read to the end */
  readonly ended: Promise<ProgramExit>
  /** resolves as soon as nothing more will come, whether or not the program has ended */
  readonly silent: Promise<void>
  readonly #program: Program
  readonly #room: () => Promise<void>
  /** requests of ours that wait for an answer */
  readonly #asked = new Set<unknown>()
  #parts: Buffer[] = []
  #partBytes = 0
  #noiseBytes = 0
  #tail = ''
  #reason: string | null = null
  #closed = false

  constructor({ program, room }: LinkParts) {
    this.#program = program
    this.#room = room
    hearSlowly(program.stderr, (text) => { this.#tail = (this.#tail + text).slice(-TAIL_CHARS) })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.silent = promise
    this.stream = {
      readable: ReadableStream.from(this.#messages(resolve)),
      writable: new WritableStream({ write: (message) => this.#write(message) }),
    }
    const read = [promise, finished(program.stderr, { writable: false }).catch(() => undefined)]
    this.ended = program.exited.then(async (exit) => {
      await Promise.all(read)
      return exit
    })
  }

  /** why the line was given up; null if it was not */
  get reason(): string | null {
    return this.#reason
  }

  /** the last of what it said beside the protocol; adapters chatter there all the time, so that only their end makes it matter */
  get tail(): string {
    return this.#tail
  }

  /** the last line of that; empty if none */
  get lastLine(): string {
    return this.#tail.trimEnd().split('\n').at(-1)?.trim().slice(-LAST_LINE_CHARS) ?? ''
  }

  /** Ends its input: agents end with it. */
  close(): void {
    this.#closed = true
    this.#program.stdin?.end()
  }

  /** Resolves when the program has ended, or after `ms`; says whether it has. */
  async endsWithin(ms: number): Promise<boolean> {
    const timer = new AbortController()
    try {
      return await Promise.race([this.#program.exited.then(() => true), sleep(ms, false, { signal: timer.signal })])
    } finally {
      timer.abort()
    }
  }

  async *#messages(silent: () => void): AsyncGenerator<AnyMessage> {
    try {
      for await (const chunk of this.#program.stdout as AsyncIterable<Buffer>) {
        yield* this.#take(chunk)
        if (this.#reason !== null) break
        await this.#room()
      }
    } finally {
      this.#parts = []
      silent()
      this.#watchSilent().catch(() => undefined)
    }
  }

  async #watchSilent(): Promise<void> {
    if (!(await this.endsWithin(SILENT_MS))) this.#fail('it has closed its output')
  }

  *#take(chunk: Buffer): Generator<AnyMessage> {
    let from = 0
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(from, at)])
      this.#parts = []
      this.#partBytes = 0
      from = at + 1
      const message = messageOf(line.toString('utf8'))
      if (message !== null && this.#isDue(message)) yield message
      else this.#noise(line.length)
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from))
    this.#partBytes += chunk.length - from
    if (this.#partBytes > MAX_LINE_BYTES) this.#fail(`it wrote a line of more than ${MAX_LINE_BYTES / MIB} MiB`)
  }

  /** An answer that nobody asked for is noise: the library would print its id. */
  #isDue(message: AnyMessage): boolean {
    return 'method' in message || this.#asked.delete(message.id)
  }

  #noise(bytes: number): void {
    this.#noiseBytes += bytes + 1
    if (this.#noiseBytes > MAX_NOISE_BYTES) this.#fail(`it wrote more than ${MAX_NOISE_BYTES / MIB} MiB that is no message of the protocol`)
  }

  /** Reads no more of it, and ends it; what it started is the containment's. */
  #fail(reason: string): void {
    this.#reason ??= reason
    this.#program.stdout.destroy()
    this.#program.signal('SIGKILL')
  }

  #write(message: AnyMessage): Promise<void> {
    const { stdin } = this.#program
    if (this.#closed || stdin === null) return Promise.reject(new Error('the agent has ended'))
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#fail('it does not read its input')
    if ('method' in message && 'id' in message) this.#asked.add(message.id)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
    return promise
  }
}

/** Programs say other things on their output, too: a greeting of `npm`, say. */
function messageOf(line: string): AnyMessage | null {
  try {
    const message: unknown = JSON.parse(line)
    return isMessage(message) ? message : null
  } catch {
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

/** How a program ended, in words. */
export function describeExit({ code, signal }: ProgramExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`
}
