// Calls of one process as files: what was asked and what was answered, as it went over the wire, for people who want to look.
// Bounded; never in the way of a call, never with a key: those stand in headers, and no header is recorded.
// Test: test/processes/gateway-record.test.ts.
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WriteStream } from 'node:fs'

const MIB = 1024 * 1024
/** of all calls of one process */
const MAX_BYTES = 256 * MIB
/** of an answer, waiting for the disk */
const MAX_WAITING_BYTES = 8 * MIB

export interface Recording {
  answer(chunk: Buffer): void
  end(): void
}

export class Recorder {
  readonly #dir: string
  readonly #log: (message: string, error: unknown) => void
  #ready: Promise<void> | null = null
  #bytes = 0
  #told = false

  /** `dir`: of this process alone; calls of earlier incarnations are in there */
  constructor(dir: string, log: (message: string, error: unknown) => void) {
    this.#dir = dir
    this.#log = log
  }

  /** `name` is one that no other call has. Null: no more is recorded. */
  async begin(name: string, line: { readonly method: string; readonly path: string; readonly provider: string; readonly at: number }, body: Buffer): Promise<Recording | null> {
    try {
      await (this.#ready ??= this.#open())
      if (!this.#has(body.length)) return null
      await writeFile(join(this.#dir, `${name}.request`), Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), body]), { mode: 0o600 })
      return this.#answerOf(name)
    } catch (error) {
      this.#log(`a call cannot be recorded in ${this.#dir}`, error)
      return null
    }
  }

  #answerOf(name: string): Recording {
    const file: WriteStream = createWriteStream(join(this.#dir, `${name}.answer`), { mode: 0o600 })
    file.once('error', (error) => this.#log(`an answer cannot be recorded in ${this.#dir}`, error))
    return {
      answer: (chunk) => { if (!file.destroyed && file.writableLength < MAX_WAITING_BYTES && this.#has(chunk.length)) file.write(chunk) },
      end: () => { file.end() },
    }
  }

  #has(bytes: number): boolean {
    this.#bytes += bytes
    if (this.#bytes <= MAX_BYTES) return true
    if (!this.#told) this.#log(`${this.#dir} has ${MAX_BYTES / MIB} MiB of recorded calls: no more are recorded`, null)
    this.#told = true
    return false
  }

  async #open(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#dir)) this.#bytes += (await stat(join(this.#dir, name))).size
  }
}
