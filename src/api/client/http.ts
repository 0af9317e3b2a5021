// A minimal HTTP/1.1 client over a Unix socket, for one local daemon. Each connection has one request. The body of an answer has a
// length, has chunks, or ends with the connection. Uses node:net, because node:http doubles the time of a short command. Must never
// buffer more than the limits below. Test: test/tables/api/client/http.test.ts.
import { connect, type Socket } from 'node:net'

/** the longest line in the head of an answer, or before a chunk, in bytes */
const MAX_LINE_BYTES = 16 * 1024
const MAX_HEAD_LINES = 100
/** the silence before the first call of `whileSilent`, and the time between two calls, in ms */
export const FIRST_CHECK_MS = 2_000
const CHECK_INTERVAL_MS = 10_000

export interface WireRequest {
  readonly socketPath: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** the silence after which the request fails, in ms */
  readonly idleMs: number
  /** called repeatedly until the answer begins; resolves to an error if the wait must end */
  readonly whileSilent?: () => Promise<Error | null>
  readonly signal?: AbortSignal | undefined
}

/** The caller must read `body` to its end, or leave the loop with `break`: both close the connection. */
export interface WireResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: AsyncGenerator<Buffer, void>
}

/** The connection ended or was silent too long before the answer was complete, or the answer is not HTTP, or too long. */
export class BrokenLink extends Error {}

/** Whether an error means that no server was listening, so that nothing was sent. */
export function isNotListening(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall === 'connect' && (code === 'ENOENT' || code === 'ECONNREFUSED')
}

/** Sends the request and reads the head of the answer. Errors: system errors (`connect`), BrokenLink, or the reason of the signal. */
export async function sendRequest(request: WireRequest): Promise<WireResponse> {
  const { signal } = request
  const socket = connect({ path: request.socketPath, ...(signal ? { signal } : {}) })
  socket.setTimeout(request.idleMs, () => socket.destroy(new BrokenLink(`no answer for ${request.idleMs / 1000} s`)))
  const reader = new SocketReader(socket)
  socket.write(formatRequest(request))
  const stopChecks = request.whileSilent && checkWhileSilent(request.whileSilent, (error) => socket.destroy(error))
  try {
    const { status, headers } = await readHead(reader)
    return { status, headers, body: closeAtEnd(bodyOf(reader, headers), socket) }
  } catch (error) {
    socket.destroy()
    throw signal?.aborted ? signal.reason : error
  } finally {
    stopChecks?.()
  }
}

/** Calls `check` repeatedly. Its error is passed to `end`. Returns the function that stops the calls. */
function checkWhileSilent(check: () => Promise<Error | null>, end: (error: Error) => void): () => void {
  let timer = setTimeout(runCheck, FIRST_CHECK_MS)
  let isStopped = false
  function runCheck(): void {
    check().then((error) => {
      if (isStopped) return
      if (error) end(error)
      else timer = setTimeout(runCheck, CHECK_INTERVAL_MS)
    }, end)
  }
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

function formatRequest(request: WireRequest): string {
  const body = request.body ?? ''
  const lines = [`${request.method} ${request.path} HTTP/1.1`, 'host: reeve', 'connection: close']
  for (const [name, value] of Object.entries(request.headers ?? {})) lines.push(`${name}: ${value}`)
  if (request.body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

async function readHead(reader: SocketReader): Promise<{ status: number; headers: Map<string, string> }> {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(await reader.readLine())?.[1]
  if (!status) throw new BrokenLink('the answer is not HTTP')
  const headers = new Map<string, string>()
  for (let count = 0; count < MAX_HEAD_LINES; count++) {
    const line = await reader.readLine()
    if (line === '') return { status: Number(status), headers }
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  throw new BrokenLink('the head of the answer is too long')
}

function bodyOf(reader: SocketReader, headers: ReadonlyMap<string, string>): AsyncGenerator<Buffer, void> {
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') return readChunks(reader)
  const length = headers.get('content-length')
  return length === undefined ? readUntilEnd(reader) : readExactly(reader, Number(length))
}

async function* readChunks(reader: SocketReader): AsyncGenerator<Buffer, void> {
  for (;;) {
    const size = Number.parseInt(await reader.readLine(), 16)
    if (!(size >= 0)) throw new BrokenLink('a chunk has no size')
    if (size === 0) return
    yield* readExactly(reader, size)
    await reader.readLine()
  }
}

async function* readExactly(reader: SocketReader, length: number): AsyncGenerator<Buffer, void> {
  for (let left = length; left > 0;) {
    const piece = await reader.readPiece(left)
    if (!piece) throw new BrokenLink('the connection ended in the middle of an answer')
    left -= piece.length
    yield piece
  }
}

async function* readUntilEnd(reader: SocketReader): AsyncGenerator<Buffer, void> {
  for (let piece = await reader.readPiece(Infinity); piece; piece = await reader.readPiece(Infinity)) yield piece
}

async function* closeAtEnd(body: AsyncGenerator<Buffer, void>, socket: Socket): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } finally {
    // The socket is closed one tick later: a short command has exited by then, and saves the time.
    setImmediate(() => socket.destroy())
  }
}

/** Reads a socket by lines or pieces. Pauses the socket after each chunk, so that the sender cannot fill the memory. */
class SocketReader {
  readonly #socket: Socket
  /** the received chunks that are not in `#buffer` yet */
  #chunks: Buffer[] = []
  #buffer: Buffer = Buffer.alloc(0)
  #error: Error | undefined
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      socket.pause()
      this.#wake?.()
    })
    socket.on('error', (error) => {
      this.#error = error
      this.#wake?.()
    })
    socket.on('close', () => {
      this.#isClosed = true
      this.#wake?.()
    })
  }

  /** Reads the next line, and returns it without its line end. */
  async readLine(): Promise<string> {
    for (;;) {
      const end = this.#buffer.indexOf(0x0a)
      if (end >= 0) {
        const line = this.#buffer.toString('latin1', 0, end).replace(/\r$/, '')
        this.#buffer = this.#buffer.subarray(end + 1)
        return line
      }
      if (this.#buffer.length > MAX_LINE_BYTES) throw new BrokenLink('a line of the answer is too long')
      if (!(await this.#fillBuffer())) throw new BrokenLink('the connection ended before an answer')
    }
  }

  /** Reads the next bytes, at most `max`; undefined at the end. */
  async readPiece(max: number): Promise<Buffer | undefined> {
    if (this.#buffer.length === 0 && !(await this.#fillBuffer())) return undefined
    const piece = this.#buffer.subarray(0, max)
    this.#buffer = this.#buffer.subarray(piece.length)
    return piece
  }

  /** Waits for data, and adds it to the buffer. Resolves to false at the end. */
  async #fillBuffer(): Promise<boolean> {
    while (this.#chunks.length === 0) {
      if (this.#error) throw this.#error
      if (this.#isClosed) return false
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#socket.resume()
      await promise
    }
    this.#buffer =
      this.#buffer.length === 0 && this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat([this.#buffer, ...this.#chunks])
    this.#chunks = []
    return true
  }
}
