// Parses a JSON object with a long list of objects while its bytes arrive. Ten thousand rows have 12 MB. Parsed only at the end, their
// bytes and their text would be in memory beside the rows. This file finds only where items end; JSON.parse parses them, and rejects
// invalid JSON. Pure. Test: test/tables/api/client/long-list-parser.test.ts.

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]
/** the nesting depth inside the list, outside of its items */
const LIST_DEPTH = 2

export class LongListParser {
  readonly #field: string
  /** the key that precedes the list, with its colon, as JSON.stringify writes it */
  readonly #key: Buffer
  /** the bytes outside of the list */
  readonly #outside: Buffer[] = []
  /** the beginning of an item that is not complete yet */
  #partialItem: Buffer = Buffer.alloc(0)
  /** null: the list has not begun */
  #items: unknown[] | null = null
  #depth = 0
  #isInList = false
  #isInText = false
  #isEscaped = false

  /** `field`: the name of the field with the list */
  constructor(field: string) {
    this.#field = field
    this.#key = Buffer.from(`${JSON.stringify(field)}:`)
  }

  push(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0;) rest = this.#isInList ? this.#pushItems(rest) : this.#pushOutside(rest)
  }

  /** Returns the object. Throws a SyntaxError if the bytes are not valid JSON. */
  end(): unknown {
    const value = JSON.parse(Buffer.concat([...this.#outside, this.#partialItem]).toString()) as Record<string, unknown>
    if (this.#items) value[this.#field] = this.#items
    return value
  }

  /** Keeps the bytes up to the list, and returns those after them. */
  #pushOutside(bytes: Buffer): Buffer {
    for (let index = 0; index < bytes.length; index += 1) {
      this.#track(bytes[index] ?? 0)
      if (this.#depth !== LIST_DEPTH || bytes[index] !== OPEN_BRACKET || this.#isInText || this.#items) continue
      if (!this.#endsWithKey(bytes.subarray(0, index))) continue
      this.#items = []
      this.#isInList = true
      this.#outside.push(bytes.subarray(0, index + 1))
      return bytes.subarray(index + 1)
    }
    this.#outside.push(bytes)
    return Buffer.alloc(0)
  }

  #endsWithKey(bytes: Buffer): boolean {
    const { length } = this.#key
    const before = bytes.length >= length ? bytes : Buffer.concat([...this.#outside, bytes])
    return before.subarray(-length).equals(this.#key)
  }

  /** Parses the items that are complete. Returns the bytes after the list; none while the list goes on. */
  #pushItems(bytes: Buffer): Buffer {
    const known = this.#partialItem.length
    const all = known === 0 ? bytes : Buffer.concat([this.#partialItem, bytes])
    let itemsEnd = 0
    for (let index = known; index < all.length; index += 1) {
      const byte = all[index] ?? 0
      this.#track(byte)
      if (byte === CLOSE_BRACE && this.#depth === LIST_DEPTH && !this.#isInText) itemsEnd = index + 1
      if (this.#depth >= LIST_DEPTH) continue
      this.#parseItems(all, index)
      this.#isInList = false
      this.#partialItem = Buffer.alloc(0)
      // The bracket that ends the list belongs to the bytes outside of it.
      this.#outside.push(all.subarray(index, index + 1))
      return all.subarray(index + 1)
    }
    if (itemsEnd > 0) this.#parseItems(all, itemsEnd)
    this.#partialItem = all.subarray(itemsEnd)
    return Buffer.alloc(0)
  }

  /** Parses the next items. Except for the first ones, the bytes begin with a comma: a zero before it makes them a valid list. */
  #parseItems(bytes: Buffer, end: number): void {
    const items = (this.#items ??= [])
    const isFirst = items.length === 0
    const parsed = JSON.parse(`[${isFirst ? '' : '0'}${bytes.toString('utf8', 0, end)}]`) as unknown[]
    for (const item of isFirst ? parsed : parsed.slice(1)) items.push(item)
  }

  /** Tracks strings and the nesting depth. No byte of a non-ASCII character equals a quote, a backslash or a bracket. */
  #track(byte: number): void {
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInText = false
    } else if (byte === QUOTE) this.#isInText = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth -= 1
  }
}
