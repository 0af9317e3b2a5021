// MCP servers as people write them: reeve's own keys, checked strictly, and `.mcp.json` as other agents write it, taken as
// it is: what is wrong with one server is said of that server and hides no other. What comes out still has its secrets in it.
// Must never be recorded before `sealed` (mcp.ts). Test: test/tables/config-mcp.test.ts.
import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import type { McpServer } from '../kernel/spec.ts'
import { parseDuration } from './duration.ts'
import { issueWords } from './issues.ts'
import { parseYaml } from './yaml.ts'

/** The most servers of one file. */
const MAX_SERVERS = 100
const MAX_TEXT = 32 * 1024

/** Which servers an agent file asks for: by name, and its own. */
export interface AgentMcp {
  readonly names: readonly string[]
  readonly own: readonly McpServer[]
}

/** Where a server is written: `dir` is what its relative `cwd` refers to, `home` its `cwd` if it names none. */
interface Place {
  readonly file: string
  readonly dir: string
  readonly home?: string
}

/** An agent has its tools beside those of others: one of them would be lost. */
const OWN_NAME = 'reeve'
const RESERVED = "reeve's own server has it (`reeve: true` gives that to an agent); give this one another name"

const text = z.string().max(MAX_TEXT).regex(/^[^\0]*$/, 'must not contain NUL')
const name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected a name of up to 64 letters, digits, dots, dashes and underscores').refine((said) => said !== OWN_NAME, RESERVED)
const scalars = z.record(z.string().min(1).max(200).regex(/^[^\0=\s]+$/), z.union([text, z.number(), z.boolean()]).transform(String))
const duration = z.string().transform((said, context) => {
  const ms = parseDuration(said)
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
  effects: z.record(z.string().min(1).max(200), z.enum(['read', 'idempotent', 'once'])).optional(),
  startTimeout: duration.optional(),
  callTimeout: duration.optional(),
}
const theirs = z.looseObject({ ...shared, disabled: z.boolean().optional() })

/** The keys of one server, for suggestions. */
export const SERVER_KEYS = Object.keys(keys)

const server = z.strictObject(keys).superRefine((entry, context) => {
  const problem = problemOf(entry)
  if (problem !== null) context.addIssue(problem)
})

/** Servers by name, as in config.yaml. */
export const serversRule = z.record(name, server).refine((all) => Object.keys(all).length <= MAX_SERVERS, `at most ${MAX_SERVERS} servers`)

type Entry = z.infer<z.ZodObject<typeof keys>>

export function serversOf(entries: Readonly<Record<string, Entry>>, place: Place): readonly McpServer[] {
  return Object.entries(entries).map(([one, entry]) => serverOf(one, entry, place))
}

/** `mcp:` of an agent file: names, or servers by name, or a list of both. `lenient` takes what others wrote. */
export function agentMcp(value: unknown, place: Place, lenient: boolean): AgentMcp | { readonly wrong: string } {
  const names: string[] = []
  const own: McpServer[] = []
  for (const item of Array.isArray(value) ? value : typeof value === 'string' ? value.split(',').map((one) => one.trim()) : [value]) {
    if (typeof item === 'string' && item !== '') names.push(item)
    else if (lenient) own.push(...theirServers(item, place).filter((one) => one !== null))
    else {
      const parsed = serversRule.safeParse(item)
      if (!parsed.success) return { wrong: wordsOf(parsed.error) }
      own.push(...serversOf(parsed.data, place))
    }
  }
  return { names, own }
}

/** `.mcp.json`. A file that cannot be read is one server that cannot be used, so that it is seen and stops nothing. */
export function parseMcpJson(json: string, place: Place): readonly McpServer[] {
  try {
    const parsed = JSON.parse(json) as { readonly mcpServers?: unknown } | null
    return theirServers(parsed?.mcpServers ?? {}, place).filter((one) => one !== null)
  } catch {
    // The parser's own words quote the text, which may have a secret in it. JSON is YAML, whose parser knows places.
    const read = parseYaml(json, { schema: z.unknown(), known: () => [], secret: true }, place.file)
    return [unusable('.mcp.json', place, `it is not valid JSON${read.ok ? '' : ` (line ${read.problem.line})`}`)]
  }
}

/** null stands for what is switched off. */
function theirServers(map: unknown, place: Place): readonly (McpServer | null)[] {
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return [unusable('.mcp.json', place, '`mcpServers` is not a map of servers')]
  return Object.entries(map).slice(0, MAX_SERVERS).map(([one, value]) => {
    const parsed = theirs.safeParse(value)
    if (!parsed.success) return unusable(one, place, wordsOf(parsed.error))
    const { disabled, ...entry } = parsed.data
    if (disabled) return null
    const problem = one === OWN_NAME ? RESERVED : problemOf(entry)
    if (problem !== null) return unusable(one, place, problem)
    const notes = Object.keys(entry).filter((key) => !(key in shared)).map((key) => `${key} is not supported`)
    return { ...serverOf(one, entry, place), ...(notes.length > 0 ? { notes } : {}) }
  })
}

function problemOf({ type, command, url }: Pick<Entry, 'type' | 'command' | 'url'>): string | null {
  if (command === undefined && url === undefined) return 'it has neither a command nor a url'
  if (command !== undefined && url !== undefined) return 'it has a command and a url: it can be only one of them'
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) return `its type is ${type}, and it has a ${command === undefined ? 'url' : 'command'}`
  return null
}

function serverOf(one: string, entry: Partial<Entry>, { file, dir, home }: Place): McpServer {
  const { command, args = [], env = {}, cwd, url, headers = {}, effects, startTimeout, callTimeout } = entry
  const common = {
    name: one,
    source: file,
    ...(effects === undefined ? {} : { effects }),
    ...(startTimeout === undefined ? {} : { startMs: startTimeout }),
    ...(callTimeout === undefined ? {} : { callMs: callTimeout }),
  }
  if (command === undefined) return { ...common, kind: 'http', url: url ?? '', headers }
  const where = cwd === undefined ? home : resolve(dir, cwd)
  return { ...common, kind: 'stdio', argv: [command, ...args], ...(where === undefined ? {} : { cwd: where }), env }
}

export function unusable(one: string, { file }: Pick<Place, 'file'>, problem: string): McpServer {
  return { name: one.slice(0, 200), source: file, problem, kind: 'stdio', argv: [], env: {} }
}

/** The first thing that is wrong; values are never quoted. */
function wordsOf(error: z.ZodError): string {
  const issue = error.issues[0]
  const place = issue?.path.map(String).join('.')
  return `${place ? `${place}: ` : ''}${issue ? issueWords(issue) : 'not valid'}`
}

export function placeOf(file: string): Place {
  return { file, dir: dirname(file) }
}
