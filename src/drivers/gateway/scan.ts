// Finds values by their path in the bytes of a JSON text, and steps over all else without making anything of it: a request of
// 20 MB is a history with pictures in it, of which four small fields matter here. Knows where each value lies, so that one can
// be changed and the rest stay as they were, byte for byte. Test: test/tables/gateway-scan.test.ts.

/** Where a value lies: its first byte, and the one after its last. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Found {
  /** all places of a path, in order; of a key that stands twice most readers take the last one */
  readonly spans: ReadonlyMap<string, readonly Span[]>
  /** bytes in long strings without a space: pictures and files, of which a token takes many more bytes than of text */
  readonly dataBytes: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const SPACE = 0x20
/** Short strings, and those full of escapes, are faster looked at byte by byte than by a call for each quote. */
const RUN_BYTES = 256
const DATA_BYTES = 8 * 1024

/** `paths` have dots between their keys. An array at the top is a list of objects, of which each is looked at. Null: this is no JSON. */
export function find(bytes: Buffer, paths: readonly string[]): Found | null {
  const scan = new Scan(bytes, paths)
  return scan.run() ? scan : null
}

/** The last value at the first of these paths that has one; undefined if none has. */
export function valueAt(bytes: Buffer, { spans }: Pick<Found, 'spans'>, ...paths: readonly string[]): unknown {
  const span = paths.map((path) => spans.get(path)?.at(-1)).find((one) => one !== undefined)
  return span && parsed(bytes, span)
}

/** The same bytes with another text in place of each of the spans, which are in order. */
export function replaced(bytes: Buffer, spans: readonly Span[], text: string): Buffer {
  const put = Buffer.from(text)
  const pieces: Buffer[] = []
  let at = 0
  for (const { start, end } of spans) {
    pieces.push(bytes.subarray(at, start), put)
    at = end
  }
  return Buffer.concat([...pieces, bytes.subarray(at)])
}

function parsed(bytes: Buffer, { start, end }: Span): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    return undefined
  }
}

class Scan implements Found {
  readonly spans = new Map<string, Span[]>()
  dataBytes = 0
  readonly #bytes: Buffer
  readonly #wanted: ReadonlySet<string>
  readonly #above: ReadonlySet<string>

  constructor(bytes: Buffer, paths: readonly string[]) {
    this.#bytes = bytes
    this.#wanted = new Set(paths)
    this.#above = new Set(paths.flatMap((path) => path.split('.').slice(0, -1).map((_, index, keys) => keys.slice(0, index + 1).join('.'))))
  }

  run(): boolean {
    const bytes = this.#bytes
    let at = this.#space(0)
    if (bytes[at] === OPEN) return this.#object(at, '') > 0
    if (bytes[at] !== OPEN_LIST) return false
    do {
      at = this.#space(at + 1)
      if (bytes[at] === CLOSE_LIST) return true
      at = bytes[at] === OPEN ? this.#object(at, '') : this.#skip(at)
      if (at < 0) return false
      at = this.#space(at)
    } while (bytes[at] === COMMA)
    return bytes[at] === CLOSE_LIST
  }

  /** The byte after the object that begins here; negative where it is none. */
  #object(start: number, prefix: string): number {
    const bytes = this.#bytes
    let at = this.#space(start + 1)
    if (bytes[at] === CLOSE) return at + 1
    for (;;) {
      const end = bytes[at] === QUOTE ? this.#string(at) : -1
      if (end < 0) return -1
      const path = prefix + this.#key(at, end)
      at = this.#space(end)
      if (bytes[at] !== COLON) return -1
      const from = this.#space(at + 1)
      at = bytes[from] === OPEN && this.#above.has(path) ? this.#object(from, `${path}.`) : this.#skip(from)
      if (at < 0) return -1
      if (this.#wanted.has(path)) this.spans.set(path, [...(this.spans.get(path) ?? []), { start: from, end: at }])
      at = this.#space(at)
      if (bytes[at] === CLOSE) return at + 1
      if (bytes[at] !== COMMA) return -1
      at = this.#space(at + 1)
    }
  }

  #key(at: number, end: number): string {
    const text = this.#bytes.toString('utf8', at, end)
    return text.includes('\\') ? String(parsed(this.#bytes, { start: at, end })) : text.slice(1, -1)
  }

  /** The byte after the value that begins here, whatever it is. */
  #skip(start: number): number {
    const bytes = this.#bytes
    const first = bytes[start]
    if (first === QUOTE) return this.#string(start)
    if (first !== OPEN && first !== OPEN_LIST) return this.#word(start)
    let depth = 0
    for (let at = start; at < bytes.length;) {
      const byte = bytes[at]
      if (byte === QUOTE) {
        at = this.#string(at)
        if (at < 0) return -1
        continue
      }
      if (byte === OPEN || byte === OPEN_LIST) depth += 1
      else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return at + 1
      at += 1
    }
    return -1
  }

  /** A number, true, false or null. */
  #word(start: number): number {
    const bytes = this.#bytes
    let at = start
    for (let byte = bytes[at]; byte !== undefined && byte > SPACE && byte !== COMMA && byte !== CLOSE && byte !== CLOSE_LIST; byte = bytes[at]) at += 1
    return at === start ? -1 : at
  }

  #string(start: number): number {
    const bytes = this.#bytes
    let at = start + 1
    for (;;) {
      for (const end = at + RUN_BYTES; at < end; at++) {
        const byte = bytes[at]
        if (byte === QUOTE) return this.#ended(start, at + 1)
        if (byte === BACKSLASH) at += 1
      }
      // A backslash was passed over with what it escapes, never with half of it.
      const quote = bytes.indexOf(QUOTE, at)
      if (quote < 0) return -1
      if (!this.#isEscaped(quote, at)) return this.#ended(start, quote + 1)
      at = quote + 1
    }
  }

  #isEscaped(quote: number, from: number): boolean {
    let before = quote
    while (before > from && this.#bytes[before - 1] === BACKSLASH) before -= 1
    return (quote - before) % 2 === 1
  }

  #ended(start: number, end: number): number {
    if (end - start > DATA_BYTES) {
      const text = this.#bytes.subarray(start, end)
      if (!text.includes(SPACE) && !text.includes(BACKSLASH)) this.dataBytes += end - start
    }
    return end
  }

  #space(start: number): number {
    const bytes = this.#bytes
    let at = start
    for (let byte = bytes[at]; byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at += 1
    return at
  }
}
