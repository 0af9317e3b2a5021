// All MCP servers of an incarnation: started side by side at the first turn, within their limits, and told of by a report
// whenever something about them changes. One that is late or broken is left out; it holds up nobody else.
// Tests: test/e2e/mcp.test.ts, test/processes/mcp-hostile.test.ts.
import type { McpState } from '../../kernel/facts.ts'
import type { McpStart } from '../../kernel/mcp.ts'
import type { Report } from '../../kernel/reports.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { Containment } from '../contain/contain.ts'
import { mayUseServer } from '../../kernel/tool-names.ts'
import type { Freezer } from '../native/tools/freezer.ts'
import type { Patience, Tool, ToolSource } from '../native/tools/tool.ts'
import { Server } from './server.ts'
import { prefixOf } from './tools.ts'

const MAX_AT_ONCE = 8

export interface ServersParts {
  /** looked up at the first turn; it holds secrets */
  readonly starts: () => Promise<readonly McpStart[]>
  readonly spec: Pick<ProcessSpec, 'tools' | 'deny'>
  readonly containment: Containment
  readonly freezer: Freezer
  readonly report: (report: Report) => Promise<unknown>
}

export class McpServers implements ToolSource {
  readonly #parts: ServersParts
  readonly #ending = new AbortController()
  /** of those that are not started: why */
  readonly #out: McpState[] = []
  readonly #servers: Server[] = []
  #ready: Promise<void> | null = null
  #tools: readonly Tool[] = []
  #said = ''
  #saying: Promise<void> = Promise.resolve()

  constructor(parts: ServersParts) {
    this.#parts = parts
  }

  /** Resolves when each server is up or given up, and that is on disk. Never rejects. */
  ready(): Promise<void> {
    return (this.#ready ??= this.#start())
  }

  tools(): readonly Tool[] {
    return this.#tools
  }

  async close(patience: Patience): Promise<void> {
    this.#ending.abort()
    this.#ready ??= Promise.resolve()
    await Promise.all(this.#servers.map((server) => server.close(patience)))
  }

  async #start(): Promise<void> {
    try {
      this.#sort(await this.#parts.starts())
    } catch (error) {
      await this.#note(`MCP servers are not used: ${error instanceof Error ? error.message : String(error)}`)
      return
    }
    const waiting = [...this.#servers]
    const startSome = async (): Promise<void> => {
      for (let server = waiting.shift(); server !== undefined; server = waiting.shift()) await server.start()
    }
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, startSome))
    await this.#changed()
    const missing = this.#states().filter((one) => one.state !== 'up')
    if (missing.length > 0) await this.#note(notUsed(missing))
  }

  #sort(starts: readonly McpStart[]): void {
    const { spec, containment, freezer } = this.#parts
    const prefixes = new Set<string>()
    for (const start of starts) {
      const prefix = prefixOf(start.name, prefixes)
      prefixes.add(prefix)
      if (!mayUseServer(prefix, spec)) continue
      if (start.state !== 'ready') this.#out.push({ name: start.name, state: start.state, detail: start.why, tools: [] })
      else this.#servers.push(new Server({ start, prefix, containment, freezer, ending: this.#ending.signal, changed: () => this.#tellChange() }))
    }
  }

  #states(): readonly McpState[] {
    return [...this.#servers.map((server) => server.state), ...this.#out]
  }

  #tellChange(): void {
    this.#changed().catch(() => undefined)
  }

  /** One report at a time, and none that says what the last one said. */
  #changed(): Promise<void> {
    this.#collect()
    this.#saying = this.#saying.then(async () => {
      const servers = this.#states()
      const said = JSON.stringify(servers)
      if (said === this.#said || servers.length === 0 || this.#ending.signal.aborted) return
      this.#said = said
      await this.#parts.report({ type: 'mcp.servers', servers })
    }).catch(() => undefined)
    return this.#saying
  }

  #collect(): void {
    const tools = this.#servers.flatMap((server) => server.tools)
    if (tools.length !== this.#tools.length || tools.some((tool, index) => tool !== this.#tools[index])) this.#tools = tools
  }

  /** It may end in this moment; then nobody needs to know. */
  async #note(text: string): Promise<void> {
    await this.#parts.report({ type: 'note', text }).catch(() => undefined)
  }
}

/** All servers of a file are missing for the same reason when it is not trusted: that is said once. */
function notUsed(missing: readonly McpState[]): string {
  return [...Map.groupBy(missing, ({ detail }) => detail)].map(([detail, servers]) => {
    const names = servers.map(({ name }) => name).join(', ')
    return `MCP ${servers.length === 1 ? `server ${names} is` : `servers ${names} are`} not used: ${detail}`
  }).join('; ')
}
