// Real pipes for a program's streams: FIFOs, so that `echo > /dev/stdout` works inside, which Node's sockets refuse.
// Owns a pool of them in a folder of its own (one `mkfifo` call makes many); a FIFO is unlinked as soon as both ends are
// open. The end that a program gets always blocks; ours never does.
// Tests: test/processes/contain-pipes.test.ts.
import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { FifoReader } from './reader.ts'

const BATCH_FIFOS = 64
const LOW_FIFOS = 16

/** Both ends of one pipe: ours is non-blocking, the program's blocks. */
export interface PipeEnds {
  readonly ours: number
  readonly theirs: number
}

export class FifoPool implements AsyncDisposable {
  readonly #dir: string
  readonly #free: string[] = []
  #filling: Promise<void> | null = null
  #made = 0

  /** `dir` is made (0700) and belongs to the pool alone. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Paths of `count` fresh FIFOs; the caller opens and unlinks them in the same turn. */
  async take(count: number): Promise<string[]> {
    while (this.#free.length < count) await this.#fill()
    const taken = this.#free.splice(0, count)
    // In the background: nobody waits for it. A failure is told to the next taker, who tries again.
    if (this.#free.length < LOW_FIFOS) this.#fill().catch(() => undefined)
    return taken
  }

  #fill(): Promise<void> {
    this.#filling ??= this.#make().finally(() => { this.#filling = null })
    return this.#filling
  }

  async #make(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const names = Array.from({ length: BATCH_FIFOS }, () => `f${this.#made++}`)
    await promisify(execFile)('mkfifo', ['-m', '600', ...names], { cwd: this.#dir })
    this.#free.push(...names.map((name) => join(this.#dir, name)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#filling?.catch(() => undefined)
    await rm(this.#dir, { recursive: true, force: true })
  }
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

/** Opens a pipe that the program writes and we read. */
export function openInward(path: string): PipeEnds {
  using undo = new DisposableStack()
  const ours = undo.adopt(openSync(path, O_RDONLY | O_NONBLOCK), closeSync)
  const theirs = undo.adopt(openSync(path, O_WRONLY), closeSync)
  unlinkSync(path)
  undo.move()
  return { ours, theirs }
}

/**
 * Opens a pipe that we write and the program reads. The first reader is there so that neither of the others blocks.
 * A program that opens /dev/stdin anew after we have closed our end waits for a writer that never comes: an OS rule.
 */
export function openOutward(path: string): PipeEnds {
  using undo = new DisposableStack()
  const first = undo.adopt(openSync(path, O_RDONLY | O_NONBLOCK), closeSync)
  const ours = undo.adopt(openSync(path, O_WRONLY | O_NONBLOCK), closeSync)
  const theirs = undo.adopt(openSync(path, O_RDONLY), closeSync)
  unlinkSync(path)
  undo.move()
  closeSync(first)
  return { ours, theirs }
}

export function readerOf(ends: PipeEnds): FifoReader {
  return new FifoReader(ends.ours)
}

/** A program may close its stdin whenever it likes: the writer is told through its callback, and nothing else happens. */
export function writerOf(ends: PipeEnds): Writable {
  const socket = new Socket({ fd: ends.ours, readable: false, writable: true })
  socket.on('error', () => socket.destroy())
  return socket
}
