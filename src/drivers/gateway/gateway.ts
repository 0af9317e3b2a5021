// The gateway: an HTTP server on loopback between agents that others wrote and their model providers. Each incarnation has a
// token in place of the provider's key, which stays here. What is no call of a model is passed on as it is.
// Owns who may ask and where it goes; a call itself is call.ts's. Must never send a key to where it does not belong.
// Tests: test/processes/gateway-*.test.ts.
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RETRY_S, answerCall, send } from './call.ts'
import type { CallParts, Prices } from './call.ts'
import { errorAnswer } from './errors.ts'
import type { Trouble } from './errors.ts'
import { Upstreams, finish, forward } from './forward.ts'
import { requestHeaders } from './headers.ts'
import { Lane } from './lanes.ts'
import type { LaneClock, RateLimit } from './lanes.ts'
import { baseOf, formatOf, keyHeader, readPath, routeOf, targetOf } from './routes.ts'
import type { Asked } from './routes.ts'
import { Seat, TOKEN } from './seat.ts'
import type { SeatParts, SeatProvider } from './seat.ts'

export interface GatewayParts {
  readonly clock: LaneClock
  readonly prices: Prices
  /** by the provider's name; looked at whenever a call begins */
  readonly rateLimits: () => Readonly<Record<string, RateLimit>>
  readonly log: (message: string, error: unknown) => void
}

/** What an agent is given to go through the gateway. */
export interface GatewaySeat {
  readonly token: string
  /** the base URL for a client of this provider, as that is used to it; null: it may not call it */
  url(provider: string): string | null
  /** from here on the token is nobody's, and what is under way is cut */
  close(): void
}

const MIB = 1024 * 1024
/** The largest body that providers take is half of it. */
const MAX_BODY_BYTES = 64 * MIB
/** All bodies that wait for an answer to begin, and connections: what agents have at hand must not use the daemon up. */
const MAX_WAITING_BYTES = 512 * MIB
const MAX_CONNECTIONS = 10_000
/** A client's idle connection is kept for longer than clients keep theirs. */
const KEEP_ALIVE_MS = 75_000

export class Gateway {
  readonly #parts: GatewayParts
  readonly #upstreams = new Upstreams()
  /** by the hash of the token */
  readonly #seats = new Map<string, Seat>()
  readonly #lanes = new Map<string, Lane>()
  /** what is under way for a seat */
  readonly #open = new Map<Seat, Set<ServerResponse>>()
  /** of bodies that wait */
  #waitingBytes = 0
  #server: Server | null = null
  #listening: Promise<string> | null = null

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  async open(parts: SeatParts): Promise<GatewaySeat> {
    const origin = await this.#origin()
    const seat = new Seat(parts)
    const hash = hashOf(seat.token)
    this.#seats.set(hash, seat)
    this.#open.set(seat, new Set())
    return {
      token: seat.token,
      url: (name) => {
        const provider = seat.provider(name)
        return provider ? baseOf(origin, provider.config) : null
      },
      close: () => {
        this.#seats.delete(hash)
        for (const response of this.#open.get(seat) ?? []) response.destroy()
        this.#open.delete(seat)
      },
    }
  }

  /** The incarnation whose token stands in one of these texts. */
  holder(texts: readonly string[]): { readonly seat: Seat; readonly origin: string } | null {
    const address = this.#server?.address() as AddressInfo | null | undefined
    for (const [token] of texts.flatMap((text) => [...text.matchAll(TOKEN)])) {
      const seat = this.#seats.get(hashOf(token))
      if (seat && address) return { seat, origin: `http://127.0.0.1:${address.port}` }
    }
    return null
  }

  async close(): Promise<void> {
    await this.#listening?.catch(() => undefined)
    const server = this.#server
    for (const lane of this.#lanes.values()) lane.close()
    if (server) {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    }
    this.#upstreams.close()
  }

  #origin(): Promise<string> {
    this.#listening ??= new Promise((resolve, reject) => {
      const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
        this.#answer(request, response).catch((error: unknown) => {
          this.#parts.log('a request at the gateway failed', error)
          response.destroy()
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const asked = readPath(request.url ?? '')
    // A page in a browser could be led here under a name of its own.
    if (!['127.0.0.1', 'localhost'].some((host) => request.headers.host === `${host}:${request.socket.localPort}`)) return refuse(response, null, 'unknown', 'this is the gateway of reeve, for the agents that it runs')
    const seat = this.#seatOf(request, asked)
    if (seat === null) return refuse(response, asked, 'token', 'the token is none of a process that runs: reeve gives one to each that it starts')
    const provider = asked && seat.provider(asked.name)
    if (!provider) return refuse(response, asked, 'unknown', `this process has no provider ${asked?.name ?? ''} at the gateway`)
    const open = this.#open.get(seat)
    open?.add(response)
    response.once('close', () => open?.delete(response))
    await this.#serve(seat, provider, asked, request, response)
  }

  async #serve(seat: Seat, provider: SeatProvider, asked: Asked, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { config, key } = provider
    const method = request.method ?? 'GET'
    const route = routeOf(method, asked.rest, config.kind)
    if (route === null) return refuse(response, asked, 'unknown', `${method} /${asked.rest} is not passed on: the gateway does not know what it costs`, config.kind)
    const body = await bodyOf(request)
    if (body === 'gone') return void response.destroy()
    if (body === 'large') return refuse(response, asked, 'large', `the request has more than ${MAX_BODY_BYTES / MIB} MiB`, config.kind)
    if (this.#waitingBytes + body.length > MAX_WAITING_BYTES) return send(response, errorAnswer(route.format, 'wait', `${MAX_WAITING_BYTES / MIB} MiB of requests wait at the gateway already`, RETRY_S))
    const release = this.#taken(body.length)
    response.once('close', release)
    const target = targetOf(asked, config)
    const { clock, prices } = this.#parts
    const parts: CallParts = { seat, provider, route, target, lane: this.#laneOf(config.name, key), prices, clock, upstreams: this.#upstreams, request, response, body, release, maxBodyBytes: MAX_BODY_BYTES }
    if (route.isCall) return answerCall(parts)
    const headers = requestHeaders(request.rawHeaders, { host: target.host, key: key === null ? null : keyHeader(config.kind, key), bytes: body.length > 0 || method === 'POST' ? body.length : null, isDecoded: false })
    const outcome = await forward(this.#upstreams, { method, url: target, headers, body }, response, () => null)
    if (outcome.end === 'unreachable') send(response, errorAnswer(route.format, 'unreachable', `${config.name} cannot be reached: ${outcome.error ?? 'no answer'}`))
    else finish(response, outcome)
  }

  /** Gives back what gives the room back, once. */
  #taken(bytes: number): () => void {
    let left = bytes
    this.#waitingBytes += bytes
    return () => {
      this.#waitingBytes -= left
      left = 0
    }
  }

  #laneOf(name: string, key: string | null): Lane {
    const id = `${name} ${hashOf(key ?? '')}`
    const known = this.#lanes.get(id)
    if (known) return known
    const { clock, rateLimits } = this.#parts
    const lane = new Lane(clock, () => rateLimits()[name] ?? {})
    this.#lanes.set(id, lane)
    return lane
  }

  /** Each client puts its key where its provider wants it. */
  #seatOf({ headers }: IncomingMessage, asked: Asked | null): Seat | null {
    const [, bearer] = /^bearer\s+(\S+)$/i.exec(headers.authorization ?? '') ?? []
    const given = [bearer, headers['x-api-key'], headers['x-goog-api-key'], asked?.key]
    for (const token of given) {
      const seat = typeof token === 'string' ? this.#seats.get(hashOf(token)) : undefined
      if (seat && typeof token === 'string' && isSame(seat.token, token)) return seat
    }
    return null
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function refuse(response: ServerResponse, asked: Asked | null, trouble: Trouble, message: string, kind: SeatProvider['config']['kind'] = kindOf(asked)): void {
  // What of the request has not been read is not waited for.
  response.setHeader('connection', 'close')
  send(response, errorAnswer(formatOf(asked?.rest ?? '', kind), trouble, message))
}

/** Whose client it is, as far as the path tells. */
function kindOf(asked: Asked | null): SeatProvider['config']['kind'] {
  if (asked?.name === 'anthropic' || asked?.name === 'openai') return asked.name
  return asked?.name === 'google' || asked?.rest.startsWith('v1beta') ? 'google' : 'openai-compatible'
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | 'large' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return 'large'
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    // Left off in the middle it must not be destroyed: it is to hear why.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) return 'large'
      chunks.push(chunk)
    }
  } catch {
    return 'gone'
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}
