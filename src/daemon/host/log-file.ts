// The daemon's log file and its limit: at 10 MB the file is renamed to daemon.log.1, which it replaces, and a new file begins.
// Lines are written synchronously, so that the last lines before a crash reach the disk. A log that cannot be written must never end
// the daemon.
// Test: test/tables/daemon/host/log-file.test.ts.
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'

/** The size in bytes at which a new file begins. At most two files exist. */
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
      // The line is lost. The next one may succeed, for example when the disk has room again.
    }
  }

  #open(): number {
    const fd = openSync(this.#file, 'a', 0o600)
    this.#bytes = fstatSync(fd).size
    return fd
  }

  /** Starts a new file. If the full file cannot be renamed, it continues to grow: a long log is better than none. */
  #rotate(fd: number): void {
    try {
      renameSync(this.#file, `${this.#file}.1`)
    } catch {
      // The next line tries to rename the file again.
      return
    }
    this.#fd = null
    closeSync(fd)
    this.#fd = this.#open()
  }
}
