// Serves reeve's own tools on stdin and stdout, for `reeve mcp` and for the program that the daemon gives to agents (agent-program.ts).
// Must load no package, and nothing after its start: the installation may be gone by then. Test: test/e2e/mcp/bridge.test.ts.
import { setTimeout } from 'node:timers/promises'
import { clientSocket, pathsFrom } from '../../config/paths.ts'
import { Failure } from '../errors.ts'
import { Bridge, type McpEndpoint } from './bridge.ts'
import { ReportOutbox } from './outbox.ts'

/** the longest message of a client, in characters */
const MAX_LINE_CHARS = 8 * 1024 * 1024
/** the wait for pending answers after the end of the input: a `wait` call may last much longer */
const LAST_ANSWERS_MS = 5_000

/** How the bridge reaches the MCP server. */
export interface EndpointSource {
  readonly endpoint: () => Promise<McpEndpoint>
  readonly renew: (() => Promise<McpEndpoint>) | null
  readonly outbox: ReportOutbox | null
}

/** Returns the endpoint that the daemon has given to an agent; null for a client of the user. */
export function agentEndpoint(): EndpointSource | null {
  const { REEVE_MCP_TOKEN: token, REEVE_MCP_SOCKET: socket, REEVE_MCP_OUTBOX: dir, REEVE_MCP_PROCESS: processId = '' } = process.env
  if (!token) return null
  const dot = processId.lastIndexOf('.')
  const outbox = dir && dot > 0 ? new ReportOutbox(dir, { uuid: processId.slice(0, dot), pid: Number(processId.slice(dot + 1)) }) : null
  const own = { token, socket: socket ?? clientSocket(pathsFrom()).replace(/\.sock$/, '.mcp.sock') }
  return { endpoint: () => Promise.resolve(own), renew: null, outbox }
}

/** Passes messages until the end of the input. */
export async function serveStdio({ endpoint, renew, outbox }: EndpointSource): Promise<void> {
  const ended = new AbortController()
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
}
