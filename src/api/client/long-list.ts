// Parses a JSON object with a long list of objects in pieces, as its bytes come. Ten thousand rows have 12 MB: without pieces, their bytes
// and their text would be in memory beside the rows. Only ends of items are searched here. JSON.parse parses, and rejects what is no JSON. Pure. Test: test/tables/api/client/long-list.test.ts.

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]
/** the depth between the items of the list */
const LIST_DEPTH = 2

export class LongListParser {
  readonly #field: string
  /** what precedes the list, without spaces, as JSON.stringify writes it */
  readonly #key: Buffer
  /** the bytes outside of the list */
  readonly #outside: Buffer[] = []
  /** the beginning of an item whose end has not come */
  #partialItem: Buffer = Buffer.alloc(0)
  /** null: the list has not begun */
  #items: unknown[] | null = null
  #depth = 0
  #isInList = false
  #isInText = false
  #isEscaped = false

  /** `field`: the field of the object that has the list */
  constructor(field: string) {
    this.#field = field
    this.#key = Buffer.from(`${JSON.stringify(field)}:`)
  }

  push(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0;) rest = this.#isInList ? this.#pushItems(rest) : this.#pushOutside(rest)
  }

  /** Returns the object. Throws a SyntaxError if the bytes were no JSON. */
  end(): unknown {
    const value = JSON.parse(Buffer.concat([...this.#outside, this.#partialItem]).toString()) as Record<string, unknown>
    if (this.#items) value[this.#field] = this.#items
    return value
  }

  /** Keeps the bytes up to the list. Returns the others. */
  #pushOutside(bytes: Buffer): Buffer {
    for (let index = 0; index < bytes.length; index += 1) {
      this.#pass(bytes[index] ?? 0)
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

  /** Parses the items that are complete. Returns the bytes from the end of the list on. */
  #pushItems(bytes: Buffer): Buffer {
    const known = this.#partialItem.length
    const all = known === 0 ? bytes : Buffer.concat([this.#partialItem, bytes])
    let itemsEnd = 0
    for (let index = known; index < all.length; index += 1) {
      const byte = all[index] ?? 0
      this.#pass(byte)
      if (byte === CLOSE_BRACE && this.#depth === LIST_DEPTH && !this.#isInText) itemsEnd = index + 1
      if (this.#depth >= LIST_DEPTH) continue
      this.#parseItems(all, index)
      this.#isInList = false
      this.#partialItem = Buffer.alloc(0)
      // The bracket that ends the list was passed.
      this.#outside.push(all.subarray(index, index + 1))
      return all.subarray(index + 1)
    }
    if (itemsEnd > 0) this.#parseItems(all, itemsEnd)
    this.#partialItem = all.subarray(itemsEnd)
    return Buffer.alloc(0)
  }

  /** Parses the next items. Later ones begin with a comma, before which a zero is added. */
  #parseItems(bytes: Buffer, end: number): void {
    const items = (this.#items ??= [])
    const isFirst = items.length === 0
    const parsed = JSON.parse(`[${isFirst ? '' : '0'}${bytes.toString('utf8', 0, end)}]`) as unknown[]
    for (const item of isFirst ? parsed : parsed.slice(1)) items.push(item)
  }

  /** Follows texts and depths. Bytes of characters beyond ASCII are none of those that count. */
  #pass(byte: number): void {
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInText = false
    } else if (byte === QUOTE) this.#isInText = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth -= 1
  }
}
