// Runs native agents with MCP servers for tests. The servers are programs of test/support/programs, and published servers.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { McpState } from '../../../src/kernel/model/facts.ts'
import type { McpTransport, McpStart } from '../../../src/kernel/model/mcp-start.ts'
import { testEnv } from '../env.ts'
import type { NativeHarness, Run, RunOptions } from '../models/native-harness.ts'
import type { FakeKernel } from '../kernel/fake-kernel.ts'

type ReadyServer = Extract<McpStart, { state: 'ready' }>

export interface McpRun extends Run {
  /** the server's state in the last report */
  serverState(name: string): McpState | undefined
  /** the lines that the program has logged so far */
  readLogLines(name: string): readonly string[]
}

export interface McpRunOptions extends RunOptions {
  /** by name: a mode of mcp-server.ts, a whole command line, or an address */
  readonly servers: Readonly<Record<string, string | readonly string[] | McpTransport>>
  /** further settings: the same for all servers, or a function of the server's name */
  readonly settings?: Partial<ReadyServer> | ((name: string) => Partial<ReadyServer>)
}

export const MCP_PROGRAM = fileURLToPath(new URL('../programs/mcp-server.ts', import.meta.url))
const NEWER_SERVER_PROGRAM = fileURLToPath(new URL('../programs/mcp-newer-server.ts', import.meta.url))
export const EVERYTHING_SERVER = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** Servers start and answer slowly on a slow machine. Only tests of these limits set other values. */
const START_MS = 80_000
const CALL_MS = 80_000

export async function runWithServers(harness: NativeHarness, { servers, settings, ...options }: McpRunOptions): Promise<McpRun> {
  const logOf = (name: string): string => join(harness.dir, `${name}.log`)
  const starts = Object.entries(servers).map(([name, server]): McpStart => ({
    state: 'ready',
    name,
    effects: {},
    startMs: START_MS,
    callMs: CALL_MS,
    notes: [],
    secrets: [],
    ...(typeof settings === 'function' ? settings(name) : settings),
    transport: transportOf(server, { dir: harness.dir, log: logOf(name), token: harness.token }),
  }))
  // The spec only names the servers. What is started is in `starts`.
  const mcp = starts.map(({ name }) => ({ name, source: 'test', kind: 'stdio', argv: [], env: {} }) as const)
  const run = await harness.run({
    ...options,
    spec: { ...options.spec, mcp },
    native: { servers: () => Promise.resolve(starts), ...options.native },
  })
  return {
    ...run,
    serverState: (name) =>
      run.kernel
        .factsOf('mcp.servers')
        .at(-1)
        ?.servers.find((one) => one.name === name),
    readLogLines: (name) => (existsSync(logOf(name)) ? readFileSync(logOf(name), 'utf8').split('\n').filter(Boolean) : []),
  }
}

function transportOf(
  server: McpRunOptions['servers'][string],
  { dir, log, token }: { readonly dir: string; readonly log: string; readonly token: string },
): McpTransport {
  if (typeof server === 'object' && 'kind' in server) return server
  const argv = typeof server === 'string' ? [process.execPath, MCP_PROGRAM, server, log, token] : [...server, token]
  return { kind: 'stdio', argv, cwd: dir, env: testEnv(dir) }
}

/** Returns the command line of a server of the newer MCP revision. */
export function newerServerArgv(transport: 'stdio' | 'http', log = ''): readonly string[] {
  return [process.execPath, NEWER_SERVER_PROGRAM, transport, log]
}

/** Holds the next step until `tool` is listed: a server may announce its new tools before or after the answer `more`. */
export function holdUntilListed(kernel: FakeKernel, tool: string): void {
  const isListed = (): boolean =>
    kernel.factsOf('mcp.servers').some(({ servers }) => servers.some(({ tools }) => tools.some(({ name }) => name === tool)))
  kernel.onFact = (body) => {
    if (body.type === 'tool.finished' && body.content === 'more' && !isListed()) kernel.hold()
    if (body.type === 'mcp.servers' && isListed()) kernel.release()
  }
}

/** Returns a model script that makes these calls, one per step, and then reports how the last one ended. */
export function scriptOfCalls(...calls: readonly (readonly [name: string, input?: object])[]): string {
  return JSON.stringify([...calls.map(([name, input = {}]) => ({ tools: [{ name, input }] })), { text: '{{ lastResult }}' }])
}
