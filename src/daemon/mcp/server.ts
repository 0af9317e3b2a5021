// The daemon's MCP server: Streamable HTTP on 127.0.0.1 for agents, and on a Unix socket for `reeve mcp`. Speaks the revision 2026-07-28 of
// the protocol, and the older one with sessions. Must never read the body of a request before Host, Origin, content type and token are
// checked; a body has a size limit. Loads the MCP library, so it must only be imported when a client needs the server.
// Tests: test/e2e/mcp/server.test.ts, test/e2e/mcp/security.test.ts.
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import { chmod, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createMcpHandler, Server, type AuthInfo, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { OwnTool, OwnToolResult } from '../../drivers/port.ts'
import type { OwnToolCall } from './tool-calls.ts'
import type { ToolCaller } from './tokens.ts'

/** The largest body of a request in bytes: room for a report or an intent. */
const MAX_BODY = 4 * 1024 * 1024
const HEADERS_MS = 10_000
const JSON_TYPE = /^application\/json\s*(;|$)/i
const BEARER = /^Bearer ([\w-]{20,200})$/i
const PATH = '/mcp'
/** The field in `_meta` of a call with the id that `reeve mcp` has given to it. */
export const CALL_ID = 'reeve/callId'

export interface ToolServerDeps {
  readonly version: string
  readonly socket: string
  readonly findCaller: (token: string) => ToolCaller | null
  readonly listTools: (caller: ToolCaller) => Promise<readonly OwnTool[]>
  readonly callTool: (caller: ToolCaller, call: OwnToolCall) => Promise<OwnToolResult>
  readonly newId: () => string
  readonly log: (message: string, error: unknown) => void
}

export class ToolServer {
  readonly #deps: ToolServerDeps
  readonly #handler: McpHttpHandler
  readonly #servers: { readonly tcp: HttpServer; readonly unix: HttpServer }
  #port = 0

  private constructor(deps: ToolServerDeps) {
    this.#deps = deps
    this.#handler = createMcpHandler(({ authInfo }) => serverFor(deps, callerOf(authInfo)), {
      onerror: (error) => deps.log(`MCP: ${error.message}`, null),
      maxRequestBodySize: MAX_BODY,
    })
    const createHttpServer = (): HttpServer =>
      createServer({ headersTimeout: HEADERS_MS, requestTimeout: 0 }, (request, response) => {
        this.#serve(request, response).catch((error: unknown) => {
          deps.log('an MCP request failed', error)
          response.destroy()
        })
      })
    this.#servers = { tcp: createHttpServer(), unix: createHttpServer() }
  }

  static async open(deps: ToolServerDeps): Promise<ToolServer> {
    const server = new ToolServer(deps)
    const { tcp, unix } = server.#servers
    await listen(tcp, { host: '127.0.0.1', port: 0 })
    await rm(deps.socket, { force: true })
    // The directory has mode 0700, so no other user reaches the socket before its mode is set.
    await listen(unix, { path: deps.socket })
    await chmod(deps.socket, 0o600)
    server.#port = (tcp.address() as AddressInfo).port
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${PATH}`
  }

  async close(): Promise<void> {
    await this.#handler.close()
    await Promise.all(
      Object.values(this.#servers).map((server) => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        server.closeAllConnections()
        return closed
      }),
    )
    await rm(this.#deps.socket, { force: true })
  }

  /** Checks a request, and passes it to the library. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request, this.#port)
    if (refusal) return sendError(response, refusal.status, refusal.reason)
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
    const caller = token === undefined ? null : this.#deps.findCaller(token)
    if (caller === null)
      return sendError(response, 401, token === undefined ? 'a bearer token is needed' : 'the token is unknown: it ended with its process')
    const body = request.method === 'POST' ? await readBody(request) : undefined
    if (body === null) return sendError(response, 413, `a request may have at most ${MAX_BODY} bytes`)
    const clientGone = new AbortController()
    response.once('close', () => clientGone.abort())
    const authInfo: AuthInfo = { token: '', clientId: caller.uuid ?? 'user', scopes: [], extra: { caller } }
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      value === undefined || name === 'authorization' ? [] : [[name, String(value)]],
    )
    const webRequest = new Request(`http://127.0.0.1${PATH}`, {
      method: request.method ?? 'POST',
      headers,
      signal: clientGone.signal,
      ...(body ? { body: new Uint8Array(body) } : {}),
    })
    const answer = await this.#handler.fetch(webRequest, { authInfo })
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body === null) response.end()
    else
      Readable.fromWeb(answer.body)
        .on('error', () => response.destroy())
        .pipe(response)
  }
}

/** Resolves when the server listens. Errors: those of the system, such as a path that is too long. */
function listen(server: HttpServer, address: { readonly host: string; readonly port: number } | { readonly path: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(address, resolve)
  return promise
}

/**
 * Returns why a request is refused; null if it is not. Refuses browsers, which send an Origin, and cannot send JSON without a preflight.
 */
function refusalOf(
  { url, method, headers, socket }: IncomingMessage,
  port: number,
): { readonly status: number; readonly reason: string } | null {
  const isTcp = socket.remoteAddress !== undefined
  if (isTcp && ![`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? ''))
    return { status: 403, reason: 'the Host header is not allowed' }
  if (headers.origin !== undefined) return { status: 403, reason: 'requests with an Origin are refused' }
  if (url !== PATH) return { status: 404, reason: `the only path is ${PATH}` }
  if (method === 'POST' && !JSON_TYPE.test(headers['content-type'] ?? ''))
    return { status: 415, reason: 'the content type must be application/json' }
  return method === 'POST' || method === 'GET' || method === 'DELETE'
    ? null
    : { status: 405, reason: 'only POST, GET and DELETE are allowed' }
}

/** Reads the body of a request; null if it is too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Sends an error, and closes the connection. */
function sendError(response: ServerResponse, status: number, message: string): void {
  const headers = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  // The connection must close: the rest of an unread body would be read as the next request.
  response
    .writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message } }))
}

function callerOf(authInfo: AuthInfo | undefined): ToolCaller {
  const caller = authInfo?.extra?.['caller'] as ToolCaller | undefined
  if (!caller) throw new Error('a request without a caller')
  return caller
}

/** Creates the library's server for one caller. */
function serverFor({ version, listTools: tools, callTool: call, newId }: ToolServerDeps, caller: ToolCaller): Server {
  const server = new Server({ name: 'reeve', version }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({
    tools: (await tools(caller)).map(({ name, description, schema, effect }) => ({
      name,
      description,
      inputSchema: schema() as { type: 'object' },
      annotations: { readOnlyHint: effect === 'read', idempotentHint: effect !== 'once', destructiveHint: false, openWorldHint: false },
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {}
    const callId = mcpReq._meta?.[CALL_ID]
    let sent = 0
    const progress = (message: string): void => {
      if (progressToken === undefined) return
      sent += 1
      // The client may have gone. A lost progress message does not change the result.
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: sent, message } }).catch(() => undefined)
    }
    const { text, isError } = await call(caller, {
      name: params.name,
      input: params.arguments ?? {},
      id: typeof callId === 'string' ? callId : newId(),
      signal: mcpReq.signal,
      progress,
    })
    return { content: [{ type: 'text' as const, text }], ...(isError ? { isError } : {}) }
  })
  return server
}
