// Runs native agents with MCP servers, as they are after configuration: the servers of test/support/programs, and real ones.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { McpState } from '../../src/kernel/facts.ts'
import type { McpReach, McpStart } from '../../src/kernel/mcp.ts'
import { testEnv } from './env.ts'
import type { NativeBench, Run, RunOptions } from './native-bench.ts'
import type { TestKernel } from './native-kernel.ts'

type Ready = Extract<McpStart, { state: 'ready' }>

export interface ServedRun extends Run {
  /** what the last report said of a server */
  server(name: string): McpState | undefined
  /** what the program has noted so far, line by line */
  noted(name: string): readonly string[]
}

export interface Served extends RunOptions {
  /** by name: a mode of mcp-server.ts, or a whole command line, or an address */
  readonly servers: Readonly<Record<string, string | readonly string[] | McpReach>>
  /** for all of them, or by name */
  readonly more?: Partial<Ready> | ((name: string) => Partial<Ready>)
}

export const MCP_PROGRAM = fileURLToPath(new URL('programs/mcp-server.ts', import.meta.url))
const MODERN = fileURLToPath(new URL('programs/mcp-modern.ts', import.meta.url))
export const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** On a slow machine a server may take long to start: only tests of that limit set another. */
const START_MS = 25_000
const CALL_MS = 25_000

export async function withServers(bench: NativeBench, { servers, more, ...options }: Served): Promise<ServedRun> {
  const logOf = (name: string): string => join(bench.dir, `${name}.log`)
  const starts = Object.entries(servers).map(([name, how]): McpStart => ({
    state: 'ready', name, effects: {}, startMs: START_MS, callMs: CALL_MS, notes: [], secrets: [], ...(typeof more === 'function' ? more(name) : more),
    reach: reachOf(how, { dir: bench.dir, log: logOf(name), token: bench.token }),
  }))
  const mcp = starts.map(({ name }) => ({ name, source: 'test', kind: 'stdio', argv: [], env: {} }) as const)
  const run = await bench.run({ ...options, spec: { ...options.spec, mcp }, native: { servers: () => Promise.resolve(starts), ...options.native } })
  return {
    ...run,
    server: (name) => run.kernel.of('mcp.servers').at(-1)?.servers.find((one) => one.name === name),
    noted: (name) => (existsSync(logOf(name)) ? readFileSync(logOf(name), 'utf8').split('\n').filter(Boolean) : []),
  }
}

function reachOf(how: Served['servers'][string], { dir, log, token }: { readonly dir: string; readonly log: string; readonly token: string }): McpReach {
  if (typeof how === 'object' && 'kind' in how) return how
  const argv = typeof how === 'string' ? [process.execPath, MCP_PROGRAM, how, log, token] : [...how, token]
  return { kind: 'stdio', argv, cwd: dir, env: testEnv(dir) }
}

/** The command line of a server of the newer revision. */
export function modern(how: 'stdio' | 'http', log = ''): readonly string[] {
  return [process.execPath, MODERN, how, log]
}

/** No step begins between the answer `more` and the list that has `tool`: a server may tell the list before it answers, or after. */
export function holdUntilListed(kernel: TestKernel, tool: string): void {
  const isListed = (): boolean => kernel.of('mcp.servers').some(({ servers }) => servers.some(({ tools }) => tools.some(({ name }) => name === tool)))
  kernel.onFact = (body) => {
    if (body.type === 'tool.finished' && body.content === 'more' && !isListed()) kernel.hold()
    if (body.type === 'mcp.servers' && isListed()) kernel.release()
  }
}

/** A script that makes these calls, one per step, and then says how the last one ended. */
export function calls(...made: readonly (readonly [name: string, input?: object])[]): string {
  return JSON.stringify([...made.map(([name, input = {}]) => ({ tools: [{ name, input }] })), { text: '{{ lastResult }}' }])
}
