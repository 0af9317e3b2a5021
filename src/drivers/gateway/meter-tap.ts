// Passes a copy of an answer to a usage meter. A compressed copy is decompressed first, while the client gets the original
// bytes.
// Test: test/processes/gateway/forward.test.ts.
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Transform } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import type { FormatName } from './formats.ts'
import type { AnswerTap } from './forward.ts'
import { createMeter } from './usage-meter.ts'
import type { UsageMeter, MeteredUsage } from './usage-meter.ts'

/** With this option, the available part of a cut answer is decompressed too. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH }
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  deflate: () => createInflate(ZLIB),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush }),
}

export interface MeterTap extends AnswerTap {
  /** Returns the usage in the part of the answer that arrived. `isWhole` is true if the answer is complete. */
  readUsage(isWhole: boolean): Promise<MeteredUsage>
}

/** Creates the tap for an answer with these headers. */
export function createMeterTap(format: FormatName, answer: Pick<IncomingMessage, 'headers'>): MeterTap {
  const meter = new SafeMeter(createMeter(format, (answer.headers['content-type'] ?? '').includes('text/event-stream')))
  const encoding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined
  return decoder ? new DecodingTap(meter, decoder()) : new PlainTap(meter)
}

/** Keeps an error of the meter from disturbing the answer. `readUsage` throws the first error. */
class SafeMeter implements UsageMeter {
  readonly #meter: UsageMeter
  #failure: { readonly error: unknown } | null = null

  constructor(meter: UsageMeter) {
    this.#meter = meter
  }

  write(chunk: Buffer): void {
    if (this.#failure !== null) return
    try {
      this.#meter.write(chunk)
    } catch (error) {
      this.#failure = { error }
    }
  }

  readUsage(isWhole: boolean): MeteredUsage {
    if (this.#failure !== null) throw this.#failure.error
    return this.#meter.readUsage(isWhole)
  }
}

class PlainTap implements MeterTap {
  readonly #meter: UsageMeter

  constructor(meter: UsageMeter) {
    this.#meter = meter
  }

  write(chunk: Buffer): boolean {
    this.#meter.write(chunk)
    return true
  }

  ready(): Promise<void> {
    return Promise.resolve()
  }

  async readUsage(isWhole: boolean): Promise<MeteredUsage> {
    return this.#meter.readUsage(isWhole)
  }
}

class DecodingTap implements MeterTap {
  readonly #meter: UsageMeter
  readonly #decoder: Transform
  readonly #ended = Promise.withResolvers<void>()
  #hasFailed = false

  constructor(meter: UsageMeter, decoder: Transform) {
    this.#meter = meter
    this.#decoder = decoder
    decoder.on('data', (chunk: Buffer) => meter.write(chunk))
    decoder.once('end', () => this.#ended.resolve())
    decoder.once('error', () => {
      this.#hasFailed = true
      this.#ended.resolve()
    })
  }

  write(chunk: Buffer): boolean {
    return this.#hasFailed || this.#decoder.write(chunk)
  }

  ready(): Promise<void> {
    if (this.#hasFailed || !this.#decoder.writableNeedDrain) return Promise.resolve()
    return Promise.race([
      this.#ended.promise,
      new Promise<void>((resolve) => {
        this.#decoder.once('drain', () => resolve())
      }),
    ])
  }

  async readUsage(isWhole: boolean): Promise<MeteredUsage> {
    if (!this.#hasFailed) this.#decoder.end()
    await this.#ended.promise
    return this.#meter.readUsage(isWhole && !this.#hasFailed)
  }
}
