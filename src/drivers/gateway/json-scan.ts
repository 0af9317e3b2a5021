// Finds values by their path in the bytes of a JSON text, and skips everything else without parsing it. A request may have 20 MB of history
// and images, of which the gateway needs a few small fields. Reports the position of each value, so that the value can be replaced while
// all other bytes stay the same. A long text is scanned in slices, one per event-loop turn, so that it does not block the daemon.
// Test: test/tables/drivers/gateway/json-scan.test.ts.
import { setImmediate } from 'node:timers/promises'

/** The position of a value in the text. */
export interface ByteSpan {
  /** the index of its first byte */
  readonly start: number
  /** the index after its last byte */
  readonly end: number
}

export interface ScanResult {
  /** all positions of each path, in order; of a repeated key, most JSON parsers use the last value */
  readonly spans: ReadonlyMap<string, readonly ByteSpan[]>
  /** the bytes in long strings without spaces, such as images and files; they have many more bytes per token than text */
  readonly dataBytes: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const SPACE = 0x20
/**
 * The number of bytes of a string that are compared one by one before `indexOf` is used. For short strings, and strings with many escapes,
 * the comparison is faster.
 */
const BYTEWISE_BYTES = 256
/** Strings without spaces count as data from this length on. */
const MIN_DATA_BYTES = 8 * 1024
/** The bytes that are scanned in one turn of the event loop. This takes up to 15 ms if all fields are short. */
const SLICE_BYTES = 1024 * 1024
/** The largest value, or key with escapes, that is parsed. */
const MAX_VALUE_BYTES = 64 * 1024
/** The result of `#skipString` if a slice ends within the string. */
const PAUSED = -2

/** resolves in the last turn of the event loop that a scan has reserved */
let lastTurn: Promise<void> = Promise.resolve()

/** Waits for an event-loop turn that no other scan uses, so that all scans together run one slice per turn. */
function waitForOwnTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate())
  return lastTurn
}

/**
 * Finds the values at these paths, whose keys are separated by dots. If the text is an array, each object in it is scanned. Null if the
 * text is not JSON.
 */
export function findValues(bytes: Buffer, paths: readonly string[]): ScanResult | null {
  const scan = new Scan(bytes, paths)
  for (const slices = scan.run(); ;) {
    const { done, value } = slices.next()
    if (done) return value ? scan : null
  }
}

/** Like `findValues`, but scans a long text in slices. */
export async function findValuesInSlices(bytes: Buffer, paths: readonly string[]): Promise<ScanResult | null> {
  if (bytes.length <= SLICE_BYTES) return findValues(bytes, paths)
  const scan = new Scan(bytes, paths)
  for (const slices = scan.run(); ;) {
    await waitForOwnTurn()
    const { done, value } = slices.next()
    if (done) return value ? scan : null
  }
}

/** The value at the first of these paths that exists; undefined if none exists. The last value of a repeated key counts. */
export function valueAt(bytes: Buffer, { spans }: Pick<ScanResult, 'spans'>, ...paths: readonly string[]): unknown {
  const span = paths.map((path) => spans.get(path)?.at(-1)).find((last) => last !== undefined)
  return span && parseSpan(bytes, span)
}

/** Replaces each span by the text. The spans must be in order. */
export function replaceSpans(bytes: Buffer, spans: readonly ByteSpan[], text: string): Buffer {
  const replacement = Buffer.from(text)
  const pieces: Buffer[] = []
  let at = 0
  for (const { start, end } of spans) {
    pieces.push(bytes.subarray(at, start), replacement)
    at = end
  }
  return Buffer.concat([...pieces, bytes.subarray(at)])
}

function parseSpan(bytes: Buffer, { start, end }: ByteSpan): unknown {
  if (end - start > MAX_VALUE_BYTES) return undefined
  try {
    return JSON.parse(bytes.toString('utf8', start, end))
  } catch {
    // The gateway ignores an invalid value; the provider refuses the request.
    return undefined
  }
}

type Slices<T> = Generator<void, T, void>

class Scan implements ScanResult {
  readonly spans = new Map<string, ByteSpan[]>()
  dataBytes = 0
  readonly #bytes: Buffer
  readonly #wantedPaths: ReadonlySet<string>
  readonly #parentPaths: ReadonlySet<string>
  #sliceEnd = SLICE_BYTES
  #pausedAt = 0

  constructor(bytes: Buffer, paths: readonly string[]) {
    this.#bytes = bytes
    this.#wantedPaths = new Set(paths)
    this.#parentPaths = new Set(
      paths.flatMap((path) =>
        path
          .split('.')
          .slice(0, -1)
          .map((_, index, keys) => keys.slice(0, index + 1).join('.')),
      ),
    )
  }

  /** Scans the text, and yields at the end of each slice. Returns false if the text is not JSON. */
  *run(): Slices<boolean> {
    const bytes = this.#bytes
    let at = this.#skipSpace(0)
    if (bytes[at] === OPEN) return (yield* this.#scanObject(at, '')) > 0
    if (bytes[at] !== OPEN_LIST) return false
    do {
      at = this.#skipSpace(at + 1)
      if (bytes[at] === CLOSE_LIST) return true
      at = bytes[at] === OPEN ? yield* this.#scanObject(at, '') : yield* this.#skipValue(at)
      if (at < 0) return false
      at = this.#skipSpace(at)
    } while (bytes[at] === COMMA)
    return bytes[at] === CLOSE_LIST
  }

  /** Scans the object that begins at `start`. Returns the index after it; negative if it is not a valid object. */
  *#scanObject(start: number, prefix: string): Slices<number> {
    const bytes = this.#bytes
    let at = this.#skipSpace(start + 1)
    if (bytes[at] === CLOSE) return at + 1
    for (;;) {
      const end = bytes[at] === QUOTE ? yield* this.#skipValue(at) : -1
      if (end < 0) return -1
      const path = prefix + this.#readKey(at, end)
      at = this.#skipSpace(end)
      if (bytes[at] !== COLON) return -1
      const from = this.#skipSpace(at + 1)
      at = bytes[from] === OPEN && this.#parentPaths.has(path) ? yield* this.#scanObject(from, `${path}.`) : yield* this.#skipValue(from)
      if (at < 0) return -1
      if (this.#wantedPaths.has(path)) this.#addSpan(path, { start: from, end: at })
      at = this.#skipSpace(at)
      if (bytes[at] === CLOSE) return at + 1
      if (bytes[at] !== COMMA) return -1
      at = this.#skipSpace(at + 1)
    }
  }

  #addSpan(path: string, span: ByteSpan): void {
    const existing = this.spans.get(path)
    if (existing) existing.push(span)
    else this.spans.set(path, [span])
  }

  #readKey(at: number, end: number): string {
    const text = this.#bytes.toString('utf8', at, end)
    return text.includes('\\') ? String(parseSpan(this.#bytes, { start: at, end })) : text.slice(1, -1)
  }

  /** Skips the value that begins at `start`. Returns the index after it; negative if it is not valid. */
  *#skipValue(start: number): Slices<number> {
    const bytes = this.#bytes
    let depth = 0
    for (let at = start; at < bytes.length;) {
      const byte = bytes[at]
      if (at >= this.#sliceEnd) yield this.#nextSlice(at)
      if (byte === QUOTE) {
        const first = at
        for (at = this.#skipString(first, first + 1); at === PAUSED; at = this.#skipString(first, this.#pausedAt))
          yield this.#nextSlice(this.#pausedAt)
        if (at < 0 || depth === 0) return at
        continue
      }
      if (byte === OPEN || byte === OPEN_LIST) depth += 1
      else if (depth === 0) return this.#skipLiteral(at)
      else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return at + 1
      at += 1
    }
    return -1
  }

  #nextSlice(at: number): void {
    this.#sliceEnd = at + SLICE_BYTES
  }

  /** Skips a number, true, false or null. */
  #skipLiteral(start: number): number {
    const bytes = this.#bytes
    let at = start
    for (
      let byte = bytes[at];
      byte !== undefined && byte > SPACE && byte !== COMMA && byte !== CLOSE && byte !== CLOSE_LIST;
      byte = bytes[at]
    )
      at += 1
    return at === start ? -1 : at
  }

  /**
   * Skips the string that begins at `start`; the search continues at `from`. Returns the index after it, or `PAUSED` at the end of the
   * slice. Then `#pausedAt` is the index at which to continue.
   */
  #skipString(start: number, from: number): number {
    const bytes = this.#bytes
    let at = from
    for (;;) {
      for (const end = at + BYTEWISE_BYTES; at < end; at++) {
        const byte = bytes[at]
        if (byte === QUOTE) return this.#countDataBytes(start, at + 1)
        if (byte === BACKSLASH) at += 1
      }
      // The loop above skips a backslash together with the escaped byte, so it never stops within an escape.
      const quote = bytes.indexOf(QUOTE, at)
      if (quote < 0) return -1
      if (!this.#isEscaped(quote, at)) return this.#countDataBytes(start, quote + 1)
      at = quote + 1
      if (at < this.#sliceEnd) continue
      this.#pausedAt = at
      return PAUSED
    }
  }

  /** True if an odd number of backslashes precedes the quote. */
  #isEscaped(quote: number, from: number): boolean {
    let firstBackslash = quote
    while (firstBackslash > from && this.#bytes[firstBackslash - 1] === BACKSLASH) firstBackslash -= 1
    return (quote - firstBackslash) % 2 === 1
  }

  /** Counts the string as data if it is long and without spaces. Returns its end. */
  #countDataBytes(start: number, end: number): number {
    if (end - start > MIN_DATA_BYTES) {
      const text = this.#bytes.subarray(start, end)
      if (!text.includes(SPACE) && !text.includes(BACKSLASH)) this.dataBytes += end - start
    }
    return end
  }

  #skipSpace(start: number): number {
    const bytes = this.#bytes
    let at = start
    for (let byte = bytes[at]; byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at += 1
    return at
  }
}
