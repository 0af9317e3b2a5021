// The gateway: an HTTP server on the loopback interface, between external agents and their model providers. Each incarnation gets a token
// instead of the provider's key, which stays in the daemon. Requests that call no model are forwarded without metering. Checks access and
// routes requests; call.ts runs the model calls. Must never send a key to another provider.
// Tests: test/processes/gateway/token.test.ts, test/processes/gateway/forward.test.ts.
import { errorText } from '../../kernel/util/error-text.ts'
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BodyReader } from './body-reader.ts'
import { RETRY_AFTER_S, answerCall, sendError } from './call.ts'
import type { CallDeps, Prices } from './call.ts'
import { createErrorAnswer } from './errors.ts'
import type { GatewayErrorKind } from './errors.ts'
import { Upstreams, finishResponse, forwardRequest } from './forward.ts'
import { requestHeaders } from './headers.ts'
import { RateLimiter } from './rate-limiter.ts'
import type { GatewayClock, RateLimit } from './rate-limiter.ts'
import { gatewayBaseURL, findFormat, keyHeader, readPath, findRoute, providerURL } from './routes.ts'
import type { GatewayRequest } from './routes.ts'
import { GatewaySession, TOKEN_PATTERN } from './session.ts'
import type { GatewaySessionDeps, SessionProvider } from './session.ts'
import { MIB } from '../../kernel/util/mib.ts'

export interface GatewayDeps {
  readonly clock: GatewayClock
  readonly prices: Prices
  /** The rate limits by provider name, which are read again for each call. */
  readonly rateLimits: () => Readonly<Record<string, RateLimit>>
  readonly log: (message: string, error: unknown) => void
}

/** An incarnation's access to the gateway. */
export interface GatewayAccess {
  readonly token: string
  /** The base URL for a client of this provider; null if the incarnation may not call the provider. */
  url(provider: string): string | null
  /** Revokes the token and cuts the open responses. */
  close(): void
}

/** The largest body of a request, in bytes: twice the largest one that providers accept. */
const MAX_BODY_BYTES = 64 * MIB
/** The limit of all request bodies in memory together, in bytes, so that agents cannot exhaust the daemon's memory. */
const MAX_BODIES_BYTES = 256 * MIB
/** The maximum number of connections of all agents together. */
const MAX_CONNECTIONS = 10_000
/** How long an idle connection of a client is kept, in ms. Clients stop using an idle connection earlier. */
const KEEP_ALIVE_MS = 75_000

export class Gateway {
  readonly #deps: GatewayDeps
  readonly #upstreams = new Upstreams()
  /** the sessions by the hash of their token */
  readonly #sessions = new Map<string, GatewaySession>()
  /** the limiters by provider name and hash of the key */
  readonly #limiters = new Map<string, RateLimiter>()
  /** the open responses of each session */
  readonly #openResponses = new Map<GatewaySession, Set<ServerResponse>>()
  readonly #bodyReader = new BodyReader({ maxBytes: MAX_BODY_BYTES, maxHeldBytes: MAX_BODIES_BYTES })
  #server: Server | null = null
  #listening: Promise<string> | null = null

  constructor(deps: GatewayDeps) {
    this.#deps = deps
  }

  /** Opens the access of an incarnation. Starts the server at the first call. */
  async open(deps: GatewaySessionDeps): Promise<GatewayAccess> {
    const origin = await this.#startServer()
    const session = new GatewaySession(deps)
    const hash = hashOf(session.token)
    this.#sessions.set(hash, session)
    this.#openResponses.set(session, new Set())
    return {
      token: session.token,
      url: (name) => {
        const provider = session.provider(name)
        return provider ? gatewayBaseURL(origin, provider.config) : null
      },
      close: () => {
        this.#sessions.delete(hash)
        for (const response of this.#openResponses.get(session) ?? []) response.destroy()
        this.#openResponses.delete(session)
      },
    }
  }

  /** Finds the session whose token occurs in one of these texts, and the gateway's origin. */
  findSession(texts: readonly string[]): { readonly session: GatewaySession; readonly origin: string } | null {
    const address = this.#server?.address() as AddressInfo | null | undefined
    for (const [token] of texts.flatMap((text) => [...text.matchAll(TOKEN_PATTERN)])) {
      const session = this.#sessions.get(hashOf(token))
      if (session && address) return { session, origin: `http://127.0.0.1:${address.port}` }
    }
    return null
  }

  async close(): Promise<void> {
    // If the server could not start, the caller of `open` has already got the error.
    await this.#listening?.catch(() => undefined)
    const server = this.#server
    for (const limiter of this.#limiters.values()) limiter.close()
    if (server) {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    }
    this.#upstreams.close()
  }

  /** Starts the server once. Resolves to its origin. */
  #startServer(): Promise<string> {
    this.#listening ??= new Promise((resolve, reject) => {
      const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
        this.#onRequest(request, response).catch((error: unknown) => {
          this.#deps.log('a request at the gateway failed', error)
          if (response.headersSent) response.destroy()
          else refuse(response, readPath(request.url ?? ''), 'failed', `the gateway cannot serve this request: ${errorText(error)}`)
        })
      })
      this.#server = server
      server.maxConnections = MAX_CONNECTIONS
      server.once('error', reject)
      server.listen({ host: '127.0.0.1', port: 0 }, () => {
        server.unref()
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      })
    })
    return this.#listening
  }

  /** Checks the access of a request, and serves it. */
  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const path = readPath(request.url ?? '')
    // The check of the Host header prevents DNS rebinding by a page in a browser.
    if (!['127.0.0.1', 'localhost'].some((host) => request.headers.host === `${host}:${request.socket.localPort}`))
      return refuse(response, null, 'unknown', 'this is the reeve gateway, which serves only agents that reeve runs')
    const session = this.#sessionOf(request, path)
    if (session === null)
      return refuse(response, path, 'token', 'the token belongs to no running process; reeve gives one to each process that it starts')
    const provider = path && session.provider(path.name)
    if (!provider) return refuse(response, path, 'unknown', `this process may not call provider ${path?.name ?? ''} through the gateway`)
    const responses = this.#openResponses.get(session)
    responses?.add(response)
    response.once('close', () => responses?.delete(response))
    await this.#serve(session, provider, path, request, response)
  }

  /** Serves an authorized request. */
  async #serve(
    session: GatewaySession,
    provider: SessionProvider,
    path: GatewayRequest,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { config, key } = provider
    const method = request.method ?? 'GET'
    const route = findRoute(method, path.rest, config.kind)
    if (route === null)
      return refuse(
        response,
        path,
        'unknown',
        `${method} /${path.rest} is not passed on because the gateway does not know its cost`,
        config.kind,
      )
    const bodyOrError = await this.#bodyReader.read(request)
    if (bodyOrError === 'gone') return void response.destroy()
    if (bodyOrError === 'large')
      return refuse(response, path, 'large', `the request is larger than ${MAX_BODY_BYTES / MIB} MiB`, config.kind)
    if (bodyOrError === 'full')
      return sendError(
        response,
        createErrorAnswer(
          route.format,
          'wait',
          `${MAX_BODIES_BYTES / MIB} MiB of requests are already waiting at the gateway`,
          RETRY_AFTER_S,
        ),
      )
    const { bytes: body, release } = bodyOrError
    if (response.destroyed) return release()
    response.once('close', release)
    const target = providerURL(path, config)
    const { clock, prices, log } = this.#deps
    const call: CallDeps = {
      session,
      provider,
      route,
      target,
      rateLimiter: this.#limiterOf(config.name, key),
      prices,
      clock,
      upstreams: this.#upstreams,
      request,
      response,
      body,
      release,
      maxBodyBytes: MAX_BODY_BYTES,
      log,
    }
    if (route.isCall) return answerCall(call)
    const headers = requestHeaders(request.rawHeaders, {
      host: target.host,
      key: key === null ? null : keyHeader(config.kind, key),
      bytes: body.length > 0 || method === 'POST' ? body.length : null,
      isDecoded: false,
    })
    const outcome = await forwardRequest(this.#upstreams, { method, url: target, headers, body }, response, () => null)
    if (outcome.end === 'unreachable')
      sendError(
        response,
        createErrorAnswer(route.format, 'unreachable', `${config.name} cannot be reached: ${outcome.error ?? 'no answer'}`),
      )
    else finishResponse(response, outcome)
  }

  #limiterOf(name: string, key: string | null): RateLimiter {
    const id = `${name} ${hashOf(key ?? '')}`
    const existing = this.#limiters.get(id)
    if (existing) return existing
    const { clock, rateLimits } = this.#deps
    const limiter = new RateLimiter(clock, () => rateLimits()[name] ?? {})
    this.#limiters.set(id, limiter)
    return limiter
  }

  /** Finds the session of a request by the token. Clients send the token where their provider expects the key. */
  #sessionOf({ headers }: IncomingMessage, path: GatewayRequest | null): GatewaySession | null {
    const [, bearer] = /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '') ?? []
    const candidates = [bearer, headers['x-api-key'], headers['x-goog-api-key'], path?.key]
    for (const token of candidates) {
      const session = typeof token === 'string' ? this.#sessions.get(hashOf(token)) : undefined
      if (session && typeof token === 'string' && isSame(session.token, token)) return session
    }
    return null
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Compares two texts in constant time. */
function isSame(first: string, second: string): boolean {
  const [a, b] = [Buffer.from(first), Buffer.from(second)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function refuse(
  response: ServerResponse,
  path: GatewayRequest | null,
  error: GatewayErrorKind,
  message: string,
  kind: SessionProvider['config']['kind'] = kindOf(path),
): void {
  // The connection is closed, so that the rest of the request need not be read.
  response.setHeader('connection', 'close')
  sendError(response, createErrorAnswer(findFormat(path?.rest ?? '', kind), error, message))
}

/** Guesses from the path which kind of provider the client expects. */
function kindOf(path: GatewayRequest | null): SessionProvider['config']['kind'] {
  if (path?.name === 'anthropic' || path?.name === 'openai') return path.name
  return path?.name === 'google' || path?.rest.startsWith('v1beta') ? 'google' : 'openai-compatible'
}
