// Limits a text of unknown length: keeps its beginning and its end, and states how many bytes were omitted.
// Test: test/tables/drivers/common/truncate-middle.test.ts.

/** The largest result of a tool, in bytes of UTF-8. */
export const MAX_RESULT_BYTES = 32 * 1024

/** Collects a text in pieces. Keeps at most about twice the limit in memory. */
export class TruncatingBuffer {
  readonly #halfBytes: number
  #head = ''
  #headBytes = 0
  #tail: string[] = []
  #tailBytes = 0
  #omittedBytes = 0

  constructor(limitBytes = MAX_RESULT_BYTES) {
    this.#halfBytes = Math.floor(limitBytes / 2)
  }

  push(text: string): void {
    const { head, rest } = splitAtByte(text, this.#tail.length > 0 ? 0 : this.#halfBytes - this.#headBytes)
    this.#head += head
    this.#headBytes += Buffer.byteLength(head)
    if (rest === '') return
    this.#tail.push(rest)
    this.#tailBytes += Buffer.byteLength(rest)
    if (this.#tailBytes > 2 * this.#halfBytes) this.#shrinkTail()
  }

  text(): string {
    if (this.#tailBytes > this.#halfBytes) this.#shrinkTail()
    const tail = this.#tail.join('')
    return this.#omittedBytes === 0 ? this.#head + tail : `${this.#head}\n[… ${this.#omittedBytes} bytes omitted …]\n${tail}`
  }

  #shrinkTail(): void {
    const all = Buffer.from(this.#tail.join(''))
    const from = nextCharStart(all, all.length - this.#halfBytes)
    this.#omittedBytes += from
    this.#tail = [all.toString('utf8', from)]
    this.#tailBytes = all.length - from
  }
}

/** Replaces the middle of a text that is longer than `limitBytes` with a note. */
export function truncateMiddle(text: string, limitBytes = MAX_RESULT_BYTES): string {
  if (Buffer.byteLength(text) <= limitBytes) return text
  const bounded = new TruncatingBuffer(limitBytes)
  bounded.push(text)
  return bounded.text()
}

/** Splits a text after at most `bytes` bytes of UTF-8, between two characters. */
function splitAtByte(text: string, bytes: number): { head: string; rest: string } {
  if (bytes <= 0) return { head: '', rest: text }
  const all = Buffer.from(text)
  if (all.length <= bytes) return { head: text, rest: '' }
  let end = bytes
  while (end > 0 && isContinuationByte(all, end)) end -= 1
  return { head: all.toString('utf8', 0, end), rest: all.toString('utf8', end) }
}

/** The first index at or after `from` at which a character begins. */
function nextCharStart(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && isContinuationByte(bytes, at)) at += 1
  return at
}

/** True if the byte at this index continues a character of UTF-8. */
function isContinuationByte(bytes: Buffer, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
