// The driver of coding agents that speak the Agent Client Protocol: Claude Code, Codex, Gemini CLI, OpenCode and others.
// What it needs is loaded when the first of them starts, so that a daemon without one carries none of it.
// Tests: test/processes/acp*.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { KernelError } from '../../kernel/errors.ts'
import type { McpStart } from '../../kernel/mcp.ts'
import { startOf } from '../gateway/clients.ts'
import { ownEnv } from '../mcp/hand-over.ts'
import type { Agent, Driver, KernelPort, Launch } from '../port.ts'

/** What an agent's own files go by. */
export interface WallClock {
  now(): number
  /** rejects when the signal aborts */
  rest(ms: number, signal: AbortSignal): Promise<void>
}

export interface AcpOptions {
  /** the MCP servers of a process as they are to be started */
  readonly servers?: (launch: Launch) => Promise<readonly McpStart[]>
  /** how long an agent may take until its session is open */
  readonly handshakeMs?: number
  readonly clock?: WallClock
  /** how long it may take to end a turn that is interrupted */
  readonly cancelMs?: number
}

const CLOCK: WallClock = { now: Date.now, rest: (ms, signal) => sleep(ms, undefined, { signal }) }
/** OpenCode takes 15 s in a new home, and more on a machine with much to do. */
const HANDSHAKE_MS = 90_000
const CANCEL_MS = 10_000

export function acpDriver(options: AcpOptions): Driver {
  return {
    start: (launch, kernel) => start(launch, kernel, options),
  }
}

/** Errors: those of `Containment.spawn`. */
async function start(launch: Launch, kernel: KernelPort, options: AcpOptions): Promise<Agent> {
  const { spec, containment } = launch
  if (spec.argv === null) throw new KernelError('INVALID', 'An agent of the protocol needs the command line of its adapter')
  const [{ AcpAgent }, { readPast }] = await Promise.all([import('./agent.ts'), import('./past.ts')])
  const past = await readPast(launch)
  const { argv, env } = await startOf(launch, spec.argv)
  const program = await containment.spawn({ argv, env: ownEnv(launch, env), cwd: spec.cwd, stdin: 'pipe' })
  return new AcpAgent({
    launch, kernel, program, past,
    servers: async () => (spec.mcp?.length ? ((await options.servers?.(launch)) ?? []) : []),
    handshakeMs: options.handshakeMs ?? HANDSHAKE_MS,
    clock: options.clock ?? CLOCK,
    cancelMs: options.cancelMs ?? CANCEL_MS,
  })
}
