// All MCP servers of an incarnation. The servers start in parallel at the first turn, each within its time limit. Each change of a server's
// state or tools is reported. A server that does not start in time is left out, and must never delay the others.
// Tests: test/processes/mcp/stdio.test.ts, test/processes/mcp/hostile-servers.test.ts.
import type { McpState } from '../../kernel/model/facts.ts'
import type { McpStart } from '../../kernel/model/mcp-start.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { Containment } from '../contain/containment-contract.ts'
import { mayUseServer } from '../../kernel/state/tool-lists.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import type { EndWaits, Tool, ToolSource } from '../native/tools/tool.ts'
import { McpServerLink } from './server-link.ts'
import { toolPrefix } from './tool-list.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** The maximum number of servers that start at the same time. */
const MAX_PARALLEL_STARTS = 8

export interface ServersDeps {
  /** Reads the servers at the first turn. The result contains secrets. */
  readonly starts: () => Promise<readonly McpStart[]>
  readonly spec: Pick<ProcessSpec, 'tools' | 'deny'>
  readonly containment: Containment
  readonly timers: FreezableTimers
  readonly report: (report: Report) => Promise<unknown>
}

/** The MCP servers of one incarnation, as a source of tools. */
export class McpServers implements ToolSource {
  readonly #deps: ServersDeps
  readonly #endController = new AbortController()
  /** the states of the servers that cannot be started, with the reasons */
  readonly #notStartedStates: McpState[] = []
  readonly #servers: McpServerLink[] = []
  #ready: Promise<void> | null = null
  #tools: readonly Tool[] = []
  #lastReportedJson = ''
  #lastReport: Promise<void> = Promise.resolve()

  constructor(deps: ServersDeps) {
    this.#deps = deps
  }

  /** Starts the servers. Resolves when each server is up or has failed, and the report has been written to disk. Never rejects. */
  ready(): Promise<void> {
    return (this.#ready ??= this.#start())
  }

  tools(): readonly Tool[] {
    return this.#tools
  }

  async close(waits: EndWaits): Promise<void> {
    this.#endController.abort()
    this.#ready ??= Promise.resolve()
    await Promise.all(this.#servers.map((server) => server.close(waits)))
  }

  async #start(): Promise<void> {
    try {
      this.#createLinks(await this.#deps.starts())
    } catch (error) {
      await this.#note(`MCP servers are not used: ${errorText(error)}`)
      return
    }
    const unstarted = [...this.#servers]
    const startUntilNoneLeft = async (): Promise<void> => {
      for (let server = unstarted.shift(); server !== undefined; server = unstarted.shift()) await server.start()
    }
    await Promise.all(Array.from({ length: MAX_PARALLEL_STARTS }, startUntilNoneLeft))
    await this.#reportServers()
    const missing = this.#states().filter((server) => server.state !== 'up')
    if (missing.length > 0) await this.#note(notUsedText(missing))
  }

  /** Creates the links of the servers that the process may use. Does not start them. */
  #createLinks(servers: readonly McpStart[]): void {
    const { spec, containment, timers } = this.#deps
    const prefixes = new Set<string>()
    for (const server of servers) {
      const prefix = toolPrefix(server.name, prefixes)
      prefixes.add(prefix)
      if (!mayUseServer(prefix, spec)) continue
      if (server.state !== 'ready') this.#notStartedStates.push({ name: server.name, state: server.state, detail: server.why, tools: [] })
      else
        this.#servers.push(
          new McpServerLink({
            server,
            prefix,
            containment,
            timers,
            endSignal: this.#endController.signal,
            onChange: () => this.#reportChange(),
          }),
        )
    }
  }

  #states(): readonly McpState[] {
    return [...this.#servers.map((server) => server.state), ...this.#notStartedStates]
  }

  #reportChange(): void {
    // A report is rejected only if the process has ended.
    this.#reportServers().catch(() => undefined)
  }

  /** Reports the servers if they have changed. Each report waits for the previous one. */
  #reportServers(): Promise<void> {
    this.#collectTools()
    this.#lastReport = this.#lastReport
      .then(async () => {
        const servers = this.#states()
        const json = JSON.stringify(servers)
        if (json === this.#lastReportedJson || servers.length === 0 || this.#endController.signal.aborted) return
        this.#lastReportedJson = json
        await this.#deps.report({ type: 'mcp.servers', servers })
      })
      // A report is rejected only if the process has ended.
      .catch(() => undefined)
    return this.#lastReport
  }

  /** Collects the tools of all servers. Keeps the same array if no tool has changed. */
  #collectTools(): void {
    const tools = this.#servers.flatMap((server) => server.tools)
    if (tools.length !== this.#tools.length || tools.some((tool, index) => tool !== this.#tools[index])) this.#tools = tools
  }

  /** Sends a note. Never rejects. */
  async #note(text: string): Promise<void> {
    // A report is rejected only if the process has ended.
    await this.#deps.report({ type: 'note', text }).catch(() => undefined)
  }
}

/**
 * The note about servers that are not used. The servers are grouped by the reason, because all servers of an untrusted file have the same
 * reason.
 */
function notUsedText(missing: readonly McpState[]): string {
  return [...Map.groupBy(missing, ({ detail }) => detail)]
    .map(([detail, servers]) => {
      const names = servers.map(({ name }) => name).join(', ')
      return `MCP ${servers.length === 1 ? `server ${names} is` : `servers ${names} are`} not used: ${detail}`
    })
    .join('; ')
}
