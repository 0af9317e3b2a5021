// Gives agents and users access to reeve's own tools. A native agent calls them in the daemon. An external agent gets a token for the MCP
// server, which is valid until its incarnation ends. The server is loaded when the first external agent or user needs it.
// Tests: test/e2e/mcp/server.test.ts.
import { join } from 'node:path'
import { VERSION } from '../../api/version.ts'
import { callTool, hasOwnTools, describeTools, describeNativeTools, toolsFor } from './tool-calls.ts'
import { deliverOutbox } from './outbox.ts'
import { AccessTokens, type ToolCaller } from './tokens.ts'
import type { OwnToolsEndpoint, OwnToolResult, OwnTools } from '../../drivers/port.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { ToolServer } from './server.ts'
import type { ToolHost, CallerContext } from './tool.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** The largest number of concurrent calls of one process, or of all users together. */
const MAX_CALLS = 64

export interface ToolServiceDeps {
  readonly state: string
  /** the temporary folder of the daemon */
  readonly tmpDir: string
  /** the path of the API socket; the MCP socket is in the same directory */
  readonly socket: string
  readonly newId: () => string
  readonly log: (message: string, error: unknown) => void
}

/** An incarnation's access to the tools, until it is closed. */
export type ToolAccess = OwnTools & { close(): void }

/** The environment variables by which `reeve mcp` finds the server, its token and the outbox. */
const BRIDGE_ENV = {
  token: 'REEVE_MCP_TOKEN',
  socket: 'REEVE_MCP_SOCKET',
  outbox: 'REEVE_MCP_OUTBOX',
  process: 'REEVE_MCP_PROCESS',
} as const

export class ToolService {
  readonly #deps: ToolServiceDeps
  readonly #tokens = new AccessTokens()
  readonly #host = Promise.withResolvers<ToolHost>()
  readonly #closing = new AbortController()
  /** the number of open calls over HTTP, by caller */
  readonly #openCalls = new Map<string, number>()
  #server: Promise<ToolServer> | null = null
  /** the command line with which agents start their tools on stdin and stdout */
  #stdioProgram: Promise<string[]> | null = null
  /** resolves when the reports of the outbox are delivered */
  #outboxDelivered: Promise<void> = Promise.resolve()

  constructor(deps: ToolServiceDeps) {
    this.#deps = deps
  }

  /** Connects the services that the tools use, which are created after this object. Calls wait until then. */
  connect(host: ToolHost, store: Pick<Store, 'tail'>): void {
    this.#host.resolve(host)
    this.#outboxDelivered = deliverOutbox({ dir: this.#outboxDir, host, store, log: this.#deps.log, signal: this.#closing.signal })
  }

  /** Opens the access of an incarnation; null if its process has none of reeve's tools. */
  openAccess({ uuid, pid, spec }: Pick<Process, 'uuid' | 'pid' | 'spec'>): ToolAccess | null {
    if (!hasOwnTools(spec)) return null
    const tokens: string[] = []
    const listed = Promise.withResolvers<void>()
    let isClosed = false
    return {
      list: describeNativeTools(spec),
      listed: listed.promise,
      call: async (call) => {
        const host = await this.#host.promise
        // The id of a call is unique within a step, and stays the same when the call is repeated after a crash.
        const step = (await host.reads.find(uuid))?.progress.step ?? 0
        return callTool(host, { uuid, pid }, { ...call, id: `${step}.${call.id}` })
      },
      endpoint: async () => {
        const server = await this.#loadOnce()
        // The incarnation may have ended meanwhile; it gets no valid token then.
        const token = isClosed ? '' : this.#tokens.create({ uuid, pid, onToolsListed: listed.resolve })
        tokens.push(token)
        return { url: server.url, token, stdio: await this.#stdio(token, `${uuid}.${pid}`) }
      },
      close: () => {
        isClosed = true
        for (const token of tokens) this.#tokens.revoke(token)
      },
    }
  }

  /** Opens the access of an MCP client of the user. */
  async openUserAccess(userContext: CallerContext): Promise<{ readonly socket: string; readonly token: string }> {
    await this.#loadOnce()
    return { socket: this.#socket, token: this.#tokens.create({ uuid: null, userContext }) }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#outboxDelivered
    await (await this.#server)?.close()
  }

  get #outboxDir(): string {
    return join(this.#deps.state, 'outbox')
  }

  get #socket(): string {
    return this.#deps.socket.replace(/\.sock$/, '.mcp.sock')
  }

  /** The command line and the environment with which an agent starts its tools. */
  async #stdio(token: string, process: string): Promise<OwnToolsEndpoint['stdio']> {
    const env = {
      [BRIDGE_ENV.token]: token,
      [BRIDGE_ENV.socket]: this.#socket,
      [BRIDGE_ENV.outbox]: this.#outboxDir,
      [BRIDGE_ENV.process]: process,
    }
    this.#stdioProgram ??= (await import('./stdio-program.ts')).stdioProgram(this.#deps.tmpDir)
    return { argv: await this.#stdioProgram, env }
  }

  #loadOnce(): Promise<ToolServer> {
    this.#server ??= this.#load()
    return this.#server
  }

  async #load(): Promise<ToolServer> {
    const { newId, log } = this.#deps
    const { ToolServer: Loaded } = await import('./server.ts')
    return Loaded.open({
      version: VERSION,
      socket: this.#socket,
      newId,
      log,
      findCaller: (token) => this.#tokens.find(token),
      listTools: async (caller) => {
        const tools = describeTools(toolsFor(await this.#specOf(caller)))
        if (caller.uuid !== null) caller.onToolsListed?.()
        return tools
      },
      callTool: (caller, call) => this.#withinLimit(caller, async () => callTool(await this.#host.promise, caller, call)),
    })
  }

  /** Runs a call, unless the caller already has `MAX_CALLS` open calls. */
  async #withinLimit({ uuid }: ToolCaller, call: () => Promise<OwnToolResult>): Promise<OwnToolResult> {
    const key = uuid ?? 'user'
    const open = this.#openCalls.get(key) ?? 0
    if (open >= MAX_CALLS)
      return { isError: true, text: `RESOURCE_EXHAUSTED: ${MAX_CALLS} of your calls are still running. Wait until one of them has ended.` }
    this.#openCalls.set(key, open + 1)
    try {
      return await call()
    } finally {
      const left = (this.#openCalls.get(key) ?? 1) - 1
      if (left > 0) this.#openCalls.set(key, left)
      else this.#openCalls.delete(key)
    }
  }

  /** The spec of a calling process, which has its permissions; null for a user. */
  async #specOf({ uuid }: ToolCaller): Promise<ProcessSpec | null> {
    return uuid === null ? null : (await (await this.#host.promise).reads.get(uuid)).spec
  }
}
