// Records the calls of one process as files for the user: the bodies of requests and answers, as they were sent. The total size of the
// files is limited. Must never make a call fail, or delay its answer. Must never record headers, which contain keys.
// Test: test/processes/gateway/call-recorder.test.ts.
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WriteStream } from 'node:fs'
import { MIB } from '../../kernel/util/mib.ts'

/** The maximum number of bytes of all recorded calls of one process. */
const MAX_RECORDED_BYTES = 256 * MIB
/** The maximum number of bytes of an answer that may wait to be written to disk. Further bytes are not recorded. */
const MAX_WAITING_BYTES = 8 * MIB

/** The recording of one call. */
export interface CallRecording {
  /** Adds a part of the answer. */
  addAnswer(chunk: Buffer): void
  /** Ends the recording. */
  end(): void
}

export class CallRecorder {
  readonly #dir: string
  readonly #log: (message: string, error: unknown) => void
  /** resolves when the folder exists; null before the first call */
  #dirOpened: Promise<void> | null = null
  /** the size of all recorded files */
  #recordedBytes = 0
  #hasLogged = false

  /** `dir` belongs only to this process, and also contains the calls of its earlier incarnations. */
  constructor(dir: string, log: (message: string, error: unknown) => void) {
    this.#dir = dir
    this.#log = log
  }

  /** Records the request of a call. `name` is unique among the calls of the process. Null if the call is not recorded. */
  async recordRequest(
    name: string,
    requestLine: { readonly method: string; readonly path: string; readonly provider: string; readonly at: number },
    body: Buffer,
  ): Promise<CallRecording | null> {
    try {
      await (this.#dirOpened ??= this.#openDir())
      if (!this.#reserveBytes(body.length)) return null
      await writeFile(join(this.#dir, `${name}.request`), [Buffer.from(`${JSON.stringify(requestLine)}\n`), body], { mode: 0o600 })
      return this.#openAnswer(name)
    } catch (error) {
      this.#log(`a call cannot be recorded in ${this.#dir}`, error)
      return null
    }
  }

  #openAnswer(name: string): CallRecording {
    const file: WriteStream = createWriteStream(join(this.#dir, `${name}.answer`), { mode: 0o600 })
    file.once('error', (error) => this.#log(`an answer cannot be recorded in ${this.#dir}`, error))
    return {
      addAnswer: (chunk) => {
        if (!file.destroyed && file.writableLength < MAX_WAITING_BYTES && this.#reserveBytes(chunk.length)) file.write(chunk)
      },
      end: () => {
        file.end()
      },
    }
  }

  /** Counts bytes to record. False if the limit is exceeded. */
  #reserveBytes(bytes: number): boolean {
    this.#recordedBytes += bytes
    if (this.#recordedBytes <= MAX_RECORDED_BYTES) return true
    if (!this.#hasLogged) this.#log(`${this.#dir} has ${MAX_RECORDED_BYTES / MIB} MiB of recorded calls: no more are recorded`, null)
    this.#hasLogged = true
    return false
  }

  /** Creates the folder, and counts the files of earlier incarnations. */
  async #openDir(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#dir)) this.#recordedBytes += (await stat(join(this.#dir, name))).size
  }
}
