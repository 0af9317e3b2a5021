// May it? What an agent asks permission for, by the process's permissions and denied tools. What was denied is denied
// whatever is allowed; else the most particular word counts: of the title, the tool's name, its kind, the default.
// Pure. Test: test/processes/acp-asks.test.ts.
import type { ProcessSpec } from '../../kernel/types.ts'
import { isAllowed } from '../../kernel/tool-names.ts'

export type Verdict = 'allow' | 'deny' | 'ask'

export type Rules = Pick<ProcessSpec, 'permissions' | 'deny' | 'tools' | 'capabilities'>

/** What is to be decided on, by the names that an agent gives it. */
export interface Asked {
  readonly title: string | null
  readonly name: string | null
  readonly kind: string | null
}

/** Kinds of the protocol by the names that reeve has for its own tools. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  read: ['read'],
  edit: ['edit', 'write'],
  delete: ['write'],
  move: ['write'],
  search: ['grep', 'glob', 'ls'],
  execute: ['bash'],
}

export function verdictOn(asked: Asked, rules: Rules): Verdict {
  const names = namesOf(asked)
  if (names.some((name) => !isAllowed(name, { tools: null, deny: rules.deny }))) return 'deny'
  if (rules.tools !== null && !names.some((name) => isAllowed(name, { tools: rules.tools, deny: [] }))) return 'deny'
  const { permissions } = rules
  const listed = Object.entries(permissions?.tools ?? {})
  for (const name of names) {
    const found = listed.find(([key]) => key.toLowerCase() === name.toLowerCase())
    if (found) return found[1]
  }
  return permissions?.default ?? 'ask'
}

/** How agents call a tool of an MCP server where they ask for permission. What is no call of one may be called anything. */
const OWN_TITLES = [/^mcp__reeve__(\w+)$/, /^mcp_reeve_(\w+)$/, /^reeve_(\w+)$/, /^(?:Tool: )?(?:mcp\.)?reeve[./](\w+)$/, /^(\w+) \(reeve MCP Server\)$/]

/** What Codex tells of a call of a server, and nothing beside it: a model may write these into the input of any other tool. */
const SERVER_CALL = new Set(['server', 'tool', 'arguments'])

/** One of reeve's own tools, which the daemon has given it and looks at by itself. */
export function isOwnTool({ title, name, kind }: Asked, own: readonly string[], input?: unknown): boolean {
  const told: Readonly<Record<string, unknown>> = { ...(typeof input === 'object' ? input : {}) }
  if (told['server'] === 'reeve' && own.includes(String(told['tool'])) && Object.keys(told).every((key) => SERVER_CALL.has(key))) return true
  // A title may be the path of a file, or the words of a shell.
  const said = [name, ...(kind === null || kind in NAMES ? [] : [title])]
  return said.some((each) => OWN_TITLES.some((form) => own.includes(form.exec(each ?? '')?.[1] ?? '')))
}

/** By its lists, whatever a person would say. */
export function isUnlisted(asked: Asked, rules: Rules): boolean {
  return verdictOn(asked, { ...rules, permissions: { default: 'allow' } }) === 'deny'
}

/** Which places a call of this kind must keep to; null: it is about no files. What is not known may write. */
export function wayOf(kind: string | null): 'read' | 'write' | null {
  if (kind === 'think' || kind === 'fetch' || kind === 'execute' || kind === 'switch_mode') return null
  return kind === 'read' || kind === 'search' ? 'read' : 'write'
}

/** Whether a kind is out of the question: then it is not even offered. */
export function isDenied(kind: string, rules: Rules): boolean {
  return verdictOn({ title: null, name: null, kind }, rules) === 'deny'
}

/** The most particular first. */
function namesOf({ title, name, kind }: Asked): readonly string[] {
  return [title, name, kind, ...(kind === null ? [] : (NAMES[kind] ?? []))].filter((each): each is string => each !== null && each !== '')
}
