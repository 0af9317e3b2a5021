// Builds the list of MCP servers for an agent, which starts or calls them itself. The list contains secrets, so it must never be
// recorded. Each program in it carries the marker of the process, because some agents pass no other environment on. Unusable servers
// are left out with a note. Tests: test/processes/acp/session.test.ts.
import type { McpServer } from '@agentclientprotocol/sdk'
import type { McpStart } from '../../kernel/model/mcp-start.ts'
import { markerEnvironment } from '../contain/marker.ts'
import type { Launch } from '../port.ts'
import { toolPrefix } from '../mcp/tool-list.ts'
import { mayUseServer } from '../../kernel/state/tool-lists.ts'

/** Returns the servers of a process. `http`: the agent supports servers over HTTP. `note` is called for each unusable server. */
export function serversFor(
  starts: readonly McpStart[],
  { spec, intent }: Pick<Launch, 'spec' | 'intent'>,
  http: boolean,
  note: (text: string) => void,
): McpServer[] {
  const prefixes = new Set<string>()
  const skipServer = (name: string, why: string): McpServer[] => {
    note(`MCP server ${name} is not used: ${why}`)
    return []
  }
  return starts.flatMap((start): McpServer[] => {
    const prefix = toolPrefix(start.name, prefixes)
    prefixes.add(prefix)
    if (!mayUseServer(prefix, spec)) return []
    if (start.state !== 'ready') return skipServer(start.name, start.why)
    const { name, transport } = start
    if (transport.kind === 'http')
      return http
        ? [{ type: 'http', name, url: transport.url, headers: toPairs(transport.headers) }]
        : skipServer(name, 'the agent supports no servers over HTTP')
    // The agent starts servers in its own working directory.
    const [command, ...args] =
      transport.cwd === spec.cwd ? transport.argv : ['sh', '-c', 'cd "$0" && exec "$@"', transport.cwd, ...transport.argv]
    return command === undefined ? [] : [{ name, command, args, env: toPairs({ ...transport.env, ...markerEnvironment(intent.marker) }) }]
  })
}

/** Returns the MCP server of reeve itself: over HTTP if the agent supports that, otherwise as a program. */
export async function ownServer({ ownTools: own, intent }: Pick<Launch, 'ownTools' | 'intent'>, http: boolean): Promise<McpServer[]> {
  if (!own) return []
  const {
    url,
    token,
    stdio: {
      argv: [command = '', ...args],
      env,
    },
  } = await own.endpoint()
  if (http) return [{ type: 'http', name: 'reeve', url, headers: toPairs({ Authorization: `Bearer ${token}` }) }]
  return [{ name: 'reeve', command, args, env: toPairs({ ...env, ...markerEnvironment(intent.marker) }) }]
}

function toPairs(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }))
}
