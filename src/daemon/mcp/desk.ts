// Where agents and people get reeve's own tools: a seat for each incarnation that has them, gone with it, and the one MCP server of
// the daemon, which is loaded and listens when the first agent of others or person asks. Tests: test/e2e/mcp-server.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../version.ts'
import { callTool, hasOwnTools, offered, offeredToNative, toolsFor } from './own-tools.ts'
import { deliverOutbox } from './outbox.ts'
import { Seats, type Seat } from './seats.ts'
import type { OwnReach, OwnToolEnd, OwnTools } from '../../drivers/port.ts'
import type { Process, ProcessSpec } from '../../kernel/types.ts'
import type { Store } from '../../store/store.ts'
import type { McpServer } from './server.ts'
import type { Host, Place } from './tool.ts'

/** calls of one process, or of all people, at the same time */
const MAX_CALLS = 64

export interface DeskParts {
  readonly state: string
  /** the API's: the server's own lies beside it */
  readonly socket: string
  readonly newId: () => string
  readonly log: (message: string, error: unknown) => void
}

/** What an incarnation has until it is closed. */
export type DeskSeat = OwnTools & { close(): void }

/** What `reeve mcp` reads of its environment. */
const BRIDGE_ENV = { token: 'REEVE_MCP_TOKEN', socket: 'REEVE_MCP_SOCKET', outbox: 'REEVE_MCP_OUTBOX', process: 'REEVE_MCP_PROCESS' } as const

export class Desk {
  readonly #parts: DeskParts
  readonly #seats = new Seats()
  readonly #host = Promise.withResolvers<Host>()
  readonly #ending = new AbortController()
  /** calls over HTTP that are on their way, by who asks */
  readonly #open = new Map<string, number>()
  #server: Promise<McpServer> | null = null
  #delivered: Promise<void> = Promise.resolve()

  constructor(parts: DeskParts) {
    this.#parts = parts
  }

  /** The operations are there when the engine is: calls wait until then. */
  connect(host: Host, store: Pick<Store, 'tail'>): void {
    this.#host.resolve(host)
    this.#delivered = deliverOutbox({ dir: this.#outbox, host, store, log: this.#parts.log, signal: this.#ending.signal })
  }

  /** Null: it has none of reeve's tools. */
  seatFor({ uuid, pid, spec }: Pick<Process, 'uuid' | 'pid' | 'spec'>): DeskSeat | null {
    if (!hasOwnTools(spec)) return null
    const tokens: string[] = []
    let isClosed = false
    return {
      list: offeredToNative(spec),
      call: async (call) => {
        const host = await this.#host.promise
        // Names of calls are unique within a step, and the same when one is made again after a crash.
        const step = (await host.reads.find(uuid))?.progress.step ?? 0
        return callTool(host, { uuid, pid }, { ...call, id: `${step}.${call.id}` })
      },
      reach: async () => {
        const server = await this.#loaded()
        // It may have ended while the server began to listen.
        const token = isClosed ? '' : this.#seats.mint({ uuid, pid })
        tokens.push(token)
        return { url: server.url, token, stdio: this.#stdio(token, `${uuid}.${pid}`) }
      },
      close: () => {
        isClosed = true
        for (const token of tokens) this.#seats.drop(token)
      },
    }
  }

  /** For a person's bridge. */
  async seatForPerson(place: Place): Promise<{ readonly socket: string; readonly token: string }> {
    await this.#loaded()
    return { socket: this.#socket, token: this.#seats.mint({ uuid: null, place }) }
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await this.#delivered
    await (await this.#server)?.close()
  }

  get #outbox(): string {
    return join(this.#parts.state, 'outbox')
  }

  get #socket(): string {
    return this.#parts.socket.replace(/\.sock$/, '.mcp.sock')
  }

  #stdio(token: string, process: string): OwnReach['stdio'] {
    const env = { [BRIDGE_ENV.token]: token, [BRIDGE_ENV.socket]: this.#socket, [BRIDGE_ENV.outbox]: this.#outbox, [BRIDGE_ENV.process]: process }
    return { argv: [globalThis.process.execPath, commandLine(), 'mcp'], env }
  }

  #loaded(): Promise<McpServer> {
    this.#server ??= this.#load()
    return this.#server
  }

  async #load(): Promise<McpServer> {
    const { newId, log } = this.#parts
    const { McpServer: Loaded } = await import('./server.ts')
    return Loaded.open({
      version: VERSION, socket: this.#socket, newId, log,
      find: (token) => this.#seats.find(token),
      tools: async (seat) => offered(toolsFor(await this.#rightsOf(seat))),
      call: (seat, call) => this.#bounded(seat, async () => callTool(await this.#host.promise, seat, call)),
    })
  }

  async #bounded({ uuid }: Seat, call: () => Promise<OwnToolEnd>): Promise<OwnToolEnd> {
    const who = uuid ?? 'person'
    const open = this.#open.get(who) ?? 0
    if (open >= MAX_CALLS) return { isError: true, text: `RESOURCE_EXHAUSTED: ${MAX_CALLS} calls of yours are on their way. Wait for one of them.` }
    this.#open.set(who, open + 1)
    try {
      return await call()
    } finally {
      const left = (this.#open.get(who) ?? 1) - 1
      if (left > 0) this.#open.set(who, left)
      else this.#open.delete(who)
    }
  }

  async #rightsOf({ uuid }: Seat): Promise<ProcessSpec | null> {
    return uuid === null ? null : (await (await this.#host.promise).reads.get(uuid)).spec
  }
}

/** Of the sources, or of the build. */
function commandLine(): string {
  const places = [join(import.meta.dirname, 'cli/main.cjs'), join(import.meta.dirname, '../../cli/main.ts')]
  return places.find((path) => existsSync(path)) ?? 'reeve'
}
