// Splits a program's bytes into text: whole lines, split on LF only, each with its LF. The input is untrusted, so line lengths are limited
// and invalid bytes are replaced. A character is never split, however its bytes arrive. Pure.
// Tests: test/processes/command/command.test.ts.

/**
 * The maximum length of a line that is kept whole. A longer line is returned in several pieces, of which only the last one ends with LF.
 */
export const MAX_LINE_BYTES = 64 * 1024
const LF = 0x0a
/** A UTF-8 character has at most three bytes after its first one. */
const MAX_CONTINUATIONS = 3

/** Splits a stream's bytes into pieces of text. */
export interface StreamSplitter {
  /** the number of buffered bytes of an unfinished line, which `flush` may return */
  readonly bufferedBytes: number
  /** Returns the pieces that end in this chunk. */
  feed(chunk: Buffer): string[]
  /** Returns the unfinished line so far; empty if the line must stay whole. */
  flush(): string
  /** Returns all buffered bytes as text, at the end of the stream. */
  end(): string
}

export class OutputLineSplitter implements StreamSplitter {
  #buffered: Buffer = Buffer.alloc(0)

  /** the number of buffered bytes of the unfinished line */
  get bufferedBytes(): number {
    return this.#buffered.length
  }

  feed(chunk: Buffer): string[] {
    const bytes = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    const pieces: string[] = []
    let from = 0
    for (let to = endOfPiece(bytes, from); to !== null; to = endOfPiece(bytes, from)) {
      pieces.push(bytes.toString('utf8', from, to))
      from = to
    }
    // Copy the bytes, so that a small piece does not keep a large chunk in memory.
    this.#buffered = Buffer.from(bytes.subarray(from))
    return pieces
  }

  /** Returns the unfinished line so far, without an incomplete character at its end. */
  flush(): string {
    const to = characterBoundary(this.#buffered, this.#buffered.length)
    const text = this.#buffered.toString('utf8', 0, to)
    this.#buffered = this.#buffered.subarray(to)
    return text
  }

  /** Returns all buffered bytes as text, at the end of the stream. */
  end(): string {
    const text = this.#buffered.toString('utf8')
    this.#buffered = Buffer.alloc(0)
    return text
  }
}

function endOfPiece(bytes: Buffer, from: number): number | null {
  const at = bytes.indexOf(LF, from)
  const to = at < 0 ? bytes.length : at + 1
  if (to - from > MAX_LINE_BYTES) return characterBoundary(bytes, from + MAX_LINE_BYTES)
  return at < 0 ? null : to
}

/** Returns the last character boundary at or before `to`. Bytes that are not UTF-8 are split anywhere. */
function characterBoundary(bytes: Buffer, to: number): number {
  for (let start = to - 1; start >= 0 && start >= to - MAX_CONTINUATIONS - 1; start--) {
    const byte = bytes[start] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    return start + characterLength(byte) > to ? start : to
  }
  return to
}

function characterLength(first: number): number {
  if (first >= 0xf0 && first <= 0xf4) return 4
  if (first >= 0xe0) return first < 0xf0 ? 3 : 1
  return first >= 0xc2 ? 2 : 1
}

/** The maximum length of a line of JSON. A longer one is treated as plain text. */
export const MAX_JSON_LINE_BYTES = 8 * 1024 * 1024
const BRACE = 0x7b

/** Keeps lines of JSON whole up to a larger limit: returns no part of such a line before it is complete. */
export class JsonLineSplitter implements StreamSplitter {
  readonly #plain = new OutputLineSplitter()
  /** chunks of an unfinished JSON line, joined once the line is complete */
  #chunks: Buffer[] = []
  #bytes = 0
  #isAtLineStart = true

  get bufferedBytes(): number {
    return this.#plain.bufferedBytes
  }

  feed(chunk: Buffer): string[] {
    const pieces: string[] = []
    for (let from = 0; from < chunk.length;) {
      const at = chunk.indexOf(LF, from)
      const to = at < 0 ? chunk.length : at + 1
      pieces.push(...this.#feedLine(chunk.subarray(from, to), at >= 0))
      from = to
    }
    return pieces
  }

  flush(): string {
    return this.#plain.flush()
  }

  end(): string {
    return [...this.#releaseAsText(), this.#plain.end()].join('')
  }

  /** Feeds bytes of one line. `isComplete` means that they include the end of the line. */
  #feedLine(bytes: Buffer, isComplete: boolean): string[] {
    const isJson = this.#bytes > 0 || (this.#isAtLineStart && bytes[0] === BRACE)
    this.#isAtLineStart = isComplete
    if (!isJson) return this.#plain.feed(bytes)
    // Copy the bytes, so that a small piece does not keep a large chunk in memory.
    this.#chunks.push(isComplete ? bytes : Buffer.from(bytes))
    this.#bytes += bytes.length
    if (this.#bytes > MAX_JSON_LINE_BYTES) return this.#releaseAsText()
    return isComplete ? [this.#take().toString('utf8')] : []
  }

  /** Passes an overlong or unfinished JSON line on as plain text. */
  #releaseAsText(): string[] {
    return this.#bytes === 0 ? [] : this.#plain.feed(this.#take())
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#bytes = 0
    return bytes
  }
}
