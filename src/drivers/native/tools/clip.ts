// Bounds a text of unknown length: keeps its beginning and its end, and says how much is missing between them.
// Test: test/tables/native-clip.test.ts.

/** Most that a tool's result may have, in bytes of UTF-8. */
export const MAX_RESULT_BYTES = 32 * 1024

/** Takes text in pieces; holds no more than about twice its limit. */
export class Clip {
  readonly #half: number
  #head = ''
  #headBytes = 0
  #tail: string[] = []
  #tailBytes = 0
  #cutBytes = 0

  constructor(limitBytes = MAX_RESULT_BYTES) {
    this.#half = Math.floor(limitBytes / 2)
  }

  push(text: string): void {
    const { head, rest } = split(text, this.#tail.length > 0 ? 0 : this.#half - this.#headBytes)
    this.#head += head
    this.#headBytes += Buffer.byteLength(head)
    if (rest === '') return
    this.#tail.push(rest)
    this.#tailBytes += Buffer.byteLength(rest)
    if (this.#tailBytes > 2 * this.#half) this.#shrink()
  }

  text(): string {
    if (this.#tailBytes > this.#half) this.#shrink()
    const tail = this.#tail.join('')
    return this.#cutBytes === 0 ? this.#head + tail : `${this.#head}\n[… ${this.#cutBytes} bytes are left out here …]\n${tail}`
  }

  #shrink(): void {
    const all = Buffer.from(this.#tail.join(''))
    const from = boundary(all, all.length - this.#half)
    this.#cutBytes += from
    this.#tail = [all.toString('utf8', from)]
    this.#tailBytes = all.length - from
  }
}

export function clip(text: string, limitBytes = MAX_RESULT_BYTES): string {
  if (Buffer.byteLength(text) <= limitBytes) return text
  const bounded = new Clip(limitBytes)
  bounded.push(text)
  return bounded.text()
}

/** The longest beginning of at most `bytes`, without cutting a character, and what is left. */
function split(text: string, bytes: number): { head: string; rest: string } {
  if (bytes <= 0) return { head: '', rest: text }
  const all = Buffer.from(text)
  if (all.length <= bytes) return { head: text, rest: '' }
  let end = bytes
  while (end > 0 && isInside(all, end)) end -= 1
  return { head: all.toString('utf8', 0, end), rest: all.toString('utf8', end) }
}

/** The first place at or after `from` where a character begins. */
function boundary(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && isInside(bytes, at)) at += 1
  return at
}

function isInside(bytes: Buffer, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80
}
