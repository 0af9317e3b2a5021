// The messages of PostgreSQL's protocol: a type of one byte, the length, and the body. A client's first message has no type.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

const PROTOCOL_3_0 = 0x00_03_00_00
const SSL_REQUEST = 80_877_103
const LENGTH_BYTES = 4

export interface WireMessage {
  /** '' for a message without a type: the first of a client */
  readonly type: string
  readonly body: Buffer
  /** the whole message */
  readonly bytes: Buffer
}

/** A client's first message, which asks for version 3.0 of the protocol. */
export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(parameters).flatMap(([name, value]) => [name, value])
  const body = Buffer.from(`\0\0\0\0${[...text, '', ''].join('\0')}`)
  body.writeInt32BE(PROTOCOL_3_0, 0)
  return Buffer.concat([lengthOf(body), body])
}

/** A later message of a client. `text`: the body; where the protocol wants a string, its end `\0` is included. */
export function clientMessage(type: string, text: string): Buffer {
  const body = Buffer.from(text)
  return Buffer.concat([Buffer.from(type), lengthOf(body), body])
}

/** Cuts a stream of bytes into messages. The rest stays until more bytes come. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0)
  #isTyped: boolean

  constructor(sender: 'client' | 'server') {
    this.#isTyped = sender === 'server'
  }

  *read(bytes: Buffer): Generator<WireMessage> {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    for (let message = this.#take(); message !== null; message = this.#take()) yield message
  }

  #take(): WireMessage | null {
    const typeBytes = this.#isTyped ? 1 : 0
    if (this.#rest.length < typeBytes + LENGTH_BYTES) return null
    const end = typeBytes + this.#rest.readInt32BE(typeBytes)
    if (this.#rest.length < end) return null
    const bytes = this.#rest.subarray(0, end)
    const body = bytes.subarray(typeBytes + LENGTH_BYTES)
    this.#rest = this.#rest.subarray(end)
    if (!this.#isTyped && body.readInt32BE(0) === SSL_REQUEST) throw new Error('the tests have no server with TLS')
    const type = this.#isTyped ? bytes.toString('latin1', 0, 1) : ''
    this.#isTyped = true
    return { type, body, bytes }
  }
}

function lengthOf(body: Buffer): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES)
  bytes.writeInt32BE(LENGTH_BYTES + body.length)
  return bytes
}
