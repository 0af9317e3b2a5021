// A connection to an MCP server, from start to end, over stdio or HTTP, in both revisions of the protocol. The newer revision is tried
// first, with a request that older servers refuse. This file loads the MCP library, so it must only be imported when a server starts.
// Tests: test/processes/mcp/stdio.test.ts, test/processes/mcp/http.test.ts, test/processes/mcp/hostile-servers.test.ts.
import { Client, ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'
import type { CallToolResult, Progress, Tool as ListedTool } from '@modelcontextprotocol/client'
import type { McpTransport, McpStart } from '../../kernel/model/mcp-start.ts'
import type { Containment } from '../contain/containment-contract.ts'
import type { EndWaits } from '../native/tools/tool.ts'
import { HttpTransport } from './http-transport.ts'
import { SHORT_END_WAITS, StdioTransport } from './stdio-transport.ts'

export type ReadyServer = Extract<McpStart, { state: 'ready' }>

export interface ConnectionDeps {
  readonly containment: Containment
  /** aborts the attempt to connect, and ends everything that it has started */
  readonly signal: AbortSignal
  /** receives the server's output that is not a message */
  onOutput(text: string): void
  /** called when the server's list of tools has changed */
  onChange(): void
}

interface CallOptions {
  readonly signal: AbortSignal
  onProgress(progress: Progress): void
}

/** The longest timer, in ms. Disables the library's time limits, which advance even while the agent is frozen; reeve has its own limits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** The time limit of a subscription request, in ms. */
const SUBSCRIBE_TIMEOUT_MS = 5_000
/** The maximum number of pages of a list of tools. */
const MAX_PAGES = 64
/** The maximum number of tools of a server. It is limited because all of them are sent with every model call. */
const MAX_TOOLS = 1_000
/** The HTTP statuses of a missing or wrong key. */
const KEY_REFUSED_STATUSES = [401, 403]
/** The HTTP statuses of a server that does not support the transport. */
const PROTOCOL_REFUSED_STATUSES = [400, 404, 405, 406]

export class Connection {
  /** resolves when the connection has ended; the text describes how */
  readonly ended: Promise<string>
  readonly #client: Client
  readonly #transport: StdioTransport | HttpTransport
  readonly #onChange: () => void
  #isSubscribed = false
  #wasSubscribed = false
  #hasEnded = false
  #endReason = Promise.withResolvers<string>()

  private constructor(client: Client, transport: StdioTransport | HttpTransport, onChange: () => void) {
    this.#client = client
    this.#transport = transport
    this.#onChange = onChange
    this.ended = transport instanceof StdioTransport ? transport.ended : this.#endReason.promise
    this.ended.then(
      () => {
        this.#hasEnded = true
      },
      () => undefined,
    )
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** the server's own name and version, and the revision of the protocol, as text */
  get detail(): string {
    const { name, version } = this.#client.getServerVersion() ?? { name: 'nameless', version: '' }
    return `${name} ${version} (${this.#client.getNegotiatedProtocolVersion() ?? 'unknown revision'})`.slice(0, 200)
  }

  /** Connects to a server. Rejects with the reason as message, after everything that the attempt started has ended. */
  static async open(server: ReadyServer, deps: ConnectionDeps): Promise<Connection> {
    const { transport } = server
    if (transport.kind === 'http') return Connection.#connect(new HttpTransport(transport), server, deps, 'auto')
    const program = await startProgram(transport, deps)
    try {
      return await Connection.#connect(program, server, deps, 'auto')
    } catch (error) {
      if (deps.signal.aborted || program.unexpectedEnd === null) throw error
    }
    // Some older servers exit when they get the unknown request. The program is then started again, and does not get this request.
    return Connection.#connect(await startProgram(transport, deps), server, deps, 'legacy')
  }

  static async #connect(
    transport: StdioTransport | HttpTransport,
    server: ReadyServer,
    deps: ConnectionDeps,
    mode: 'auto' | 'legacy',
  ): Promise<Connection> {
    const { signal } = deps
    const client = newClient(server, mode)
    const closeTransport = (): void => {
      // `connect` rejects with the reason. An error of `close` can be ignored.
      transport.close().catch(() => undefined)
    }
    signal.addEventListener('abort', closeTransport)
    try {
      signal.throwIfAborted()
      await client.connect(transport, { signal, timeout: LONGEST_TIMER_MS })
      const connection = new Connection(client, transport, deps.onChange)
      connection.#watchToolList()
      return connection
    } catch (error) {
      const unexpectedEnd = transport instanceof StdioTransport ? transport.unexpectedEnd : null
      await transport.end(SHORT_END_WAITS)
      throw new Error(unexpectedEnd === null ? reasonOf(error) : `it has ended: ${unexpectedEnd}`, { cause: error })
    } finally {
      signal.removeEventListener('abort', closeTransport)
    }
  }

  /** Lists the tools: reads all pages up to the limits, and keeps only the needed fields of each tool. */
  async list(signal: AbortSignal): Promise<readonly ListedTool[]> {
    const tools: ListedTool[] = []
    if (!this.#client.getServerCapabilities()?.tools) return tools
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
      const params = cursor === undefined ? {} : { cursor }
      const result = await this.#client.request({ method: 'tools/list', params }, { signal, timeout: LONGEST_TIMER_MS })
      tools.push(...result.tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema })))
      cursor = result.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  /** Calls a tool. Errors: those of the server or the connection; `SessionLost` if the server no longer knows the session. */
  async call(tool: ListedTool, input: Record<string, unknown>, { signal, onProgress }: CallOptions): Promise<CallToolResult> {
    this.#subscribe()
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: input },
        { signal, timeout: LONGEST_TIMER_MS, onprogress: onProgress, toolDefinition: tool },
      )
    } catch (error) {
      if (this.#hasLostSession(error)) {
        this.#hasEnded = true
        this.#endReason.resolve('it no longer knows the session')
        throw new SessionLost()
      }
      throw error instanceof ProtocolError ? error : new Error(reasonOf(error), { cause: error })
    }
  }

  async end(waits: EndWaits): Promise<void> {
    this.#hasEnded = true
    await this.#transport.end(waits)
    this.#endReason.resolve('closed')
  }

  /**
   * True if the error means that the server no longer knows the session. The protocol demands the status 404, but many servers send 400
   * with a text about the session. A 400 with another text may be the error of a call that the server ran.
   */
  #hasLostSession(error: unknown): boolean {
    const { sessionId } = this.#transport instanceof HttpTransport ? this.#transport : {}
    if (sessionId === undefined || !(error instanceof SdkHttpError)) return false
    return error.status === 404 || (error.status === 400 && /session/i.test(`${error.message} ${String(error.data['text'] ?? '')}`))
  }

  #watchToolList(): void {
    this.#client.setNotificationHandler('notifications/tools/list_changed', () => this.#onChange())
    this.#subscribe()
  }

  /**
   * Subscribes to changes of the tool list. The newer revision reports changes only to subscribers. A lost subscription is renewed at
   * the next call.
   */
  #subscribe(): void {
    if (this.#isSubscribed || this.#client.getProtocolEra() !== 'modern' || !this.#client.getServerCapabilities()?.tools?.listChanged)
      return
    this.#isSubscribed = true
    this.#client
      .listen({ toolsListChanged: true }, { timeout: SUBSCRIBE_TIMEOUT_MS })
      .then((subscription) => {
        if (this.#wasSubscribed) this.#onChange() // the list may have changed while the subscription was lost
        this.#wasSubscribed = true
        return subscription.closed
      })
      .then(
        () => {
          this.#isSubscribed = false
        },
        () => undefined,
      )
  }
}

/** The error of a call that the server did not run, because it does not know the session. The caller may connect again. */
class SessionLost extends Error {
  override name = 'SessionLost'
}

function newClient({ startMs, transport }: ReadyServer, mode: 'auto' | 'legacy'): Client {
  // A program that does not answer the request of the newer revision may be an older server. Half of the time is kept for the older
  // revision.
  const timeoutMs = transport.kind === 'http' ? LONGEST_TIMER_MS : Math.ceil(startMs / 2)
  const versionNegotiation = { mode, probe: { timeoutMs } }
  const client = new Client({ name: 'reeve', version: '1' }, { capabilities: {}, versionNegotiation })
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(new ProtocolError(-32_601, `${method} is declined: there is no user to answer it`))
  return client
}

async function startProgram(
  { argv, cwd, env }: Extract<McpTransport, { kind: 'stdio' }>,
  { containment, onOutput }: ConnectionDeps,
): Promise<StdioTransport> {
  return new StdioTransport(await containment.spawn({ argv, cwd, env, stdin: 'pipe' }), onOutput)
}

/** The message of the innermost cause, which is the most precise one, because the library wraps its errors. */
function reasonOf(error: unknown): string {
  if (error instanceof SdkHttpError) return httpReason(error.status)
  let innermost = error
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause
  const { message, code } = innermost as NodeJS.ErrnoException
  return (message || code || String(innermost)).slice(0, 500)
}

function httpReason(status: number): string {
  if (KEY_REFUSED_STATUSES.includes(status))
    return `it answers ${status}: the key in its headers is missing or wrong (OAuth is not supported)`
  if (PROTOCOL_REFUSED_STATUSES.includes(status))
    return `it answers ${status}: the address is wrong, or the server has only the older SSE transport, which reeve does not support`
  if (status >= 300 && status < 400) return `it answers ${status} and redirects, which reeve does not follow: configure the final address`
  return `it answers ${status}`
}
