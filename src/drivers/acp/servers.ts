// The MCP servers of a process as the protocol hands them to an agent, which starts them itself: with their secrets, so
// nothing of this may be recorded. One that cannot be used is left out and told of. Tests: test/processes/acp-session.test.ts.
import type { McpServer } from '@agentclientprotocol/sdk'
import type { McpStart } from '../../kernel/mcp.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { OwnTools } from '../port.ts'
import { prefixOf } from '../mcp/tools.ts'
import { mayUseServer } from '../../kernel/tool-names.ts'

/** `note` is told of those that are left out. */
export function serversFor(starts: readonly McpStart[], spec: Pick<ProcessSpec, 'tools' | 'deny' | 'cwd'>, http: boolean, note: (text: string) => void): McpServer[] {
  const prefixes = new Set<string>()
  const out = (name: string, why: string): McpServer[] => {
    note(`MCP server ${name} is not used: ${why}`)
    return []
  }
  return starts.flatMap((start): McpServer[] => {
    const prefix = prefixOf(start.name, prefixes)
    prefixes.add(prefix)
    if (!mayUseServer(prefix, spec)) return []
    if (start.state !== 'ready') return out(start.name, start.why)
    const { name, reach } = start
    if (reach.kind === 'http') return http ? [{ type: 'http', name, url: reach.url, headers: pairs(reach.headers) }] : out(name, 'the agent takes none over HTTP')
    // An agent starts it where it is itself.
    const [command, ...args] = reach.cwd === spec.cwd ? reach.argv : ['sh', '-c', 'cd "$0" && exec "$@"', reach.cwd, ...reach.argv]
    return command === undefined ? [] : [{ name, command, args, env: pairs(reach.env) }]
  })
}

/** reeve's own: over HTTP where the agent takes that, else by a program. */
export async function ownServer(own: OwnTools | undefined, http: boolean): Promise<McpServer[]> {
  if (!own) return []
  const { url, token, stdio: { argv: [command = '', ...args], env } } = await own.reach()
  if (http) return [{ type: 'http', name: 'reeve', url, headers: pairs({ Authorization: `Bearer ${token}` }) }]
  return [{ name: 'reeve', command, args, env: pairs(env) }]
}

function pairs(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }))
}
