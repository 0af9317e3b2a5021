// Which tools an agent may use: the one reading of its two lists. Names of MCP tools are `mcp__SERVER__TOOL`; a list may
// name a whole server, or all that begin with something (`mcp__SERVER__get_*`). Letters may be in either case, as agent
// files write `Read` and `read`. Test: test/tables/native-allowed.test.ts.
import type { ProcessSpec } from '../../../kernel/types.ts'

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
  return tools === null || tools.some((each) => isWhole(each.toLowerCase(), whole) || each.toLowerCase().startsWith(whole))
}

function covers(entry: string, name: string): boolean {
  if (entry === name) return true
  if (!entry.startsWith(MCP)) return false
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name.startsWith(`${entry}__`)
}

function isWhole(entry: string, whole: string): boolean {
  return entry.startsWith(MCP) && (`${entry}__` === whole || (entry.endsWith('*') && whole.startsWith(entry.slice(0, -1))))
}
