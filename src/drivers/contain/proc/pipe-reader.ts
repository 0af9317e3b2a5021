// The reading end of a program's pipe as a stream: non-blocking, with back-pressure, ended by EOF. A pipe may outlive its program. A
// grandchild may hold the pipe open for ever, so after the exit a quiet time ends the stream. Everything written before the exit is
// delivered, however slow the consumer is. Tests: test/processes/contain/pipes.test.ts.
import { readSync } from 'node:fs'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeLinkOf } from './pipe-holders.ts'
import type { OutputPipe } from './pipe-holders.ts'

/** After the exit, a pipe that another process holds open ends after this time without data. */
const QUIET_MS = 200
/** After the exit, such a pipe ends after this time at the latest, however much a grandchild writes. */
const DRAIN_MS = 2_000
/** The largest capacity of a pipe on Linux (pipe-max-size), so the maximum that can remain in it. */
const DRAIN_BYTES = 1024 * 1024
const CHUNK_BYTES = 64 * 1024

export class PipeReader extends Readable implements OutputPipe {
  readonly link: string | null
  readonly #fd: number
  readonly #socket: Socket
  readonly #timers: NodeJS.Timeout[] = []
  #bytes = 0
  #isFinished = false

  /** Takes over the descriptor, which must be the non-blocking read end of a pipe. */
  constructor(fd: number) {
    super()
    this.#fd = fd
    this.link = pipeLinkOf(fd)
    this.#socket = new Socket({ fd, readable: true, writable: false })
    this.#socket.on('data', (chunk) => this.#accept(chunk))
    this.#socket.on('end', () => this.finish())
    // After any error of a pipe no more data arrives.
    this.#socket.on('error', () => this.finish())
  }

  /** the number of bytes read from the pipe so far */
  get bytes(): number {
    return this.#bytes
  }

  /** whether the descriptor is closed; data may still wait for the consumer */
  get isPipeClosed(): boolean {
    return this.#isFinished
  }

  /**
   * Must be called at the program's exit. Reads what the program has written: its result must not depend on when the event loop sees the
   * pipe. From then on a quiet time ends the stream, too.
   */
  onProgramExit(): void {
    if (this.#isFinished || this.destroyed) return
    // While a slow consumer has stopped the socket, the socket has earlier data, and reads the rest in its order.
    if (this.#socket.readableLength === 0) this.#readPipe()
    this.#timers.push(
      setTimeout(() => this.finish(), QUIET_MS),
      setTimeout(() => this.finish(), DRAIN_MS),
    )
  }

  /** Reads the remaining data from the pipe and ends the stream. Idempotent. */
  finish(): void {
    if (this.#isFinished || this.destroyed) return
    this.#isFinished = true
    this.#clearTimers()
    this.#socket.removeAllListeners('data')
    this.#drain()
    this.push(null)
    this.#socket.destroy()
  }

  override _read(): void {
    if (!this.#isFinished) this.#socket.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#isFinished = true
    this.#clearTimers()
    this.#socket.destroy()
    done(error)
  }

  #accept(chunk: Buffer): void {
    this.#timers[0]?.refresh()
    if (!this.#pushChunk(chunk)) this.#socket.pause()
  }

  #pushChunk(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    return this.push(chunk)
  }

  /** Takes the data that the socket has buffered, then the data in the kernel. */
  #drain(): void {
    for (let chunk = this.#socket.read(); chunk !== null; chunk = this.#socket.read()) this.#pushChunk(chunk)
    this.#readPipe()
  }

  /** Takes the data in the kernel. */
  #readPipe(): void {
    if (this.#socket.readableEnded || this.#socket.destroyed) return
    for (let readBytes = 0; readBytes < DRAIN_BYTES;) {
      const chunk = readAvailable(this.#fd)
      if (chunk === null) return
      this.#pushChunk(chunk)
      readBytes += chunk.length
    }
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}

// Returns null at EAGAIN, EOF or a broken pipe, because none of them leaves data to read.
function readAvailable(fd: number): Buffer | null {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  try {
    const length = readSync(fd, chunk)
    return length === 0 ? null : chunk.subarray(0, length)
  } catch {
    // There is no data to read.
    return null
  }
}
