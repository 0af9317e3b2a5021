// Reads the usage from a copy of an answer that is forwarded to the client. Must never delay or change the answer. In a stream,
// the meter parses only the few events with usage, which it finds by their bytes. The meter also counts the part of a cut
// answer that arrived. Memory is limited: the meter keeps only an unfinished line, or a whole answer that is not a stream.
// Test: test/tables/drivers/gateway/usage-meter.test.ts.
import { FORMATS } from './formats.ts'
import type { WireFormat, FormatName } from './formats.ts'
import { findValues, valueAt } from './json-scan.ts'

type Json = Readonly<Record<string, unknown>>

/** The largest event that is metered, and the largest answer that is not a stream, in bytes. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024
/** The share of text in an answer is estimated from the first bytes, at most this many. */
const SAMPLE_BYTES = 16 * 1024
/** The assumed bytes per token of text. */
const BYTES_PER_TOKEN = 4
const LF = 0x0a

export interface MeteredUsage {
  /** the provider's counts; null if it sent none */
  readonly usage: Json | null
  /** true if the counts are final */
  readonly isFinal: boolean
  /** the output tokens, estimated from the received bytes */
  readonly outputTokens: number
}

export interface UsageMeter {
  /** Adds the next part of the answer. */
  write(chunk: Buffer): void
  /** Returns the usage so far. `isWhole` is true if the answer arrived completely. */
  readUsage(isWhole: boolean): MeteredUsage
}

export function createMeter(format: FormatName, isStream: boolean): UsageMeter {
  return isStream ? new StreamMeter(FORMATS[format]) : new WholeMeter(FORMATS[format])
}

class StreamMeter implements UsageMeter {
  readonly #format: WireFormat
  readonly #usageKey: Buffer
  readonly #estimate: TokenEstimate
  /** the received part of an unfinished line */
  #openLine: Buffer[] = []
  #openLineBytes = 0
  /** true while the unfinished line is larger than the limit, so that it is skipped */
  #isLineTooLong = false
  /** the last line with usage, in formats where it replaces the earlier usage */
  #lastUsageLine: Buffer | null = null
  #usage: Json | null = null
  #isFinal = false

  constructor(format: WireFormat) {
    this.#format = format
    this.#usageKey = Buffer.from(format.usageKey)
    this.#estimate = new TokenEstimate(format.text)
  }

  write(chunk: Buffer): void {
    this.#estimate.add(chunk)
    const end = chunk.lastIndexOf(LF)
    if (end < 0) return this.#keepUnfinished(chunk)
    if (this.#openLineBytes === 0 && !this.#isLineTooLong) this.#searchLines(chunk.subarray(0, end))
    else this.#finishLine(chunk, end)
    this.#keepUnfinished(chunk.subarray(end + 1))
  }

  readUsage(isWhole: boolean): MeteredUsage {
    const last = this.#lastUsageLine
    if (last !== null) {
      this.#usage = usageIn(last, this.#format)
      this.#isFinal = this.#format.final?.test(textOf(last)) ?? true
    }
    // An answer of Anthropic without its last event was cut, even if the HTTP response is complete.
    const isFinal = this.#isFinal || (isWhole && !this.#format.mergesUsage)
    return { usage: this.#usage, isFinal: this.#usage !== null && isFinal, outputTokens: this.#estimate.tokens }
  }

  /** Keeps the part of a line that ends in a later chunk. */
  #keepUnfinished(part: Buffer): void {
    if (part.length === 0 || this.#isLineTooLong) return
    this.#openLine.push(part)
    this.#openLineBytes += part.length
    if (this.#openLineBytes <= MAX_KEPT_BYTES) return
    this.#isLineTooLong = true
    this.#openLine = []
  }

  /** Handles a chunk in which the unfinished line ends. Whole lines may follow, up to the index `end`. */
  #finishLine(chunk: Buffer, end: number): void {
    const first = chunk.indexOf(LF)
    if (!this.#isLineTooLong) this.#searchLines(Buffer.concat([...this.#openLine, chunk.subarray(0, first)]))
    this.#openLine = []
    this.#openLineBytes = 0
    this.#isLineTooLong = false
    if (end > first) this.#searchLines(chunk.subarray(first + 1, end))
  }

  /** Searches whole lines for usage. */
  #searchLines(lines: Buffer): void {
    const key = this.#usageKey
    for (let at = lines.indexOf(key); at >= 0; at = lines.indexOf(key, at)) {
      if (!isObjectAt(lines, at + key.length)) {
        at += key.length
        continue
      }
      const next = lines.indexOf(LF, at)
      const end = next < 0 ? lines.length : next
      this.#readLine(lines.subarray(lines.lastIndexOf(LF, at) + 1, end))
      at = end
    }
  }

  #readLine(line: Buffer): void {
    if (!this.#format.mergesUsage) {
      this.#lastUsageLine = line
      return
    }
    const usage = usageIn(line, this.#format)
    if (usage === null) return
    this.#usage = { ...this.#usage, ...usage }
    this.#isFinal ||= this.#format.final?.test(textOf(line)) ?? true
  }
}

/** True if the value of the key is an object. In many streams, each event has `"usage":null`. */
function isObjectAt(bytes: Buffer, start: number): boolean {
  let at = start
  while (bytes[at] === 0x20 || bytes[at] === 0x3a) at += 1
  return bytes[at] === 0x7b
}

function textOf(line: Buffer): string {
  return line.toString('latin1')
}

/** Parses the usage in a line. Leaves out fields that are null. */
function usageIn(line: Buffer, { usage: paths }: WireFormat): Json | null {
  const jsonStart = line.indexOf('{')
  const json = jsonStart < 0 ? line : line.subarray(jsonStart)
  const scan = findValues(json, paths)
  const usage = scan && valueAt(json, scan, ...paths)
  if (typeof usage !== 'object' || usage === null) return null
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

/** Meters an answer that is one JSON text. */
class WholeMeter implements UsageMeter {
  readonly #format: WireFormat
  readonly #estimate = new TokenEstimate(ANY_TEXT)
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(format: WireFormat) {
    this.#format = format
  }

  write(chunk: Buffer): void {
    this.#estimate.add(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_KEPT_BYTES) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  readUsage(isWhole: boolean): MeteredUsage {
    const usage = isWhole ? this.#usage() : null
    return { usage, isFinal: usage !== null, outputTokens: this.#estimate.tokens }
  }

  #usage(): Json | null {
    const body = Buffer.concat(this.#chunks)
    const paths = this.#format.usage
    const scan = findValues(body, paths)
    const usage = scan && valueAt(body, scan, ...paths)
    return typeof usage === 'object' && usage !== null ? (usage as Json) : null
  }
}

/** Matches the model's text in a whole answer, in which no text occurs twice. */
const ANY_TEXT = /"(?:text|partial_json|thinking|content|reasoning_content|arguments)":\s*"((?:[^"\\]|\\.)*)/g

/** Estimates the output tokens of an answer: the share of text in its first bytes counts for all bytes. */
class TokenEstimate {
  readonly #text: RegExp
  readonly #chunks: Buffer[] = []
  #sampleBytes = 0
  #bytes = 0

  constructor(text: RegExp) {
    this.#text = text
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#sampleBytes >= SAMPLE_BYTES) return
    this.#chunks.push(chunk)
    this.#sampleBytes += chunk.length
  }

  get tokens(): number {
    if (this.#sampleBytes === 0) return 0
    const text = Buffer.concat(this.#chunks).toString('latin1')
    const share = [...text.matchAll(this.#text)].reduce((sum, [, matched = '']) => sum + matched.length, 0) / text.length
    return Math.ceil((this.#bytes * share) / BYTES_PER_TOKEN)
  }
}
