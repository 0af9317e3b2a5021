// Requests to the page's port as a hostile program would send them, with any head, byte by byte.
import { once } from 'node:events'
import { connect } from 'node:net'

/** the time limit of one request */
const REQUEST_MS = 30_000

export interface RawHead {
  readonly method?: string
  readonly path: string
  /** the lines of the head after the first, without `connection` and `content-length` */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: string
  readonly version?: '1.0' | '1.1'
}

export interface RawReply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Sends a request, and reads the answer until the connection ends. */
export async function sendRawHead(port: number, { method = 'GET', path, headers, body, version = '1.1' }: RawHead): Promise<RawReply> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.setTimeout(REQUEST_MS, () => socket.destroy(new Error(`no answer to ${method} ${path}`)))
  const lines = [
    `${method} ${path} HTTP/${version}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  const text = Buffer.concat(chunks).toString('utf8')
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...rest] = text.slice(0, end).split('\r\n')
  return {
    status: Number(first.split(' ')[1]),
    headers: new Map(rest.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])),
    body: text.slice(end + 4),
  }
}
