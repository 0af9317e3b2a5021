// Selects the MCP servers of a process. The order of precedence is: its agent file, the project's `.mcp.json`, the user's config.yaml. The
// result can be recorded, because values that look like secrets are null. At the start, resolve-servers.ts reads these values from the file
// again, and checks whether the file is trusted.
// Test: test/tables/config/mcp/servers.test.ts, test/e2e/mcp/config.test.ts.
import { dirname } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { McpServer } from '../../kernel/model/spec-parts.ts'
import { readUserServers } from '../config.ts'
import { looksSecret } from '../credentials/secret-variables.ts'
import { nearestFile, readText, trustedOwners } from '../untrusted-files.ts'
import { parseMcpJson, unusableServer, type AgentMcp } from './parse-servers.ts'
import type { Paths } from '../paths.ts'
import { withDefaults, variablesIn } from '../expand-variables.ts'

interface McpSelection {
  readonly cwd: string
  readonly paths: Paths
  readonly agent: { readonly name: string; readonly mcp: AgentMcp | null }
  /** the server names that the user gave for this process, or `none`. Undefined: those of the agent file, else all */
  readonly chosen: readonly string[] | undefined
}

/** Returns the servers of a process. Errors: INVALID or AGENT_INVALID for an unknown name; those of the user's configuration. */
export async function selectServers({ cwd, paths, agent, chosen }: McpSelection): Promise<readonly McpServer[]> {
  const definitions = agent.mcp?.definitions ?? []
  const userDefined = await readUserServers(paths)
  const all = byName([...definitions, ...(await projectServers(cwd)), ...userDefined])
  if (chosen !== undefined) {
    const names = chosen.filter((name) => name !== 'none')
    return names.map((name) => markNamed(withoutSecrets(requireServer(name, all, 'INVALID')), userDefined))
  }
  if (agent.mcp === null) return [...all.values()].map(withoutSecrets)
  const named = agent.mcp.names.map((name) => requireServer(name, all, 'AGENT_INVALID', `agent "${agent.name}": `))
  return [...byName([...definitions, ...named]).values()].map(withoutSecrets)
}

/** Marks a server as named by the user, and so as trusted. Does nothing if the user's file has another server of that name. */
function markNamed(server: McpServer, userDefined: readonly McpServer[]): McpServer {
  return userDefined.some(({ name, source }) => name === server.name && source !== server.source) ? server : { ...server, named: true }
}

/** Returns the servers of the nearest `.mcp.json` in or above a directory, with their secrets. */
async function projectServers(cwd: string): Promise<readonly McpServer[]> {
  const file = await nearestFile(cwd, '.mcp.json')
  return file === null ? [] : readMcpJson(file, cwd)
}

/** Reads a `.mcp.json`. A file that cannot be used becomes one server with the problem. */
export async function readMcpJson(file: string, cwd: string): Promise<readonly McpServer[]> {
  const location = { file, dir: dirname(file), home: dirname(file) }
  try {
    const found = await readText(file, await trustedOwners(cwd))
    return found === null ? [] : parseMcpJson(found.text, location)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    return [unusableServer('.mcp.json', location, String(error.details?.['message'] ?? error.message))]
  }
}

function byName(servers: readonly McpServer[]): ReadonlyMap<string, McpServer> {
  const all = new Map<string, McpServer>()
  for (const server of servers) if (!all.has(server.name)) all.set(server.name, server)
  return all
}

function requireServer(name: string, all: ReadonlyMap<string, McpServer>, code: 'INVALID' | 'AGENT_INVALID', prefix = ''): McpServer {
  const server = all.get(name)
  if (server) return server
  throw new KernelError(
    code,
    `${prefix}there is no MCP server "${name}"; ${all.size === 0 ? 'none is configured here' : `there are ${[...all.keys()].join(', ')}`}`,
  )
}

/** Replaces secrets by null. A server with a secret in its arguments or URL becomes unusable, because it cannot be recorded. */
function withoutSecrets(server: McpServer): McpServer {
  if (server.kind === 'http') {
    if (isSecretUrl(server.url))
      return unusableServer(
        server.name,
        { file: server.source },
        'its url seems to contain a secret; put it into a variable and write ${NAME}, or into a header',
      )
    return {
      ...server,
      headers: hideValues(server.headers, (name, value) => variablesIn(value).length === 0 || isSecret(name.replaceAll('-', '_'), value)),
    }
  }
  if (server.argv.some(isSecretArgument))
    return unusableServer(
      server.name,
      { file: server.source },
      'its arguments seem to contain a secret, which other programs could read; put it into env',
    )
  return { ...server, env: hideValues(server.env, isSecret) }
}

function hideValues(
  values: Readonly<Record<string, string | null>>,
  isHidden: (name: string, value: string) => boolean,
): Record<string, string | null> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === null || isHidden(name, value) ? null : value]))
}

/** Whether a value is a secret. If it has a `${NAME}` without a default, only the form of its text counts, and not `name`. */
function isSecret(name: string, value: string): boolean {
  const literal = withDefaults(value)
  const ownText = variablesIn(value).length > 0 && !value.includes(':-') ? '' : literal
  return looksSecret('', literal) || looksSecret(name, ownText)
}

/** Whether an argument contains a secret: text in the form of a key, or `--api-key=VALUE`. */
function isSecretArgument(argument: string): boolean {
  const [, name = '', value = ''] = /^-{0,2}([A-Za-z][\w-]*)=(.*)$/s.exec(argument) ?? []
  return looksSecret('', withDefaults(argument)) || isSecret(name.replaceAll('-', '_'), value)
}

function isSecretUrl(url: string): boolean {
  const literal = withDefaults(url)
  if (looksSecret('', literal)) return true
  const query = literal.split('#')[0]?.split('?')[1] ?? ''
  return [...new URLSearchParams(query)].some(([name, value]) => looksSecret(name.replaceAll('-', '_'), value))
}
