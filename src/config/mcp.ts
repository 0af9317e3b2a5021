// Which MCP servers a process may use: its agent file's own, the project's `.mcp.json`, the user's config.yaml, in this
// order of precedence. What comes out can be recorded: values that look like secrets are null and are read again from
// their file at the start (mcp-start.ts). Whether a file is trusted is decided then, too.
// Test: test/tables/config-mcp.test.ts, test/e2e/mcp-config.test.ts.
import { dirname } from 'node:path'
import { KernelError } from '../kernel/errors.ts'
import type { McpServer } from '../kernel/spec.ts'
import { userServers } from './config.ts'
import { looksSecret } from './credentials.ts'
import { nearest, readText, trustedOwners } from './files.ts'
import { parseMcpJson, unusable, type AgentMcp } from './mcp-file.ts'
import type { Paths } from './paths.ts'
import { literalOf, variablesIn } from './template.ts'

interface McpWish {
  readonly cwd: string
  readonly paths: Paths
  readonly agent: { readonly name: string; readonly mcp: AgentMcp | null }
  /** named for this one process: `none`, or names. Undefined: as the agent says, or else all that there are */
  readonly chosen: readonly string[] | undefined
}

/** Errors: INVALID or AGENT_INVALID for a name that no file has; those of the user's configuration. */
export async function mcpServers({ cwd, paths, agent, chosen }: McpWish): Promise<readonly McpServer[]> {
  const own = agent.mcp?.own ?? []
  const users = await userServers(paths)
  const all = byName([...own, ...(await projectServers(cwd)), ...users])
  if (chosen !== undefined) {
    const names = chosen.filter((one) => one !== 'none')
    return names.map((one) => nameable(sealed(found(one, all, 'INVALID')), users))
  }
  if (agent.mcp === null) return [...all.values()].map(sealed)
  const named = agent.mcp.names.map((one) => found(one, all, 'AGENT_INVALID', `agent "${agent.name}": `))
  return [...byName([...own, ...named]).values()].map(sealed)
}

/** To name it is to trust it, unless one of the user's own could have been meant: then its file must be trusted. */
function nameable(server: McpServer, users: readonly McpServer[]): McpServer {
  return users.some(({ name, source }) => name === server.name && source !== server.source) ? server : { ...server, named: true }
}

/** The nearest `.mcp.json` above a directory, with its secrets. */
async function projectServers(cwd: string): Promise<readonly McpServer[]> {
  const file = await nearest(cwd, '.mcp.json')
  return file === null ? [] : readMcpJson(file, cwd)
}

export async function readMcpJson(file: string, cwd: string): Promise<readonly McpServer[]> {
  const place = { file, dir: dirname(file), home: dirname(file) }
  try {
    const found = await readText(file, await trustedOwners(cwd))
    return found === null ? [] : parseMcpJson(found.text, place)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    return [unusable('.mcp.json', place, String(error.details?.['message'] ?? error.message))]
  }
}

function byName(servers: readonly McpServer[]): ReadonlyMap<string, McpServer> {
  const all = new Map<string, McpServer>()
  for (const one of servers) if (!all.has(one.name)) all.set(one.name, one)
  return all
}

function found(name: string, all: ReadonlyMap<string, McpServer>, code: 'INVALID' | 'AGENT_INVALID', whose = ''): McpServer {
  const one = all.get(name)
  if (one) return one
  throw new KernelError(code, `${whose}there is no MCP server "${name}"; ${all.size === 0 ? 'none is configured here' : `there are ${[...all.keys()].join(', ')}`}`)
}

/** Without secrets. Arguments and addresses cannot do without theirs, so such a server cannot be used. */
function sealed(server: McpServer): McpServer {
  if (server.kind === 'http') {
    if (isSecretUrl(server.url)) return unusable(server.name, { file: server.source }, 'its url has what looks like a secret; put that into a variable and write ${NAME}, or into a header')
    return { ...server, headers: mapped(server.headers, (name, value) => variablesIn(value).length === 0 || isSecret(name.replaceAll('-', '_'), value)) }
  }
  if (server.argv.some(isSecretArgument)) return unusable(server.name, { file: server.source }, 'its arguments have what looks like a secret: other programs could see it; put it into env')
  return { ...server, env: mapped(server.env, isSecret) }
}

function mapped(values: Readonly<Record<string, string | null>>, hidden: (name: string, value: string) => boolean): Record<string, string | null> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === null || hidden(name, value) ? null : value]))
}

/** Beside a reference, only what has the form of a key counts, and a default: `Bearer ${TOKEN}` has none. */
function isSecret(name: string, value: string): boolean {
  const literal = literalOf(value)
  const words = variablesIn(value).length > 0 && !value.includes(':-') ? '' : literal
  return looksSecret('', literal) || looksSecret(name, words)
}

/** `--api-key=VALUE`, and what has the form of a key wherever it stands. */
function isSecretArgument(argument: string): boolean {
  const [, name = '', value = ''] = /^-{0,2}([A-Za-z][\w-]*)=(.*)$/s.exec(argument) ?? []
  return looksSecret('', literalOf(argument)) || isSecret(name.replaceAll('-', '_'), value)
}

function isSecretUrl(url: string): boolean {
  const literal = literalOf(url)
  if (looksSecret('', literal)) return true
  const query = literal.split('#')[0]?.split('?')[1] ?? ''
  return [...new URLSearchParams(query)].some(([name, value]) => looksSecret(name.replaceAll('-', '_'), value))
}
