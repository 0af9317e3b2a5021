// Cuts a program's bytes into pieces of text: whole lines, split on LF only, each with its LF. Output is hostile: a line
// has a longest length, invalid bytes are replaced, and a character is never torn, however its bytes arrive.
// Pure. Tests: test/processes/command.test.ts.

/** A longer line comes in several pieces; only the last of them ends with LF. */
export const MAX_LINE_BYTES = 64 * 1024
const LF = 0x0a
/** A UTF-8 character has at most three bytes after its first. */
const MAX_CONTINUATIONS = 3

export class LineCutter {
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
