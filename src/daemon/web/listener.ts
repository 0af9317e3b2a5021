// A listener of the page: two TCP servers, on 127.0.0.1 and on ::1, at one port; or one with TLS at the user's address. Each request passes
// the access check first. A request of the API then goes to the same Fastify app as those of the Unix socket. Must never answer a request
// before that check, and must never listen beyond loopback without TLS.
// Test: test/e2e/web/access/listener.test.ts, test/e2e/web/security.test.ts.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { KernelError, type ErrorCode } from '../../kernel/model/errors.ts'
import type { WebOpening } from '../../kernel/model/words.ts'
import { errorBody } from '../http/error-body.ts'
import { localAddresses, tlsAddresses, type Certificate, type TlsAddress, type WebAddresses } from './addresses.ts'
import type { Assets } from './assets.ts'
import { checkAccess, type AccessVerdict } from './access-check.ts'
import { SECURITY_HEADERS } from './headers.ts'
import { recordPass } from './pass.ts'
import type { RouteAccess } from './find-route.ts'
import type { Sessions } from './sessions.ts'
import type { FailedAttempts } from './failed-attempts.ts'

export const WEB_PORT = 7338
/** how often another free port is tried, if the first one is in use on ::1 */
const PORT_ATTEMPTS = 10
const MAX_CONNECTIONS = 256
/** the time limits for the head of a request, and for the whole request, in ms */
const HEAD_MS = 10_000
const REQUEST_MS = 60_000
/** A request without Host is refused by the access check, with the same answer as all others. */
const SERVER_OPTIONS = { headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS, requireHostHeader: false }
/** headers that name the sender of a request on the Unix socket; over TCP the session is the sender */
const SENDER_HEADERS = ['x-reeve-process', 'x-reeve-client']

export interface ListenerDeps {
  readonly route: (request: IncomingMessage, response: ServerResponse) => void
  readonly routes: readonly RouteAccess[]
  readonly sessions: Sessions
  readonly wrongTokens: FailedAttempts
  readonly openings: readonly WebOpening[]
  /** the files of the page; while it is developed they are read for each document */
  readonly assets: () => Assets
  readonly refreshAssets: () => Promise<void>
  readonly log: (message: string, error: unknown) => void
}

export class WebListener {
  readonly #deps: ListenerDeps
  #servers: readonly (Server | TlsServer)[] = []
  #port = 0
  #addresses: WebAddresses = new Map()

  private constructor(deps: ListenerDeps) {
    this.#deps = deps
  }

  /** Opens a port on loopback. Null if another program has the port on either address. Errors: UNAVAILABLE. */
  static async openAt(deps: ListenerDeps, port: number): Promise<WebListener | null> {
    const listener = new WebListener(deps)
    return (await listener.#listenAt(port)) ? listener : null
  }

  /** Opens the usual port, or any free one. Errors: those of the system. */
  static async open(deps: ListenerDeps): Promise<WebListener> {
    const listener = new WebListener(deps)
    for (let attempt = 0; attempt <= PORT_ATTEMPTS; attempt++) if (await listener.#listenAt(attempt === 0 ? WEB_PORT : 0)) return listener
    throw new KernelError('UNAVAILABLE', 'no port is free on 127.0.0.1 and ::1')
  }

  /** Opens a port with TLS at an address of this machine. Errors: UNAVAILABLE if it cannot be listened on. */
  static async openTls(deps: ListenerDeps, { address, port }: TlsAddress, certificate: Certificate): Promise<WebListener> {
    const listener = new WebListener(deps)
    const { cert, key } = certificate
    const server = createTlsServer({ ...SERVER_OPTIONS, cert, key, minVersion: 'TLSv1.2' }, listener.#onRequest)
    server.maxConnections = MAX_CONNECTIONS
    const code = await listen(server, address, port)
    if (code !== null) throw new KernelError('UNAVAILABLE', `${address} port ${port} cannot be listened on: ${code}`)
    listener.#servers = [server]
    listener.#port = port
    listener.#addresses = tlsAddresses(port, certificate)
    return listener
  }

  get port(): number {
    return this.#port
  }

  /** Accepts requests for these names, too, from a proxy that ends TLS. */
  acceptProxies(hosts: readonly string[]): void {
    this.#addresses = localAddresses(this.#port, hosts)
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(closeServer))
    this.#servers = []
  }

  /** Listens on both addresses. False if another program has the port on one of them: users could take that program for the page. */
  async #listenAt(wanted: number): Promise<boolean> {
    const servers: Server[] = []
    let port = wanted
    for (const host of ['127.0.0.1', '::1']) {
      const server = this.#createServer()
      const code = await listen(server, host, port)
      if (code === null) {
        servers.push(server)
        port = (server.address() as AddressInfo).port
      } else if (code === 'EADDRINUSE' || servers.length === 0) {
        await Promise.all(servers.map(closeServer))
        if (code === 'EADDRINUSE') return false
        throw new KernelError('UNAVAILABLE', `127.0.0.1 cannot be listened on: ${code}`)
      }
      // Otherwise this machine has no ::1.
    }
    this.#servers = servers
    this.#port = port
    this.acceptProxies([])
    return true
  }

  #createServer(): Server {
    const server = createServer(SERVER_OPTIONS, this.#onRequest)
    server.maxConnections = MAX_CONNECTIONS
    return server
  }

  readonly #onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    this.#serve(request, response).catch((error: unknown) => {
      this.#deps.log('a request of the page failed', error)
      response.destroy()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    const { routes, sessions, wrongTokens, openings } = this.#deps
    const { method = '', url = '', rawHeaders } = request
    const verdict = checkAccess(
      { method, url, rawHeaders },
      {
        addresses: this.#addresses,
        routes,
        openings,
        findSession: (token, way) => sessions.find(token, way),
        countWrongToken: () => wrongTokens.count(),
        isAsset: (path) => this.#deps.assets().has(path),
      },
    )
    if (verdict.type === 'api') this.#pass(verdict, request, response)
    else if (verdict.type === 'document') {
      await this.#deps.refreshAssets()
      this.#deps.assets().sendDocument(response)
    } else if (verdict.type === 'asset') this.#deps.assets().send(verdict.path, String(request.headers['accept-encoding'] ?? ''), response)
    else refuse(verdict, response)
  }

  /** Hands a request to the routes, in the name of its session. */
  #pass({ route, session, way }: Extract<AccessVerdict, { type: 'api' }>, request: IncomingMessage, response: ServerResponse): void {
    for (const name of SENDER_HEADERS) delete request.headers[name]
    recordPass(request, { session, way, routeId: route.id, openings: this.#deps.openings })
    if (session) {
      const release = this.#deps.sessions.holdOpen(session.id, () => response.destroy())
      response.once('close', release)
    }
    this.#deps.route(request, response)
  }
}

/** Resolves to null when the server listens, else to the code of the system's error. */
function listen(server: Server | TlsServer, host: string, port: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'))
  server.listen({ host, port, ipv6Only: true, exclusive: true }, () => resolve(null))
  return promise
}

function closeServer(server: Server | TlsServer): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return closed
}

type Refusal = Exclude<AccessVerdict, { type: 'api' | 'document' | 'asset' }>

/** The refusal of the access check, which is the same whatever was wrong. */
export function refusal(): KernelError {
  return new KernelError('FORBIDDEN', 'the request is refused', undefined, '`reeve web` opens the page with a new link.')
}

const ERROR_OF: Readonly<Record<Exclude<Refusal['type'], 'no right'>, () => KernelError>> = {
  refused: refusal,
  'too many': () => new KernelError('RESOURCE_EXHAUSTED', 'there were too many wrong tokens', undefined, 'Wait for a second.'),
  'nothing there': () => new KernelError('NOT_FOUND', 'there is nothing at this address', undefined, '`reeve web` opens the page.'),
}
const STATUS: Partial<Record<ErrorCode, number>> = { RESOURCE_EXHAUSTED: 429, NOT_FOUND: 404 }

/** Sends a refusal, and closes the connection: the rest of an unread body would be read as the next request. */
function refuse(verdict: Refusal, response: ServerResponse): void {
  const error =
    verdict.type === 'no right' ? new KernelError('PERMISSION', verdict.message, undefined, verdict.hint) : ERROR_OF[verdict.type]()
  const body = JSON.stringify(errorBody(error))
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body), connection: 'close' }
  response.writeHead(STATUS[error.code] ?? 403, headers).end(body)
}
