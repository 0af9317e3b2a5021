// HTTP/1.1 over a Unix socket, just what the client of one local daemon needs: one request per connection, an answer with a
// length, in chunks or up to the end. On node:net, because loading node:http doubles the time of a short command.
// Must never keep more in memory than the limits below. Test: test/tables/cli-client.test.ts.
import { connect, type Socket } from 'node:net'

/** One line of a head or of a chunk's size. */
const HEAD_LINE_BYTES = 16 * 1024
const HEAD_LINES = 100

export interface WireRequest {
  readonly socketPath: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** silence on the line after which the exchange fails */
  readonly idleMs: number
  readonly signal?: AbortSignal | undefined
}

/** `body` must be read to its end, or left early with `break`: both close the connection. */
export interface WireResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: AsyncGenerator<Buffer, void>
}

/** The connection ended, or was silent, before the answer was whole. */
export class BrokenLink extends Error {}

/** Was nobody listening? Then nothing was sent either. */
export function isNotListening(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall === 'connect' && (code === 'ENOENT' || code === 'ECONNREFUSED')
}

/** Sends the request and reads the head of the answer. Errors: of the system (`connect`), BrokenLink, or the signal's reason. */
export async function exchange(request: WireRequest): Promise<WireResponse> {
  const { signal } = request
  const socket = connect({ path: request.socketPath, ...(signal ? { signal } : {}) })
  socket.setTimeout(request.idleMs, () => socket.destroy(new BrokenLink(`no answer for ${request.idleMs / 1000} s`)))
  const source = new Source(socket)
  socket.write(headOf(request))
  try {
    const { status, headers } = await readHead(source)
    return { status, headers, body: closing(bodyOf(source, headers), socket) }
  } catch (error) {
    socket.destroy()
    throw signal?.aborted ? signal.reason : error
  }
}

function headOf(request: WireRequest): string {
  const body = request.body ?? ''
  const lines = [`${request.method} ${request.path} HTTP/1.1`, 'host: reeve', 'connection: close']
  for (const [name, value] of Object.entries(request.headers ?? {})) lines.push(`${name}: ${value}`)
  if (request.body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

async function readHead(source: Source): Promise<{ status: number; headers: Map<string, string> }> {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(await source.line())?.[1]
  if (!status) throw new BrokenLink('the answer is not HTTP')
  const headers = new Map<string, string>()
  for (let count = 0; count < HEAD_LINES; count++) {
    const line = await source.line()
    if (line === '') return { status: Number(status), headers }
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  throw new BrokenLink('the head of the answer is too long')
}

function bodyOf(source: Source, headers: ReadonlyMap<string, string>): AsyncGenerator<Buffer, void> {
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') return chunked(source)
  const length = headers.get('content-length')
  return length === undefined ? toEnd(source) : exactly(source, Number(length))
}

async function* chunked(source: Source): AsyncGenerator<Buffer, void> {
  for (;;) {
    const size = Number.parseInt(await source.line(), 16)
    if (!(size >= 0)) throw new BrokenLink('a chunk has no size')
    if (size === 0) return
    yield* exactly(source, size)
    await source.line()
  }
}

async function* exactly(source: Source, length: number): AsyncGenerator<Buffer, void> {
  for (let left = length; left > 0;) {
    const piece = await source.piece(left)
    if (!piece) throw new BrokenLink('the connection ended in the middle of an answer')
    left -= piece.length
    yield piece
  }
}

async function* toEnd(source: Source): AsyncGenerator<Buffer, void> {
  for (let piece = await source.piece(Infinity); piece; piece = await source.piece(Infinity)) yield piece
}

async function* closing(body: AsyncGenerator<Buffer, void>, socket: Socket): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } finally {
    // A turn later: a short command has ended by then, and need not take its socket apart.
    setImmediate(() => socket.destroy())
  }
}

/** The socket's bytes, taken by lines or pieces. Unread ones are few: beyond them the socket is paused, and so the sender. */
class Source {
  readonly #socket: Socket
  #waiting: Buffer[] = []
  #rest: Buffer = Buffer.alloc(0)
  #error: Error | undefined
  #isOver = false
  #wake: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#waiting.push(chunk)
      socket.pause()
      this.#wake?.()
    })
    socket.on('error', (error) => {
      this.#error = error
      this.#wake?.()
    })
    socket.on('close', () => {
      this.#isOver = true
      this.#wake?.()
    })
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(0x0a)
      if (end >= 0) {
        const line = this.#rest.toString('latin1', 0, end).replace(/\r$/, '')
        this.#rest = this.#rest.subarray(end + 1)
        return line
      }
      if (this.#rest.length > HEAD_LINE_BYTES) throw new BrokenLink('a line of the answer is too long')
      if (!(await this.#more())) throw new BrokenLink('the connection ended before an answer')
    }
  }

  /** At most `max` bytes; undefined at the end. */
  async piece(max: number): Promise<Buffer | undefined> {
    if (this.#rest.length === 0 && !(await this.#more())) return undefined
    const piece = this.#rest.subarray(0, max)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  async #more(): Promise<boolean> {
    while (this.#waiting.length === 0) {
      if (this.#error) throw this.#error
      if (this.#isOver) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#socket.resume()
      await promise
    }
    this.#rest = this.#rest.length === 0 && this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat([this.#rest, ...this.#waiting])
    this.#waiting = []
    return true
  }
}
