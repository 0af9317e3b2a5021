// Which tools an agent may use: the one reading of its two lists. Names of MCP tools are `mcp__SERVER__TOOL`; a list may
// name a whole server, or all that begin with something (`mcp__SERVER__get_*`). Letters may be in either case, as agent
// files write `Read` and `read`. Owns what two lists have in common, too. Tests: test/tables/tool-names.test.ts, test/properties/permits.test.ts.
import type { ProcessSpec } from './types.ts'

type Lists = Pick<ProcessSpec, 'tools' | 'deny'>

const MCP = 'mcp__'

export function isAllowed(name: string, { tools, deny }: Lists): boolean {
  const named = (list: readonly string[]): boolean => list.some((each) => covers(each.toLowerCase(), name.toLowerCase()))
  return (tools === null || named(tools)) && !named(deny)
}

/** It may be that none of its tools can be used: then it need not be started. */
export function mayUseServer(prefix: string, { tools, deny }: Lists): boolean {
  const whole = `${prefix}__`.toLowerCase()
  if (deny.some((each) => isWhole(each.toLowerCase(), whole))) return false
  return tools === null || namesServer(prefix, tools)
}

/** Some entry of the list is about this server. */
export function namesServer(prefix: string, tools: readonly string[]): boolean {
  const whole = `${prefix}__`.toLowerCase()
  return tools.some((each) => isWhole(each.toLowerCase(), whole) || each.toLowerCase().startsWith(whole))
}

/** What the names of a server's tools begin with, unless it is too long or taken. */
export function serverPrefix(server: string): string {
  return `${MCP}${server.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/__+/g, '_').replaceAll(/^_|_$/g, '') || 'server'}`
}

/** The tools that both lists allow. Null allows all. */
export function commonTools(some: readonly string[] | null, others: readonly string[] | null): readonly string[] | null {
  if (some === null || others === null) return withoutCovered(some ?? others)
  const common = some.flatMap((one) => others.flatMap((other) => meet(one, other) ?? []))
  return withoutCovered(common)
}

/** An entry that another one covers says nothing. */
export function withoutCovered<List extends readonly string[] | null>(list: List): List | readonly string[] {
  if (list === null) return list
  const isWithin = (one: string, other: string): boolean => meet(one, other)?.toLowerCase() === one.toLowerCase()
  return list.filter((one, index) => !list.some((other, at) => at !== index && isWithin(one, other) && (!isWithin(other, one) || at < index)))
}

/** The names that two entries share are again those of an entry, or none. */
function meet(one: string, other: string): string | null {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  if (a === b) return one
  if (!a.startsWith(MCP) || !b.startsWith(MCP)) return null
  if (isStar(a) && isStar(b)) return a.startsWith(b.slice(0, -1)) ? one : b.startsWith(a.slice(0, -1)) ? other : null
  if (isStar(a)) return inStar(a, b, other)
  if (isStar(b)) return inStar(b, a, one)
  return covers(a, b) ? other : covers(b, a) ? one : null
}

/** What begins with the star's text, of a server or tool and all below it. */
function inStar(star: string, whole: string, written: string): string | null {
  const start = star.slice(0, -1)
  if (whole.startsWith(start)) return written
  return start.startsWith(`${whole}__`) ? star : start === `${whole}_` ? `${written}__*` : null
}

function isStar(entry: string): boolean {
  return entry.endsWith('*')
}

function covers(entry: string, name: string): boolean {
  if (entry === name) return true
  if (!entry.startsWith(MCP)) return false
  return isStar(entry) ? name.startsWith(entry.slice(0, -1)) : name.startsWith(`${entry}__`)
}

function isWhole(entry: string, whole: string): boolean {
  return entry.startsWith(MCP) && (`${entry}__` === whole || (isStar(entry) && whole.startsWith(entry.slice(0, -1))))
}
