// Reads whole request bodies, and limits the memory of all of them together. Memory is counted while the bytes arrive, so that many
// unfinished requests cannot exhaust the daemon's memory. If no memory is left for a body, its bytes are read and dropped, and its client
// gets the error.
// Test: test/tables/drivers/gateway/body-reader.test.ts.
import type { IncomingMessage } from 'node:http'

export interface Body {
  readonly bytes: Buffer
  /** frees the reserved memory; idempotent */
  readonly release: () => void
}

export interface BodyLimits {
  /** the limit of one body */
  readonly maxBytes: number
  /** the limit of all bodies that are in memory at the same time */
  readonly maxHeldBytes: number
}

/** The smallest buffer for a body of several chunks. The buffer is doubled as needed. */
const MIN_BUFFER_BYTES = 64 * 1024
/**
 * After this many bytes, the buffer is enlarged to the announced length at once, so that nothing is copied again. The operating system
 * provides the memory only as the buffer fills.
 */
const MIN_BYTES_TO_TRUST_LENGTH = 1024 * 1024

export class BodyReader {
  readonly #limits: BodyLimits
  #heldBytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /**
   * Reads the body of a request. `large`: it exceeds the limit of one body. `full`: it exceeds the limit of all bodies. `gone`: the
   * client has disconnected.
   */
  async read(request: IncomingMessage): Promise<Body | 'large' | 'full' | 'gone'> {
    const { maxBytes } = this.#limits
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return 'large'
    const body = new BodyBuffer((bytes) => this.#reserveBytes(bytes), request)
    try {
      // The request must not be destroyed when the loop ends early, because the client must still get the error.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        if (body.length + chunk.length > maxBytes) return body.drop('large')
        body.add(chunk)
      }
    } catch {
      return body.drop('gone')
    }
    return body.isDropped ? 'full' : body
  }

  /** Reserves memory; a negative number frees it. False if the limit is reached. */
  #reserveBytes(bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#limits.maxHeldBytes) return false
    this.#heldBytes += bytes
    return true
  }
}

const EMPTY: Buffer = Buffer.alloc(0)

/** The bytes of one body, while it arrives and until its release. */
class BodyBuffer implements Body {
  readonly #reserveBytes: (bytes: number) => boolean
  readonly #announcedBytes: number
  #buffer: Buffer = EMPTY
  #reservedBytes = 0
  /** the bytes that have arrived, dropped ones included */
  length = 0
  isDropped = false

  constructor(reserveBytes: (bytes: number) => boolean, { headers }: Pick<IncomingMessage, 'headers'>) {
    this.#reserveBytes = reserveBytes
    this.#announcedBytes = Number(headers['content-length'] ?? 0)
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length)
  }

  add(chunk: Buffer): void {
    const { length } = this
    this.length += chunk.length
    if (this.isDropped) return
    if (!this.#reserveBytes(chunk.length)) return void this.drop('full')
    this.#reservedBytes += chunk.length
    // Most bodies arrive as one chunk, which needs no copy.
    if (length === 0) this.#buffer = chunk
    else this.#growBuffer().set(chunk, length)
  }

  /** Enlarges the buffer while the body arrives. A single copy at the end would block the event loop, and need twice the memory. */
  #growBuffer(): Buffer {
    if (this.length <= this.#buffer.length) return this.#buffer
    const hasKnownSize = this.length > MIN_BYTES_TO_TRUST_LENGTH && this.#announcedBytes >= this.length
    const larger = Buffer.allocUnsafeSlow(hasKnownSize ? this.#announcedBytes : Math.max(MIN_BUFFER_BYTES, 2 * this.length))
    larger.set(this.#buffer)
    this.#buffer = larger
    return larger
  }

  /** Frees the memory, and returns the reason. */
  drop<T>(reason: T): T {
    this.release()
    this.isDropped = true
    this.#buffer = EMPTY
    return reason
  }

  readonly release = (): void => {
    this.#reserveBytes(-this.#reservedBytes)
    this.#reservedBytes = 0
  }
}
