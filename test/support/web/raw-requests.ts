// Requests to the page's port as a hostile program would send them: any head, byte by byte. And sessions as the page would start them.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { WEB_PORT } from '../../../src/daemon/web/listener.ts'
import type { WebOpenBody, WebOpenedView, WebStartedView } from '../../../src/api/views/web.ts'
import type { Client } from '../../../src/api/client/client.ts'

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

interface HasClient {
  readonly client: Client
}

/** The page's port of a daemon, with sessions. */
export class WebAccess {
  readonly #daemon: HasClient
  readonly port: number

  private constructor(daemon: HasClient, port: number) {
    this.#daemon = daemon
    this.port = port
  }

  static async open(daemon: HasClient): Promise<WebAccess> {
    const { url } = await daemon.client.post<WebOpenedView>('/v1/web/open', {})
    return new WebAccess(daemon, Number(new URL(url).port))
  }

  /** Opens the page at another port than the usual one, which a daemon of another test would take during a kill. */
  static async openAtAnyPort(daemon: HasClient): Promise<WebAccess> {
    const holder = createServer()
    await new Promise<void>((resolve) => {
      holder.once('listening', resolve).once('error', () => resolve())
      holder.listen(WEB_PORT, '127.0.0.1')
    })
    const opened = await WebAccess.open(daemon)
    holder.close()
    return opened
  }

  get host(): string {
    return `127.0.0.1:${this.port}`
  }

  get origin(): string {
    return `http://${this.host}`
  }

  /** Creates a link to the page. */
  createLink(body: WebOpenBody = {}): Promise<WebOpenedView> {
    return this.#daemon.client.post('/v1/web/open', body)
  }

  /** Starts a session with a new link. */
  async startSession(body: WebOpenBody = {}): Promise<WebStartedView> {
    const { code } = await this.createLink(body)
    return JSON.parse((await this.redeem(code)).body.replace(/^[^{]*/, '').replace(/[^}]*$/, '')) as WebStartedView
  }

  redeem(code: string): Promise<RawReply> {
    return this.send({
      method: 'POST',
      path: '/v1/web/session',
      body: JSON.stringify({ code }),
      headers: [
        ['origin', this.origin],
        ['content-type', 'application/json'],
      ],
    })
  }

  /** Sends a request with the right Host. */
  send({ headers = [], ...head }: Omit<RawHead, 'headers'> & Partial<Pick<RawHead, 'headers'>>): Promise<RawReply> {
    return sendRawHead(this.port, { ...head, headers: [['host', this.host], ...headers] })
  }

  /** Sends a request as the page does, with a token. */
  async request(token: string, method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(this.origin + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(method === 'GET' ? {} : { origin: this.origin }),
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      },
      ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    return { status: response.status, body: await response.json() }
  }
}
