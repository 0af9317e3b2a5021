// Reads what an answer used, beside the answer on its way to the client: it holds nothing up and changes nothing. Of a stream
// only the few events that bear usage are looked at, found by their bytes. What is cut is told as far as it was seen.
// Memory is bounded: what is kept is an unfinished line, or a whole answer that is no stream. Test: test/tables/gateway-meter.test.ts.
import { FORMATS } from './formats.ts'
import type { Format, FormatName } from './formats.ts'
import { find, valueAt } from './scan.ts'

type Json = Readonly<Record<string, unknown>>

/** The most bytes of one event, or of an answer that is no stream, that are looked at. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024
/** Of the beginning, by which the share of the text in the bytes is told. */
const SAMPLE_BYTES = 16 * 1024
const TEXT_BYTES = 4
const LF = 0x0a

export interface Seen {
  /** the provider's own counts; null: it has said nothing */
  readonly usage: Json | null
  /** they are the last word about this call */
  readonly isFinal: boolean
  /** what the text that came makes of output tokens */
  readonly outputTokens: number
}

export interface Meter {
  write(chunk: Buffer): void
  /** `isWhole`: the answer has ended as it should */
  seen(isWhole: boolean): Seen
}

export function meterOf(format: FormatName, isStream: boolean): Meter {
  return isStream ? new StreamMeter(FORMATS[format]) : new WholeMeter(FORMATS[format])
}

class StreamMeter implements Meter {
  readonly #format: Format
  readonly #mark: Buffer
  readonly #sample: Sample
  /** the beginning of the line that has not ended */
  #open: Buffer[] = []
  #openBytes = 0
  #tooLong = false
  /** the last event with usage, where each stands for all before it */
  #last: Buffer | null = null
  #merged: Json | null = null
  #isFinal = false

  constructor(format: Format) {
    this.#format = format
    this.#mark = Buffer.from(format.mark)
    this.#sample = new Sample(format.text)
  }

  write(chunk: Buffer): void {
    this.#sample.take(chunk)
    const end = chunk.lastIndexOf(LF)
    if (end < 0) return this.#keep(chunk)
    if (this.#openBytes === 0 && !this.#tooLong) this.#look(chunk.subarray(0, end))
    else this.#close(chunk, end)
    this.#keep(chunk.subarray(end + 1))
  }

  seen(isWhole: boolean): Seen {
    const last = this.#last
    if (last !== null) {
      this.#merged = usageIn(last, this.#format)
      this.#isFinal = this.#format.final?.test(textOf(last)) ?? true
    }
    // An answer of Anthropic's that ends without its last event has failed in the middle.
    const isLast = this.#isFinal || (isWhole && !this.#format.merges)
    return { usage: this.#merged, isFinal: this.#merged !== null && isLast, outputTokens: this.#sample.tokens }
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#tooLong) return
    this.#open.push(part)
    this.#openBytes += part.length
    if (this.#openBytes <= MAX_KEPT_BYTES) return
    this.#tooLong = true
    this.#open = []
  }

  /** The open line ends in this chunk; there may be others behind it. */
  #close(chunk: Buffer, end: number): void {
    const first = chunk.indexOf(LF)
    if (!this.#tooLong) this.#look(Buffer.concat([...this.#open, chunk.subarray(0, first)]))
    this.#open = []
    this.#openBytes = 0
    this.#tooLong = false
    if (end > first) this.#look(chunk.subarray(first + 1, end))
  }

  /** Whole lines, of which some may bear usage. */
  #look(lines: Buffer): void {
    const mark = this.#mark
    for (let at = lines.indexOf(mark); at >= 0; at = lines.indexOf(mark, at)) {
      if (!isObjectAt(lines, at + mark.length)) {
        at += mark.length
        continue
      }
      const next = lines.indexOf(LF, at)
      const end = next < 0 ? lines.length : next
      this.#take(lines.subarray(lines.lastIndexOf(LF, at) + 1, end))
      at = end
    }
  }

  #take(line: Buffer): void {
    if (!this.#format.merges) {
      this.#last = line
      return
    }
    const usage = usageIn(line, this.#format)
    if (usage === null) return
    this.#merged = { ...this.#merged, ...usage }
    this.#isFinal ||= this.#format.final?.test(textOf(line)) ?? true
  }
}

/** In many streams each event says `"usage":null`. */
function isObjectAt(bytes: Buffer, start: number): boolean {
  let at = start
  while (bytes[at] === 0x20 || bytes[at] === 0x3a) at += 1
  return bytes[at] === 0x7b
}

function textOf(line: Buffer): string {
  return line.toString('latin1')
}

/** Without what is null: that says nothing. */
function usageIn(line: Buffer, { usage: paths }: Format): Json | null {
  const open = line.indexOf('{')
  const json = open < 0 ? line : line.subarray(open)
  const found = find(json, paths)
  const usage = found && valueAt(json, found, ...paths)
  if (typeof usage !== 'object' || usage === null) return null
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

/** An answer in one piece of JSON. */
class WholeMeter implements Meter {
  readonly #format: Format
  readonly #sample = new Sample(ANY_TEXT)
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(format: Format) {
    this.#format = format
  }

  write(chunk: Buffer): void {
    this.#sample.take(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_KEPT_BYTES) this.#chunks.push(chunk)
    else this.#chunks = []
  }

  seen(isWhole: boolean): Seen {
    const usage = isWhole ? this.#usage() : null
    return { usage, isFinal: usage !== null, outputTokens: this.#sample.tokens }
  }

  #usage(): Json | null {
    const body = Buffer.concat(this.#chunks)
    const paths = this.#format.usage
    const found = find(body, paths)
    const usage = found && valueAt(body, found, ...paths)
    return typeof usage === 'object' && usage !== null ? (usage as Json) : null
  }
}

/** Of an answer in one piece, in which nothing stands twice. */
const ANY_TEXT = /"(?:text|partial_json|thinking|content|reasoning_content|arguments)":\s*"((?:[^"\\]|\\.)*)/g

/** How much of the bytes that came is text of the model's, judged by the first of them. */
class Sample {
  readonly #text: RegExp
  readonly #chunks: Buffer[] = []
  #sampled = 0
  #bytes = 0

  constructor(text: RegExp) {
    this.#text = text
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#sampled >= SAMPLE_BYTES) return
    this.#chunks.push(chunk)
    this.#sampled += chunk.length
  }

  get tokens(): number {
    if (this.#sampled === 0) return 0
    const text = Buffer.concat(this.#chunks).toString('latin1')
    const share = [...text.matchAll(this.#text)].reduce((sum, [, words = '']) => sum + words.length, 0) / text.length
    return Math.ceil((this.#bytes * share) / TEXT_BYTES)
  }
}
