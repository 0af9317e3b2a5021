// The driver of coding agents that speak the Agent Client Protocol: Claude Code, Codex, Gemini CLI, OpenCode and others. The ACP library,
// and the code that needs it, are loaded when the first such agent starts.
// Tests: test/processes/acp.
import { setTimeout as sleep } from 'node:timers/promises'
import type { McpStart } from '../../kernel/model/mcp-start.ts'
import { prepareStart } from '../gateway/clients.ts'
import { keepWholeSession } from './gemini-sessions.ts'
import { ownToolsEnv } from '../mcp/cli-mcp-config.ts'
import { askingModeFor, withAskingSettings } from './asking-mode.ts'
import type { Agent, Driver, KernelPort, Launch } from '../port.ts'
import type { WallClock } from '../common/wall-clock.ts'
import type { AcpSpec, NativeSpec } from '../../kernel/model/process-spec.ts'

export interface AcpOptions {
  /** resolves the MCP servers of a process */
  readonly servers?: (launch: Launch<NativeSpec | AcpSpec>) => Promise<readonly McpStart[]>
  /** how long an agent may take until its session is open, in ms */
  readonly handshakeMs?: number
  /** how long an agent may take after that until it requests reeve's own tools, in ms */
  readonly toolsMs?: number
  readonly clock?: WallClock
  /** how long an agent may take to end an interrupted turn, in ms */
  readonly cancelMs?: number
}

const SYSTEM_CLOCK: WallClock = { now: Date.now, sleep: (ms, signal) => sleep(ms, undefined, { signal }) }
/** Time limit for opening a session. OpenCode takes 15 s in a new home directory, and more on a busy machine. */
const HANDSHAKE_MS = 90_000
/**
 * Time limit for the agent's request for reeve's own tools. Claude Code, Codex, Gemini CLI and OpenCode send it before their session is
 * open, or within 50 ms after that.
 */
const TOOLS_MS = 10_000
/** Time limit for the end of a cancelled turn. */
const CANCEL_MS = 10_000
/**
 * Turns off the prompt suggestions that Claude Code requests from its model after each turn, with the full context. Other agents ignore
 * this variable.
 */
const WITHOUT_SUGGESTIONS = { CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false' } as const

export function acpDriver(options: AcpOptions): Driver<AcpSpec> {
  return {
    start: (launch, kernel) => start(launch, kernel, options),
  }
}

/** Errors: those of `Containment.spawn`; `PERMISSION` if the agent cannot be made to respect its permissions. */
async function start(launch: Launch<AcpSpec>, kernel: KernelPort, options: AcpOptions): Promise<Agent> {
  const { spec, containment } = launch
  const [{ AcpAgent }, { readSessionHistory }] = await Promise.all([import('./agent.ts'), import('../common/session-history.ts')])
  const asking = askingModeFor(spec)
  const history = await readSessionHistory(launch)
  const { argv, env } = await withAskingSettings(launch, await prepareStart(launch, spec.argv))
  if (launch.sessionId !== null) await keepWholeSession(launch.sessionId, spec)
  const program = await containment.spawn({
    argv,
    env: { ...WITHOUT_SUGGESTIONS, ...ownToolsEnv(launch, env) },
    cwd: spec.cwd,
    stdin: 'pipe',
  })
  return new AcpAgent({
    launch,
    kernel,
    program,
    history,
    asking,
    servers: async () => (spec.mcp?.length ? ((await options.servers?.(launch)) ?? []) : []),
    handshakeMs: options.handshakeMs ?? HANDSHAKE_MS,
    toolsMs: options.toolsMs ?? TOOLS_MS,
    clock: options.clock ?? SYSTEM_CLOCK,
    cancelMs: options.cancelMs ?? CANCEL_MS,
  })
}
