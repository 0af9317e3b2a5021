// The daemon's log file, and its limit: at 10 MB it becomes daemon.log.1, in place of the one before, and a new one begins.
// Lines are written at once, so that the last words of a daemon that dies are there. A log that cannot be written ends nobody.
// Test: test/tables/log-file.test.ts.
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'

/** bytes after which a new file begins; there are two at most */
const MAX_BYTES = 10_000_000

export class LogFile {
  readonly #file: string
  readonly #maxBytes: number
  #fd: number | null = null
  #bytes = 0

  constructor(file: string, maxBytes = MAX_BYTES) {
    this.#file = file
    this.#maxBytes = maxBytes
  }

  write(line: string): void {
    try {
      this.#fd ??= this.#open()
      if (this.#bytes > 0 && this.#bytes + Buffer.byteLength(line) > this.#maxBytes) this.#rotate(this.#fd)
      this.#bytes += writeSync(this.#fd, line)
    } catch {
      // There may be room, or the directory, when the next line comes.
    }
  }

  #open(): number {
    const fd = openSync(this.#file, 'a', 0o600)
    this.#bytes = fstatSync(fd).size
    return fd
  }

  /** What cannot be renamed is written on: a long log is better than none. */
  #rotate(fd: number): void {
    try {
      renameSync(this.#file, `${this.#file}.1`)
    } catch {
      return
    }
    this.#fd = null
    closeSync(fd)
    this.#fd = this.#open()
  }
}
