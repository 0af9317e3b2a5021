// Real pipes for a program's streams. They are FIFOs, so that `echo > /dev/stdout` works inside, which fails with Node's sockets. Keeps a
// pool of FIFOs in its own directory; one `mkfifo` call creates many. A FIFO is unlinked as soon as both ends are open. The program's end
// always blocks; ours never does. Tests: test/processes/contain/pipes.test.ts.
import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { PipeReader } from './pipe-reader.ts'

const BATCH_FIFOS = 64
const REFILL_BELOW_FIFOS = 16

/** The descriptors of one pipe's ends: ours is non-blocking, the program's blocks. */
export interface PipeEnds {
  readonly ours: number
  readonly theirs: number
}

export class FifoPool implements AsyncDisposable {
  readonly #dir: string
  readonly #free: string[] = []
  #pendingFill: Promise<void> | null = null
  #createdCount = 0

  /** Creates `dir` (mode 0700) on demand; the pool owns this directory. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Returns the paths of `count` unused FIFOs. The caller opens each once, which unlinks it, or gives all of them back. */
  async take(count: number): Promise<string[]> {
    while (this.#free.length < count) await this.#fill()
    const taken = this.#free.splice(0, count)
    // The pool is refilled in the background. After a failure the next `take` tries again and gets the error.
    if (this.#free.length < REFILL_BELOW_FIFOS) this.#fill().catch(() => undefined)
    return taken
  }

  /** Takes unused FIFOs back. */
  giveBack(unused: readonly string[]): void {
    this.#free.push(...unused)
  }

  #fill(): Promise<void> {
    this.#pendingFill ??= this.#createBatch().finally(() => {
      this.#pendingFill = null
    })
    return this.#pendingFill
  }

  async #createBatch(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const names = Array.from({ length: BATCH_FIFOS }, () => `f${this.#createdCount++}`)
    await promisify(execFile)('mkfifo', ['-m', '600', ...names], { cwd: this.#dir })
    this.#free.push(...names.map((name) => join(this.#dir, name)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // `take` has received the error. The directory is removed anyway.
    await this.#pendingFill?.catch(() => undefined)
    await rm(this.#dir, { recursive: true, force: true })
  }
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

/** Opens a pipe that the program writes and the daemon reads. */
export function openOutputPipe(path: string): PipeEnds {
  using undo = new DisposableStack()
  const ours = undo.adopt(openSync(path, O_RDONLY | O_NONBLOCK), closeSync)
  const theirs = undo.adopt(openSync(path, O_WRONLY), closeSync)
  unlinkSync(path)
  undo.move()
  return { ours, theirs }
}

/**
 * Opens a pipe that the daemon writes and the program reads. A temporary reader comes first, so that the other two opens do not block.
 * A rule of the OS: a program that reopens /dev/stdin after our end was closed waits for a writer for ever.
 */
export function openInputPipe(path: string): PipeEnds {
  using undo = new DisposableStack()
  const temporaryReader = undo.adopt(openSync(path, O_RDONLY | O_NONBLOCK), closeSync)
  const ours = undo.adopt(openSync(path, O_WRONLY | O_NONBLOCK), closeSync)
  const theirs = undo.adopt(openSync(path, O_RDONLY), closeSync)
  unlinkSync(path)
  undo.move()
  closeSync(temporaryReader)
  return { ours, theirs }
}

export function readerOf(ends: PipeEnds): PipeReader {
  return new PipeReader(ends.ours)
}

/** Returns a writer for the pipe. If the program closes its stdin, only the write's callback gets the error. */
export function writerOf(ends: PipeEnds): Writable {
  const socket = new Socket({ fd: ends.ours, readable: false, writable: true })
  socket.on('error', () => socket.destroy())
  return socket
}
