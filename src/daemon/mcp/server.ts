// The MCP server of the daemon: Streamable HTTP on 127.0.0.1 for agents, and the same on a Unix socket for `reeve mcp`, in both
// revisions of the protocol. Nothing is looked at before who asks is known: Host, Origin, content type and token come first, and
// a request has a limit. Loads the library, so it must only be imported when somebody is to be served.
// Tests: test/e2e/mcp-server.test.ts, test/e2e/mcp-security.test.ts.
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import { chmod, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createMcpHandler, Server, type AuthInfo, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { OwnTool, OwnToolEnd } from '../../drivers/port.ts'
import type { OwnCall } from './own-tools.ts'
import type { Seat } from './seats.ts'

/** bytes of a request: a report or an intent fits */
const MAX_BODY = 4 * 1024 * 1024
const HEADERS_MS = 10_000
const JSON_TYPE = /^application\/json\s*(;|$)/i
const BEARER = /^Bearer ([\w-]{20,200})$/i
const PATH = '/mcp'
/** in `_meta` of a call: the name that `reeve mcp` gave it */
export const CALL_ID = 'reeve/callId'

export interface ServerParts {
  readonly version: string
  readonly socket: string
  readonly find: (token: string) => Seat | null
  readonly tools: (seat: Seat) => Promise<readonly OwnTool[]>
  readonly call: (seat: Seat, call: OwnCall) => Promise<OwnToolEnd>
  readonly newId: () => string
  readonly log: (message: string, error: unknown) => void
}

export class McpServer {
  readonly #parts: ServerParts
  readonly #handler: McpHttpHandler
  readonly #servers: { readonly tcp: HttpServer; readonly unix: HttpServer }
  #port = 0

  private constructor(parts: ServerParts) {
    this.#parts = parts
    this.#handler = createMcpHandler(({ authInfo }) => serverFor(parts, seatOf(authInfo)), { onerror: (error) => parts.log(`MCP: ${error.message}`, null), maxRequestBodySize: MAX_BODY })
    const make = (): HttpServer => createServer({ headersTimeout: HEADERS_MS, requestTimeout: 0 }, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        parts.log('an MCP request failed', error)
        response.destroy()
      })
    })
    this.#servers = { tcp: make(), unix: make() }
  }

  static async open(parts: ServerParts): Promise<McpServer> {
    const server = new McpServer(parts)
    const { tcp, unix } = server.#servers
    await listening(tcp, { host: '127.0.0.1', port: 0 })
    await rm(parts.socket, { force: true })
    // Its directory is 0700; the mode is for those who look.
    await listening(unix, { path: parts.socket })
    await chmod(parts.socket, 0o600)
    server.#port = (tcp.address() as AddressInfo).port
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${PATH}`
  }

  async close(): Promise<void> {
    await this.#handler.close()
    await Promise.all(Object.values(this.#servers).map((server) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    }))
    await rm(this.#parts.socket, { force: true })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = refusal(request, this.#port)
    if (refused) return end(response, refused.status, refused.why)
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
    const seat = token === undefined ? null : this.#parts.find(token)
    if (seat === null) return end(response, 401, token === undefined ? 'a bearer token is needed' : 'the token is not known: it is gone with its process')
    const body = request.method === 'POST' ? await bodyOf(request) : undefined
    if (body === null) return end(response, 413, `a request may have ${MAX_BODY} bytes`)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const authInfo: AuthInfo = { token: '', clientId: seat.uuid ?? 'person', scopes: [], extra: { seat } }
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] => (value === undefined || name === 'authorization' ? [] : [[name, String(value)]]))
    const asked = new Request(`http://127.0.0.1${PATH}`, { method: request.method ?? 'POST', headers, signal: gone.signal, ...(body ? { body: new Uint8Array(body) } : {}) })
    const answer = await this.#handler.fetch(asked, { authInfo })
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body === null) response.end()
    else Readable.fromWeb(answer.body as ReadableStream).on('error', () => response.destroy()).pipe(response)
  }
}

function listening(server: HttpServer, where: { readonly host: string; readonly port: number } | { readonly path: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(where, resolve)
  return promise
}

/** A browser cannot send what gets past here: it says where it comes from, and cannot ask for JSON without asking first. */
function refusal({ url, method, headers, socket }: IncomingMessage, port: number): { readonly status: number; readonly why: string } | null {
  const isTcp = socket.remoteAddress !== undefined
  if (isTcp && ![`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '')) return { status: 403, why: 'this Host is not ours' }
  if (headers.origin !== undefined) return { status: 403, why: 'requests with an Origin are refused' }
  if (url !== PATH) return { status: 404, why: `there is ${PATH} alone` }
  if (method === 'POST' && !JSON_TYPE.test(headers['content-type'] ?? '')) return { status: 415, why: 'the content type must be application/json' }
  return method === 'POST' || method === 'GET' || method === 'DELETE' ? null : { status: 405, why: 'POST, GET and DELETE alone' }
}

/** Null: it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function end(response: ServerResponse, status: number, why: string): void {
  const words = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  // What is left of a body that nobody reads would be taken for the next request.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...words }).end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message: why } }))
}

function seatOf(authInfo: AuthInfo | undefined): Seat {
  const seat = authInfo?.extra?.['seat'] as Seat | undefined
  if (!seat) throw new Error('a request without a seat')
  return seat
}

function serverFor({ version, tools, call, newId }: ServerParts, seat: Seat): Server {
  const server = new Server({ name: 'reeve', version }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({
    tools: (await tools(seat)).map(({ name, description, schema, effect }) => ({ name, description, inputSchema: schema() as { type: 'object' }, annotations: { readOnlyHint: effect === 'read', idempotentHint: effect !== 'once', destructiveHint: false, openWorldHint: false } })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {}
    const named = mcpReq._meta?.[CALL_ID]
    let said = 0
    const progress = (message: string): void => {
      if (progressToken === undefined) return
      said += 1
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: said, message } }).catch(() => undefined)
    }
    const { text, isError } = await call(seat, { name: params.name, input: params.arguments ?? {}, id: typeof named === 'string' ? named : newId(), signal: mcpReq.signal, progress })
    return { content: [{ type: 'text' as const, text }], ...(isError ? { isError } : {}) }
  })
  return server
}
