// `reeve mcp`: serves reeve's own tools on stdin and stdout. The client is an agent with a token in its environment, or a program of the
// user. Test: test/e2e/mcp/bridge.test.ts.
import { setTimeout } from 'node:timers/promises'
import { Client } from '../../../api/client/client.ts'
import { clientSocket, pathsFrom } from '../../../config/paths.ts'
import { Failure } from '../../errors.ts'
import { Bridge, type McpEndpoint } from '../../mcp/bridge.ts'
import { ReportOutbox } from '../../mcp/outbox.ts'
import type { McpSeatBody, McpSeatView } from '../../../api/views/mcp.ts'
import type { VerbCall } from '../../table/verb.ts'

/** the longest message of a client, in characters */
const MAX_LINE_CHARS = 8 * 1024 * 1024
/** the wait for pending answers after the end of the input: a `wait` call may last much longer */
const LAST_ANSWERS_MS = 5_000

export async function run(_: VerbCall): Promise<number> {
  const ended = new AbortController()
  const { endpoint, renew, outbox } = agentEndpoint() ?? userEndpoint()
  const bridge = new Bridge({ endpoint, renew, outbox, signal: ended.signal, write: (line) => process.stdout.write(`${line}\n`) })
  let partialLine = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin as AsyncIterable<string>) {
    // Lines end with LF only: a text may contain other line ends.
    const lines = (partialLine + chunk).split('\n')
    partialLine = lines.pop() ?? ''
    if (partialLine.length > MAX_LINE_CHARS) throw new Failure(1, `a message is longer than ${MAX_LINE_CHARS} characters`)
    for (const line of lines) bridge.receiveLine(line)
  }
  // A client that pipes its messages closes the input before the first answer.
  await Promise.race([bridge.waitForAnswers(), setTimeout(LAST_ANSWERS_MS, undefined, { ref: false })])
  ended.abort()
  await bridge.end()
  return 0
}

/** How the bridge reaches the MCP server. */
interface EndpointSource {
  readonly endpoint: () => Promise<McpEndpoint>
  readonly renew: (() => Promise<McpEndpoint>) | null
  readonly outbox: ReportOutbox | null
}

/** Returns the endpoint that the daemon has given to an agent; null for a client of the user. */
function agentEndpoint(): EndpointSource | null {
  const { REEVE_MCP_TOKEN: token, REEVE_MCP_SOCKET: socket, REEVE_MCP_OUTBOX: dir, REEVE_MCP_PROCESS: processId = '' } = process.env
  if (!token) return null
  const dot = processId.lastIndexOf('.')
  const outbox = dir && dot > 0 ? new ReportOutbox(dir, { uuid: processId.slice(0, dot), pid: Number(processId.slice(dot + 1)) }) : null
  const own = { token, socket: socket ?? clientSocket(pathsFrom()).replace(/\.sock$/, '.mcp.sock') }
  return { endpoint: () => Promise.resolve(own), renew: null, outbox }
}

function userEndpoint(): EndpointSource {
  const client = new Client({
    socketPath: () => clientSocket(pathsFrom()),
    start: async () => (await import('../../service/start-daemon.ts')).startDaemon(),
    name: 'mcp',
  })
  let current: Promise<McpEndpoint> | null = null
  const renew = (): Promise<McpEndpoint> => {
    current = client.post<McpSeatView>('/v1/mcp/seats', {
      cwd: process.cwd(),
      env: process.env as Record<string, string>,
    } satisfies McpSeatBody)
    return current
  }
  return { endpoint: () => current ?? renew(), renew, outbox: null }
}
