// Cuts a program's bytes into pieces of text: whole lines, split on LF only, each with its LF. Output is hostile: a line
// has a longest length, invalid bytes are replaced, and a character is never torn, however its bytes arrive.
// Pure. Tests: test/processes/command.test.ts.

/** A longer line comes in several pieces; only the last of them ends with LF. */
export const MAX_LINE_BYTES = 64 * 1024
const LF = 0x0a
/** A UTF-8 character has at most three bytes after its first. */
const MAX_CONTINUATIONS = 3

/** What makes pieces of a stream's bytes. */
export interface Cutter {
  /** bytes that may be shown before their line has ended */
  readonly restBytes: number
  feed(chunk: Buffer): string[]
  flush(): string
  end(): string
}

export class LineCutter implements Cutter {
  #rest: Buffer = Buffer.alloc(0)

  /** Bytes of a line whose end has not come. */
  get restBytes(): number {
    return this.#rest.length
  }

  feed(chunk: Buffer): string[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const pieces: string[] = []
    let from = 0
    for (let to = endOfPiece(bytes, from); to !== null; to = endOfPiece(bytes, from)) {
      pieces.push(bytes.toString('utf8', from, to))
      from = to
    }
    // A copy, so that a small rest does not keep a large chunk.
    this.#rest = Buffer.from(bytes.subarray(from))
    return pieces
  }

  /** What there is of a line that has not ended, but for a character that is still incomplete. */
  flush(): string {
    const to = wholeCharacters(this.#rest, this.#rest.length)
    const text = this.#rest.toString('utf8', 0, to)
    this.#rest = this.#rest.subarray(to)
    return text
  }

  /** All that is left, at the end of the stream. */
  end(): string {
    const text = this.#rest.toString('utf8')
    this.#rest = Buffer.alloc(0)
    return text
  }
}

function endOfPiece(bytes: Buffer, from: number): number | null {
  const at = bytes.indexOf(LF, from)
  const to = at < 0 ? bytes.length : at + 1
  if (to - from > MAX_LINE_BYTES) return wholeCharacters(bytes, from + MAX_LINE_BYTES)
  return at < 0 ? null : to
}

/** The last place at or before `to` that is not inside a character. Bytes that are no UTF-8 are cut anywhere. */
function wholeCharacters(bytes: Buffer, to: number): number {
  for (let start = to - 1; start >= 0 && start >= to - MAX_CONTINUATIONS - 1; start--) {
    const byte = bytes[start] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    return start + lengthOf(byte) > to ? start : to
  }
  return to
}

function lengthOf(first: number): number {
  if (first >= 0xf0 && first <= 0xf4) return 4
  if (first >= 0xe0) return first < 0xf0 ? 3 : 1
  return first >= 0xc2 ? 2 : 1
}

/** A line of JSON that is longer is no longer kept together. */
export const MAX_JSON_LINE_BYTES = 8 * 1024 * 1024
const BRACE = 0x7b

/** Keeps lines that may be JSON together up to a longer length, and shows nothing of them before they have ended. */
export class JsonLineCutter implements Cutter {
  readonly #plain = new LineCutter()
  /** the beginning of a line that may be JSON; joined once, when its end has come */
  #chunks: Buffer[] = []
  #bytes = 0
  #atStart = true

  get restBytes(): number {
    return this.#plain.restBytes
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
    return [...this.#release(), this.#plain.end()].join('')
  }

  /** Bytes of one line; `whole` if its end is among them. */
  #feedLine(bytes: Buffer, whole: boolean): string[] {
    const isJson = this.#bytes > 0 || (this.#atStart && bytes[0] === BRACE)
    this.#atStart = whole
    if (!isJson) return this.#plain.feed(bytes)
    // A copy, so that a small rest does not keep a large chunk.
    this.#chunks.push(whole ? bytes : Buffer.from(bytes))
    this.#bytes += bytes.length
    if (this.#bytes > MAX_JSON_LINE_BYTES) return this.#release()
    return whole ? [this.#take().toString('utf8')] : []
  }

  /** It is too long, or has no end: plain text after all. */
  #release(): string[] {
    return this.#bytes === 0 ? [] : this.#plain.feed(this.#take())
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#bytes = 0
    return bytes
  }
}
