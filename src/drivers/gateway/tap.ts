// The meter beside an answer: unpacks a copy where the answer is packed, so that the client gets its bytes as they are.
// Test: test/processes/gateway-pass.test.ts.
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Transform } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import type { FormatName } from './formats.ts'
import type { Tap } from './forward.ts'
import { meterOf } from './meter.ts'
import type { Meter, Seen } from './meter.ts'

/** What is cut is unpacked as far as it came. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH }
const UNPACKERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  deflate: () => createInflate(ZLIB),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush }),
}

export interface MeterTap extends Tap {
  /** what was used, as far as it was seen */
  seen(isWhole: boolean): Promise<Seen>
}

export function meterTap(format: FormatName, answer: Pick<IncomingMessage, 'headers'>): MeterTap {
  const meter = meterOf(format, (answer.headers['content-type'] ?? '').includes('text/event-stream'))
  const encoding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const unpacker = Object.hasOwn(UNPACKERS, encoding) ? UNPACKERS[encoding] : undefined
  return unpacker ? new PackedTap(meter, unpacker()) : new PlainTap(meter)
}

class PlainTap implements MeterTap {
  readonly #meter: Meter

  constructor(meter: Meter) {
    this.#meter = meter
  }

  write(chunk: Buffer): boolean {
    this.#meter.write(chunk)
    return true
  }

  ready(): Promise<void> {
    return Promise.resolve()
  }

  seen(isWhole: boolean): Promise<Seen> {
    return Promise.resolve(this.#meter.seen(isWhole))
  }
}

class PackedTap implements MeterTap {
  readonly #meter: Meter
  readonly #unpacker: Transform
  readonly #over = Promise.withResolvers<void>()
  #failed = false

  constructor(meter: Meter, unpacker: Transform) {
    this.#meter = meter
    this.#unpacker = unpacker
    unpacker.on('data', (chunk: Buffer) => meter.write(chunk))
    unpacker.once('end', () => this.#over.resolve())
    unpacker.once('error', () => {
      this.#failed = true
      this.#over.resolve()
    })
  }

  write(chunk: Buffer): boolean {
    return this.#failed || this.#unpacker.write(chunk)
  }

  ready(): Promise<void> {
    if (this.#failed || !this.#unpacker.writableNeedDrain) return Promise.resolve()
    return Promise.race([this.#over.promise, new Promise<void>((resolve) => { this.#unpacker.once('drain', () => resolve()) })])
  }

  async seen(isWhole: boolean): Promise<Seen> {
    if (!this.#failed) this.#unpacker.end()
    await this.#over.promise
    return this.#meter.seen(isWhole && !this.#failed)
  }
}
