// The page's port of a daemon, for tests: creates links, starts sessions as the page does, and sends requests with a token.
import { createServer } from 'node:net'
import { WEB_PORT } from '../../../src/daemon/web/listener.ts'
import type { Client } from '../../../src/api/client/client.ts'
import type { WebOpenBody, WebOpenedView, WebStartedView } from '../../../src/api/views/web.ts'
import { sendRawHead, type RawHead, type RawReply } from './raw-requests.ts'

/** the time limit of one request */
const REQUEST_MS = 30_000

interface HasClient {
  readonly client: Client
}

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
