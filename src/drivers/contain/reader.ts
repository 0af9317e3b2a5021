// The reading end of a program's pipe as a stream: non-blocking, with back-pressure, ended by EOF.
// Owns the rule for what ends before its pipe does: a grandchild may hold the pipe open for ever, so once the program has
// exited the stream ends when it was quiet for a while. All that was written before the exit is delivered first, however
// slow the consumer is. Tests: test/processes/contain-pipes.test.ts.
import { readSync } from 'node:fs'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { linkOf } from './holders.ts'
import type { Output } from './holders.ts'

/** After the exit, a pipe that others hold open ends when nothing came for so long… */
const QUIET_MS = 200
/** …and at the latest after this, however much a grandchild has to say. */
const DRAIN_MS = 2_000
/** A pipe's largest capacity on Linux (pipe-max-size): what can be in it at the end. */
const DRAIN_BYTES = 1024 * 1024
const CHUNK_BYTES = 64 * 1024

export class FifoReader extends Readable implements Output {
  readonly link: string | null
  readonly #fd: number
  readonly #inner: Socket
  readonly #timers: NodeJS.Timeout[] = []
  #bytes = 0
  #done = false

  /** Takes over the descriptor, which must be the non-blocking read end of a pipe. */
  constructor(fd: number) {
    super()
    this.#fd = fd
    this.link = linkOf(fd)
    this.#inner = new Socket({ fd, readable: true, writable: false })
    this.#inner.on('data', (chunk) => this.#accept(chunk))
    this.#inner.on('end', () => this.finish())
    // A pipe cannot fail half-way: whatever this is, nothing more will come.
    this.#inner.on('error', () => this.finish())
  }

  /** what was read of the pipe so far */
  get bytes(): number {
    return this.#bytes
  }

  /** the descriptor is given back; what was read may still wait for the consumer */
  get closedPipe(): boolean {
    return this.#done
  }

  /** The program has exited: from now on quiet is the end, too. */
  settle(): void {
    if (this.#done || this.destroyed) return
    this.#timers.push(setTimeout(() => this.finish(), QUIET_MS), setTimeout(() => this.finish(), DRAIN_MS))
  }

  /** Takes what the pipe still has and ends the stream. Idempotent. */
  finish(): void {
    if (this.#done || this.destroyed) return
    this.#done = true
    this.#clearTimers()
    this.#inner.removeAllListeners('data')
    this.#drainInner()
    this.push(null)
    this.#inner.destroy()
  }

  override _read(): void {
    if (!this.#done) this.#inner.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#done = true
    this.#clearTimers()
    this.#inner.destroy()
    done(error)
  }

  #accept(chunk: Buffer): void {
    this.#timers[0]?.refresh()
    if (!this.#take(chunk)) this.#inner.pause()
  }

  #take(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    return this.push(chunk)
  }

  // First what our socket has read already, then what the kernel still holds: the descriptor does not block.
  #drainInner(): void {
    for (let chunk = this.#inner.read(); chunk !== null; chunk = this.#inner.read()) this.#take(chunk)
    if (this.#inner.readableEnded || this.#inner.destroyed) return
    for (let taken = 0; taken < DRAIN_BYTES;) {
      const chunk = readNow(this.#fd)
      if (chunk === null) return
      this.#take(chunk)
      taken += chunk.length
    }
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}

// Nothing there (EAGAIN), EOF and a broken pipe all mean that there is nothing more to have.
function readNow(fd: number): Buffer | null {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  try {
    const length = readSync(fd, chunk)
    return length === 0 ? null : chunk.subarray(0, length)
  } catch {
    return null
  }
}
