// Decides which tools an agent may use, by its lists of allowed and of denied tools. Tools of MCP servers are named `mcp__SERVER__TOOL`. An
// entry may name a whole server, or a prefix (`mcp__SERVER__get_*`). Case does not matter, as agent files contain both `Read` and `read`.
// Also intersects two lists. Tests: test/tables/kernel/state/tool-lists.test.ts, test/properties/permissions.test.ts.
import type { ProcessSpec } from '../model/process-spec.ts'

type ToolLists = Pick<ProcessSpec, 'tools' | 'deny'>

const MCP = 'mcp__'

export function isToolAllowed(name: string, { tools, deny }: ToolLists): boolean {
  const isIn = (list: readonly string[]): boolean => list.some((entry) => covers(entry.toLowerCase(), name.toLowerCase()))
  return (tools === null || isIn(tools)) && !isIn(deny)
}

/** False when the lists allow none of the server's tools, so that the server need not start. */
export function mayUseServer(prefix: string, { tools, deny }: ToolLists): boolean {
  const toolPrefix = `${prefix}__`.toLowerCase()
  if (deny.some((entry) => coversAllTools(entry.toLowerCase(), toolPrefix))) return false
  return tools === null || namesServer(prefix, tools)
}

/** True when an entry of the list names this server or one of its tools. */
export function namesServer(prefix: string, tools: readonly string[]): boolean {
  const toolPrefix = `${prefix}__`.toLowerCase()
  return tools.some((entry) => coversAllTools(entry.toLowerCase(), toolPrefix) || entry.toLowerCase().startsWith(toolPrefix))
}

/** The usual prefix of a server's tool names; another one is used if this is too long or taken. */
export function serverPrefix(server: string): string {
  return `${MCP}${
    server
      .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
      .replaceAll(/__+/g, '_')
      .replaceAll(/^_|_$/g, '') || 'server'
  }`
}

/** The tools that both lists allow. Null allows all. */
export function intersectToolLists(first: readonly string[] | null, second: readonly string[] | null): readonly string[] | null {
  if (first === null || second === null) return withoutCoveredEntries(first ?? second)
  const common = first.flatMap((entry) => second.flatMap((other) => intersectEntries(entry, other) ?? []))
  return withoutCoveredEntries(common)
}

/** Removes entries that another entry covers. */
export function withoutCoveredEntries<List extends readonly string[] | null>(list: List): List | readonly string[] {
  if (list === null) return list
  const isWithin = (entry: string, other: string): boolean => intersectEntries(entry, other)?.toLowerCase() === entry.toLowerCase()
  return list.filter(
    (entry, index) => !list.some((other, at) => at !== index && isWithin(entry, other) && (!isWithin(other, entry) || at < index)),
  )
}

/** An entry for the tools that both entries name; null: there are none. */
function intersectEntries(entry: string, other: string): string | null {
  const [a, b] = [entry.toLowerCase(), other.toLowerCase()]
  if (a === b) return entry
  if (!a.startsWith(MCP) || !b.startsWith(MCP)) return null
  if (isStar(a) && isStar(b)) return a.startsWith(b.slice(0, -1)) ? entry : b.startsWith(a.slice(0, -1)) ? other : null
  if (isStar(a)) return intersectWithStar(a, b, other)
  if (isStar(b)) return intersectWithStar(b, a, entry)
  return covers(a, b) ? other : covers(b, a) ? entry : null
}

/** The intersection of an entry that ends with `*` and one that names a server or a tool. `original`: the latter with its letter case. */
function intersectWithStar(star: string, name: string, original: string): string | null {
  const start = star.slice(0, -1)
  if (name.startsWith(start)) return original
  return start.startsWith(`${name}__`) ? star : start === `${name}_` ? `${original}__*` : null
}

function isStar(entry: string): boolean {
  return entry.endsWith('*')
}

function covers(entry: string, name: string): boolean {
  if (entry === name) return true
  if (!entry.startsWith(MCP)) return false
  return isStar(entry) ? name.startsWith(entry.slice(0, -1)) : name.startsWith(`${entry}__`)
}

/** True when the entry covers every tool of the server. `toolPrefix`: how the names of these tools begin. */
function coversAllTools(entry: string, toolPrefix: string): boolean {
  return entry.startsWith(MCP) && (`${entry}__` === toolPrefix || (isStar(entry) && toolPrefix.startsWith(entry.slice(0, -1))))
}
