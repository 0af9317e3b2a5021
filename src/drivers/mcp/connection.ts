// One connection to an MCP server, from its start to its end, of either kind and in both revisions of the protocol: the
// newer one is tried first, with a question that older servers refuse. Loads the library, so it must only be imported
// when a server is to be started. Tests: test/e2e/mcp.test.ts, test/e2e/mcp-http.test.ts, test/processes/mcp-hostile.test.ts.
import { Client, ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'
import type { CallToolResult, Progress, Tool as Listed } from '@modelcontextprotocol/client'
import type { McpReach, McpStart } from '../../kernel/mcp.ts'
import type { Containment } from '../contain/contain.ts'
import type { Patience } from '../native/tools/tool.ts'
import { HttpTransport } from './http.ts'
import { AT_ONCE, StdioTransport } from './stdio.ts'

export type ReadyServer = Extract<McpStart, { state: 'ready' }>

export interface ConnectionParts {
  readonly containment: Containment
  /** ends the attempt; nothing of it is left then */
  readonly signal: AbortSignal
  /** what it says beside its messages */
  heard(text: string): void
  /** its list of tools is another one */
  changed(): void
}

interface CallOptions {
  readonly signal: AbortSignal
  progress(progress: Progress): void
}

/** Time limits are ours, as the library's go on while the agent is frozen. This is the longest that a timer can wait. */
const NEVER_MS = 2 ** 31 - 1
const LISTEN_MS = 5_000
const MAX_PAGES = 64
/** More would be of no use to a model; each is sent to it at every step. */
const MAX_TOOLS = 1_000
const WANTS_A_KEY = [401, 403]
const SPEAKS_OTHERWISE = [400, 404, 405, 406]

export class Connection {
  /** resolves when it has ended, with how, in words */
  readonly ended: Promise<string>
  readonly #client: Client
  readonly #transport: StdioTransport | HttpTransport
  readonly #changed: () => void
  #listening = false
  #hasListened = false
  #over = false
  #lost = Promise.withResolvers<string>()

  private constructor(client: Client, transport: StdioTransport | HttpTransport, changed: () => void) {
    this.#client = client
    this.#transport = transport
    this.#changed = changed
    this.ended = transport instanceof StdioTransport ? transport.ended : this.#lost.promise
    this.ended.then(() => { this.#over = true }, () => undefined)
  }

  get over(): boolean {
    return this.#over
  }

  /** the protocol's revision, and who the server says that it is */
  get detail(): string {
    const { name, version } = this.#client.getServerVersion() ?? { name: 'nameless', version: '' }
    return `${name} ${version} (${this.#client.getNegotiatedProtocolVersion() ?? 'unknown revision'})`.slice(0, 200)
  }

  /** Errors: with the reason in words, once nothing of the attempt is left. */
  static async open(server: ReadyServer, parts: ConnectionParts): Promise<Connection> {
    const { reach } = server
    if (reach.kind === 'http') return Connection.#attach(new HttpTransport(reach), server, parts, 'auto')
    const first = await startProgram(reach, parts)
    try {
      return await Connection.#attach(first, server, parts, 'auto')
    } catch (error) {
      if (parts.signal.aborted || first.ownEnd === null) throw error
    }
    // Some older servers end when they are asked what they do not know; then there is another one, which is not asked.
    return Connection.#attach(await startProgram(reach, parts), server, parts, 'legacy')
  }

  static async #attach(transport: StdioTransport | HttpTransport, server: ReadyServer, parts: ConnectionParts, mode: 'auto' | 'legacy'): Promise<Connection> {
    const { signal } = parts
    const client = newClient(server, mode)
    const giveUp = (): void => { transport.close().catch(() => undefined) }
    signal.addEventListener('abort', giveUp)
    try {
      signal.throwIfAborted()
      await client.connect(transport, { signal, timeout: NEVER_MS })
      const connection = new Connection(client, transport, parts.changed)
      connection.#watchList()
      return connection
    } catch (error) {
      const ownEnd = transport instanceof StdioTransport ? transport.ownEnd : null
      await transport.end(AT_ONCE)
      throw new Error(ownEnd === null ? reasonOf(error) : `it has ended: ${ownEnd}`, { cause: error })
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  /** All pages, but for what no agent could use; of each tool what is needed. */
  async list(signal: AbortSignal): Promise<readonly Listed[]> {
    const tools: Listed[] = []
    if (!this.#client.getServerCapabilities()?.tools) return tools
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
      const params = cursor === undefined ? {} : { cursor }
      const listed = await this.#client.request({ method: 'tools/list', params }, { signal, timeout: NEVER_MS })
      tools.push(...listed.tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema })))
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  /** Errors: what the server or the connection says. */
  async call(tool: Listed, input: Record<string, unknown>, { signal, progress }: CallOptions): Promise<CallToolResult> {
    this.#listen()
    try {
      return await this.#client.callTool({ name: tool.name, arguments: input }, { signal, timeout: NEVER_MS, onprogress: progress, toolDefinition: tool })
    } catch (error) {
      if (this.#hasForgotten(error)) {
        this.#over = true
        this.#lost.resolve('it does not know the session any more')
        throw new SessionLost()
      }
      throw error instanceof ProtocolError ? error : new Error(reasonOf(error), { cause: error })
    }
  }

  async end(patience: Patience): Promise<void> {
    this.#over = true
    await this.#transport.end(patience)
    this.#lost.resolve('closed')
  }

  /** 404 is what the protocol says. Many servers say 400 and name the session; any other 400 may be of a call that was made. */
  #hasForgotten(error: unknown): boolean {
    const { sessionId } = this.#transport instanceof HttpTransport ? this.#transport : {}
    if (sessionId === undefined || !(error instanceof SdkHttpError)) return false
    return error.status === 404 || (error.status === 400 && /session/i.test(`${error.message} ${String(error.data['text'] ?? '')}`))
  }

  #watchList(): void {
    this.#client.setNotificationHandler('notifications/tools/list_changed', () => this.#changed())
    this.#listen()
  }

  /** The newer revision tells of changes to those who listen; one that was lost is opened again at the next call. */
  #listen(): void {
    if (this.#listening || this.#client.getProtocolEra() !== 'modern' || !this.#client.getServerCapabilities()?.tools?.listChanged) return
    this.#listening = true
    this.#client.listen({ toolsListChanged: true }, { timeout: LISTEN_MS })
      .then((subscription) => {
        if (this.#hasListened) this.#changed() // it may have, while nobody listened
        this.#hasListened = true
        return subscription.closed
      })
      .then(() => { this.#listening = false }, () => undefined)
  }
}

/** The call was not done, as the server knows nothing of its session: a new one can be begun. */
class SessionLost extends Error {
  override name = 'SessionLost'
}

function newClient({ startMs, reach }: ReadyServer, mode: 'auto' | 'legacy'): Client {
  // A program that says nothing to the newer revision's question may be an old one: then half of the time is for the old way.
  const timeoutMs = reach.kind === 'http' ? NEVER_MS : Math.ceil(startMs / 2)
  const versionNegotiation = { mode, probe: { timeoutMs } }
  const client = new Client({ name: 'reeve', version: '1' }, { capabilities: {}, versionNegotiation })
  client.fallbackRequestHandler = ({ method }) => Promise.reject(new ProtocolError(-32_601, `${method} is declined: nobody is here to answer`))
  return client
}

async function startProgram({ argv, cwd, env }: Extract<McpReach, { kind: 'stdio' }>, { containment, heard }: ConnectionParts): Promise<StdioTransport> {
  return new StdioTransport(await containment.spawn({ argv, cwd, env, stdin: 'pipe' }), heard)
}

/** The library wraps a reason in another; the innermost says most. */
function reasonOf(error: unknown): string {
  if (error instanceof SdkHttpError) return httpReason(error.status)
  let innermost = error
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause
  const { message, code } = innermost as NodeJS.ErrnoException
  return (message || code || String(innermost)).slice(0, 500)
}

function httpReason(status: number): string {
  if (WANTS_A_KEY.includes(status)) return `it answers ${status}: a key is missing in its headers or wrong (OAuth is not supported)`
  if (SPEAKS_OTHERWISE.includes(status)) return `it answers ${status}: the address is wrong, or it is an old server that speaks SSE alone, which is not supported`
  if (status >= 300 && status < 400) return `it answers ${status}: it points to another place, which is not followed; write that address`
  return `it answers ${status}`
}
