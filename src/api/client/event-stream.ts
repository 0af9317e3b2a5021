// Parses a stream of server-sent events from its bytes. Yields the JSON text of each event, or the parsed events of the stream of rows.
// Decodes only whole lines or rows, so that a boundary between two chunks cannot damage a character. Lines end with LF, and their length is
// limited.
// Test: test/tables/api/client/http.test.ts.
import { LongListParser } from './long-list-parser.ts'

/** the longest event, in bytes: a tool result of 8 MiB, and its overhead in JSON */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024
/** the longest event of the stream of rows: a snapshot of all rows, of some 1.5 KB each */
const MAX_SNAPSHOT_BYTES = 128 * 1024 * 1024

/** Yields the `data` of each event. Comments, ids and names of events are skipped, because the data contains `seq` and `type`. */
export async function* readEventData(body: AsyncIterable<Buffer>, maxBytes = MAX_EVENT_BYTES): AsyncGenerator<string, void> {
  let data: string[] = []
  for await (const line of lines(body, maxBytes)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5))
    }
  }
}

/** Yields each event of the stream of rows, parsed. Each has one line of `data`. The rows of a snapshot are parsed as they come. */
export async function* readRowEvents(body: AsyncIterable<Buffer>, maxBytes = MAX_SNAPSHOT_BYTES): AsyncGenerator<unknown, void> {
  let line = new RowEventLine(maxBytes)
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      line.push(chunk.subarray(start, end))
      if (line.hasData) yield line.end()
      line = new RowEventLine(maxBytes)
      start = end + 1
    }
    line.push(chunk.subarray(start))
  }
}

const DATA = 'data:'

class RowEventLine {
  readonly #maxBytes: number
  readonly #parser = new LongListParser('rows')
  /** the first characters */
  #name = ''
  #byteCount = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get hasData(): boolean {
    return this.#name === DATA
  }

  push(bytes: Buffer): void {
    this.#byteCount += bytes.length
    if (this.#byteCount > this.#maxBytes) throw new Error(`an event is longer than ${this.#maxBytes} bytes`)
    const missing = DATA.length - this.#name.length
    this.#name += bytes.toString('latin1', 0, missing)
    if (this.hasData) this.#parser.push(bytes.subarray(missing))
  }

  end(): unknown {
    return this.#parser.end()
  }
}

async function* lines(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string, void> {
  let partialLine: Buffer[] = []
  let partialBytes = 0
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      partialLine.push(chunk.subarray(start, end))
      yield Buffer.concat(partialLine).toString('utf8').replace(/\r$/, '')
      partialLine = []
      partialBytes = 0
      start = end + 1
    }
    partialLine.push(chunk.subarray(start))
    partialBytes += chunk.length - start
    if (partialBytes > maxBytes) throw new Error(`an event is longer than ${maxBytes} bytes`)
  }
}
