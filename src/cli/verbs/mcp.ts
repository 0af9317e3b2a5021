// `reeve mcp`: reeve's own tools over standard input and output, for an agent (with the token in its environment) or for a person.
// Test: test/e2e/mcp-bridge.test.ts.
import { setTimeout } from 'node:timers/promises'
import { Client } from '../../api/client.ts'
import { clientSocket, paths } from '../../config/paths.ts'
import { Failure } from '../errors.ts'
import { Bridge, type BridgeSeat } from '../mcp/bridge.ts'
import { Outbox } from '../mcp/outbox.ts'
import type { McpSeatView } from '../../api/mcp-views.ts'
import type { Call } from '../verbs.ts'

/** The longest message of a client, in characters. */
const MAX_LINE = 8 * 1024 * 1024
/** For what is on its way when the input ends; a `wait` may last much longer. */
const LAST_ANSWERS_MS = 5_000

export async function run(_: Call): Promise<number> {
  const ended = new AbortController()
  const { seat, renew, outbox } = agentSeat() ?? personSeat()
  const bridge = new Bridge({ seat, renew, outbox, signal: ended.signal, write: (line) => process.stdout.write(`${line}\n`) })
  let held = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin as AsyncIterable<string>) {
    // On LF alone: other ends of lines may stand in a text.
    const lines = (held + chunk).split('\n')
    held = lines.pop() ?? ''
    if (held.length > MAX_LINE) throw new Failure(1, `a message is longer than ${MAX_LINE} characters`)
    for (const line of lines) bridge.take(line)
  }
  // Who pipes a few messages in has closed its end before the first is answered.
  await Promise.race([bridge.answered(), setTimeout(LAST_ANSWERS_MS, undefined, { ref: false })])
  ended.abort()
  await bridge.end()
  return 0
}

interface Seats {
  readonly seat: () => Promise<BridgeSeat>
  readonly renew: (() => Promise<BridgeSeat>) | null
  readonly outbox: Outbox | null
}

/** What the daemon gave an agent; null: there is none, so it is a person's. */
function agentSeat(): Seats | null {
  const { REEVE_MCP_TOKEN: token, REEVE_MCP_SOCKET: socket, REEVE_MCP_OUTBOX: dir, REEVE_MCP_PROCESS: who = '' } = process.env
  if (!token) return null
  const dot = who.lastIndexOf('.')
  const outbox = dir && dot > 0 ? new Outbox(dir, { uuid: who.slice(0, dot), pid: Number(who.slice(dot + 1)) }) : null
  const own = { token, socket: socket ?? clientSocket(paths()).replace(/\.sock$/, '.mcp.sock') }
  return { seat: () => Promise.resolve(own), renew: null, outbox }
}

function personSeat(): Seats {
  const client = new Client({ socketPath: () => clientSocket(paths()), start: async () => (await import('../start-daemon.ts')).startDaemon(), name: 'mcp' })
  let known: Promise<BridgeSeat> | null = null
  const renew = (): Promise<BridgeSeat> => {
    known = client.post<McpSeatView>('/v1/mcp/seats', { cwd: process.cwd(), env: process.env as Record<string, string> })
    return known
  }
  return { seat: () => known ?? renew(), renew, outbox: null }
}
