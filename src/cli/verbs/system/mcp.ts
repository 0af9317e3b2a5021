// `reeve mcp`: serves reeve's own tools on stdin and stdout. The client is an agent with a token in its environment, or a program of the
// user. Test: test/e2e/mcp/bridge.test.ts.
import { Client } from '../../../api/client/client.ts'
import { clientSocket, pathsFrom } from '../../../config/paths.ts'
import type { McpEndpoint } from '../../mcp/bridge.ts'
import { agentEndpoint, serveStdio, type EndpointSource } from '../../mcp/stdio.ts'
import type { McpSessionBody, McpSessionView } from '../../../api/views/mcp.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run(_: VerbCall): Promise<number> {
  await serveStdio(agentEndpoint() ?? userEndpoint())
  return 0
}

function userEndpoint(): EndpointSource {
  const client = new Client({
    socketPath: () => clientSocket(pathsFrom()),
    start: async () => (await import('../../service/start-daemon.ts')).startDaemon(),
    name: 'mcp',
  })
  let current: Promise<McpEndpoint> | null = null
  const renew = (): Promise<McpEndpoint> => {
    current = client.post<McpSessionView>('/v1/mcp/seats', {
      cwd: process.cwd(),
      env: process.env as Record<string, string>,
    } satisfies McpSessionBody)
    return current
  }
  return { endpoint: () => current ?? renew(), renew, outbox: null }
}
