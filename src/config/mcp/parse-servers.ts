// Parses MCP servers: reeve's own format strictly, and `.mcp.json` of other programs leniently. An invalid server in `.mcp.json` becomes a
// server with a problem, and the other servers stay usable. The result contains secrets: it must pass through `withoutSecrets`
// (select-servers.ts) before it is recorded. Test: test/tables/config/mcp/servers.test.ts.
import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import type { McpServer } from '../../kernel/model/spec-parts.ts'
import { parseDuration } from '../duration.ts'
import { issueText } from '../zod-messages.ts'
import { parseYaml } from '../yaml.ts'
import { TOOL_EFFECTS } from '../../kernel/model/words.ts'

/** maximum number of servers in one file */
const MAX_SERVERS = 100
const MAX_TEXT_CHARS = 32 * 1024

/** The servers of an agent file. */
export interface AgentMcp {
  /** names of servers that are configured elsewhere */
  readonly names: readonly string[]
  /** the servers that the agent file defines */
  readonly definitions: readonly McpServer[]
}

/** The file that defines a server. */
interface ConfigLocation {
  readonly file: string
  /** the directory for a relative `cwd` of a server */
  readonly dir: string
  /** the directory of a server without `cwd`; absent: that of its process */
  readonly home?: string
}

/** the name of reeve's own MCP server; another server of that name would hide its tools */
const RESERVED_NAME = 'reeve'
const RESERVED_MESSAGE = "the name is reserved for reeve's own server (`reeve: true` gives it to an agent); choose another name"

const text = z
  .string()
  .max(MAX_TEXT_CHARS)
  .regex(/^[^\0]*$/, 'must not contain NUL')
const name = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of up to 64 letters, digits, dots, dashes and underscores')
  .refine((value) => value !== RESERVED_NAME, RESERVED_MESSAGE)
const scalars = z.record(
  z
    .string()
    .min(1)
    .max(200)
    .regex(/^[^\0=\s]+$/),
  z.union([text, z.number(), z.boolean()]).transform(String),
)
const duration = z.string().transform((value, context) => {
  const ms = parseDuration(value)
  if (!ms) context.addIssue('expected a duration such as 10s or 2m')
  return ms ?? 0
})

const shared = {
  type: z.enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse']).optional(),
  command: text.min(1).optional(),
  args: z.array(text).max(1000).default([]),
  env: scalars.default({}),
  cwd: text.min(1).optional(),
  url: text.min(1).optional(),
  headers: scalars.default({}),
}
const keys = {
  ...shared,
  effects: z.record(z.string().min(1).max(200), z.enum(TOOL_EFFECTS)).optional(),
  startTimeout: duration.optional(),
  callTimeout: duration.optional(),
}
const lenientServer = z.looseObject({ ...shared, disabled: z.boolean().optional() })

/** The keys of a server, for suggestions. */
export const SERVER_KEYS = Object.keys(keys)

const server = z.strictObject(keys).superRefine((entry, context) => {
  const problem = problemOf(entry)
  if (problem !== null) context.addIssue(problem)
})

/** The rule for servers by name, as in config.yaml. */
export const serversRule = z.record(name, server).refine((all) => Object.keys(all).length <= MAX_SERVERS, `at most ${MAX_SERVERS} servers`)

type Entry = z.infer<z.ZodObject<typeof keys>>

/** Converts parsed servers, by name, to the type of the kernel. */
export function serversOf(entries: Readonly<Record<string, Entry>>, location: ConfigLocation): readonly McpServer[] {
  return Object.entries(entries).map(([serverName, entry]) => serverOf(serverName, entry, location))
}

/** Parses `mcp:` of an agent file: names, servers by name, or a list of both. `isLenient`: in the format of other programs. */
export function parseAgentMcp(value: unknown, location: ConfigLocation, isLenient: boolean): AgentMcp | { readonly problem: string } {
  const names: string[] = []
  const definitions: McpServer[] = []
  for (const item of Array.isArray(value) ? value : typeof value === 'string' ? value.split(',').map((part) => part.trim()) : [value]) {
    if (typeof item === 'string' && item !== '') names.push(item)
    else if (isLenient) definitions.push(...lenientServers(item, location).filter((each) => each !== null))
    else {
      const parsed = serversRule.safeParse(item)
      if (!parsed.success) return { problem: firstIssueText(parsed.error) }
      definitions.push(...serversOf(parsed.data, location))
    }
  }
  return { names, definitions }
}

/** Parses `.mcp.json`. An invalid file becomes one server with a problem: the user sees the problem, and the process still starts. */
export function parseMcpJson(json: string, location: ConfigLocation): readonly McpServer[] {
  try {
    const parsed = JSON.parse(json) as { readonly mcpServers?: unknown } | null
    return lenientServers(parsed?.mcpServers ?? {}, location).filter((each) => each !== null)
  } catch {
    // The message of `JSON.parse` is not used: it quotes the text, which may contain a secret. The YAML parser, which reads JSON, finds the
    // line.
    const read = parseYaml(json, { schema: z.unknown(), knownKeys: () => [], secret: true }, location.file)
    return [unusableServer('.mcp.json', location, `it is not valid JSON${read.ok ? '' : ` (line ${read.problem.line})`}`)]
  }
}

/** Parses servers in the format of other programs; null for a disabled server. */
function lenientServers(map: unknown, location: ConfigLocation): readonly (McpServer | null)[] {
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    return [unusableServer('.mcp.json', location, '`mcpServers` is not a map of servers')]
  return Object.entries(map)
    .slice(0, MAX_SERVERS)
    .map(([serverName, value]) => {
      const parsed = lenientServer.safeParse(value)
      if (!parsed.success) return unusableServer(serverName, location, firstIssueText(parsed.error))
      const { disabled, ...entry } = parsed.data
      if (disabled) return null
      const problem = serverName === RESERVED_NAME ? RESERVED_MESSAGE : problemOf(entry)
      if (problem !== null) return unusableServer(serverName, location, problem)
      const notes = Object.keys(entry)
        .filter((key) => !Object.hasOwn(shared, key))
        .map((key) => `${key} is not supported`)
      return { ...serverOf(serverName, entry, location), ...(notes.length > 0 ? { notes } : {}) }
    })
}

function problemOf({ type, command, url }: Pick<Entry, 'type' | 'command' | 'url'>): string | null {
  if (command === undefined && url === undefined) return 'it has neither a command nor a url'
  if (command !== undefined && url !== undefined) return 'it has a command and a url: it can be only one of them'
  if (type !== undefined && (type === 'stdio') !== (command !== undefined))
    return `its type is ${type}, and it has a ${command === undefined ? 'url' : 'command'}`
  return null
}

function serverOf(serverName: string, entry: Partial<Entry>, { file, dir, home }: ConfigLocation): McpServer {
  const { command, args = [], env = {}, cwd, url, headers = {}, effects, startTimeout, callTimeout } = entry
  const common = {
    name: serverName,
    source: file,
    ...(effects === undefined ? {} : { effects }),
    ...(startTimeout === undefined ? {} : { startMs: startTimeout }),
    ...(callTimeout === undefined ? {} : { callMs: callTimeout }),
  }
  if (command === undefined) return { ...common, kind: 'http', url: url ?? '', headers }
  const where = cwd === undefined ? home : resolve(dir, cwd)
  return { ...common, kind: 'stdio', argv: [command, ...args], ...(where === undefined ? {} : { cwd: where }), env }
}

/** Returns a server that cannot be used because of a problem. */
export function unusableServer(serverName: string, { file }: Pick<ConfigLocation, 'file'>, problem: string): McpServer {
  return { name: serverName.slice(0, 200), source: file, problem, kind: 'stdio', argv: [], env: {} }
}

/** Returns the first issue as text, which never quotes values. */
function firstIssueText(error: z.ZodError): string {
  const issue = error.issues[0]
  const path = issue?.path.map(String).join('.')
  return `${path ? `${path}: ` : ''}${issue ? issueText(issue) : 'not valid'}`
}

export function configLocation(file: string): ConfigLocation {
  return { file, dir: dirname(file) }
}
