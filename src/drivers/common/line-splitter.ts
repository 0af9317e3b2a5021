// Splits a stream of bytes into lines at LF. Keeps the bytes of a last line whose LF has not arrived yet.
// Test: test/tables/drivers/common/line-splitter.test.ts.

const LF = 0x0a

export class LineSplitter {
  #unfinished: Buffer[] = []
  #unfinishedBytes = 0

  /** The length of the unfinished line, in bytes. */
  get unfinishedBytes(): number {
    return this.#unfinishedBytes
  }

  /** Yields the lines that end in this chunk, without their LF. The bytes after the last LF wait for the next chunk. */
  *push(chunk: Buffer): Generator<Buffer> {
    let lineStart = 0
    for (let lineEnd = chunk.indexOf(LF); lineEnd >= 0; lineEnd = chunk.indexOf(LF, lineStart)) {
      const line = chunk.subarray(lineStart, lineEnd)
      lineStart = lineEnd + 1
      yield this.#unfinished.length === 0 ? line : Buffer.concat([...this.#unfinished, line])
      this.clear()
    }
    if (lineStart < chunk.length) this.#unfinished.push(chunk.subarray(lineStart))
    this.#unfinishedBytes += chunk.length - lineStart
  }

  /** Drops the unfinished line. */
  clear(): void {
    this.#unfinished = []
    this.#unfinishedBytes = 0
  }
}
