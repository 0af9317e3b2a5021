// Decides an agent's permission requests by the process's permissions and tool lists. A denied tool stays denied whatever the
// permissions allow. Otherwise the most specific permission counts: by title, then tool name, then kind, then the default. Pure.
// Test: test/processes/acp/permission-requests.test.ts.
import { isToolAllowed } from '../../kernel/state/tool-lists.ts'
import { callDecisionOf } from '../../kernel/state/permissions.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'
import type { CallDecision } from '../../kernel/model/words.ts'

export type PolicyDecision = CallDecision

export type Rules = Pick<AcpSpec, 'permissions' | 'deny' | 'tools' | 'capabilities'>

/** The action to decide on, with the names that the agent gives it. */
export interface RequestedAction {
  readonly title: string | null
  readonly name: string | null
  readonly kind: string | null
}

/** The names of reeve's tools for each kind of ACP tool. */
const TOOL_NAMES_BY_KIND: Readonly<Record<string, readonly string[]>> = {
  read: ['read'],
  edit: ['edit', 'write'],
  delete: ['write'],
  move: ['write'],
  search: ['grep', 'glob', 'ls'],
  execute: ['bash'],
}

/** Returns whether an action is allowed, denied, or needs the user's answer. */
export function decideAction(action: RequestedAction, rules: Rules): PolicyDecision {
  const names = namesOf(action)
  if (names.some((name) => !isToolAllowed(name, { tools: null, deny: rules.deny }))) return 'deny'
  if (rules.tools !== null && !names.some((name) => isToolAllowed(name, { tools: rules.tools, deny: [] }))) return 'deny'
  const { permissions } = rules
  const toolRules = Object.entries(permissions?.tools ?? {})
  for (const name of names) {
    const found = toolRules.find(([key]) => key.toLowerCase() === name.toLowerCase())
    if (found) return found[1]
  }
  return callDecisionOf(permissions?.default ?? 'ask')
}

/** The titles that agents give a call of reeve's MCP server in permission requests. */
const OWN_TITLES = [
  /^mcp__reeve__(\w+)$/,
  /^mcp_reeve_(\w+)$/,
  /^reeve_(\w+)$/,
  /^(?:Tool: )?(?:mcp\.)?reeve[./](\w+)$/,
  /^(\w+) \(reeve MCP Server\)$/,
]

/**
 * The exact input fields of an MCP call by Codex. An input with other fields does not count, because a model can write these three
 * into any input.
 */
const MCP_CALL_FIELDS = new Set(['server', 'tool', 'arguments'])

/** Whether the call is of one of reeve's own tools. The daemon authorizes those calls itself. */
export function isOwnTool({ title, name, kind }: RequestedAction, ownTools: readonly string[], input?: unknown): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...(typeof input === 'object' ? input : {}) }
  if (
    fields['server'] === 'reeve' &&
    ownTools.includes(String(fields['tool'])) &&
    Object.keys(fields).every((key) => MCP_CALL_FIELDS.has(key))
  )
    return true
  // The title of a known kind may be a file path or a shell command, so it is not trusted.
  const names = [name, ...(kind === null || Object.hasOwn(TOOL_NAMES_BY_KIND, kind) ? [] : [title])]
  return names.some((each) => OWN_TITLES.some((pattern) => ownTools.includes(pattern.exec(each ?? '')?.[1] ?? '')))
}

/** Whether the tool lists refuse the action, whatever the user would answer. */
export function isUnlisted(action: RequestedAction, rules: Rules): boolean {
  return decideAction(action, { ...rules, permissions: { default: 'allow' } }) === 'deny'
}

/** Returns which path list applies to a kind of tool; null if the kind does not access files. An unknown kind counts as a write. */
export function fileAccessOf(kind: string | null): 'read' | 'write' | null {
  if (kind === 'think' || kind === 'fetch' || kind === 'execute' || kind === 'switch_mode') return null
  return kind === 'read' || kind === 'search' ? 'read' : 'write'
}

/** Whether actions of this kind are always denied, so that the client does not offer them. */
export function isDenied(kind: string, rules: Rules): boolean {
  return decideAction({ title: null, name: null, kind }, rules) === 'deny'
}

/** Returns all names of the action, the most specific first. */
function namesOf({ title, name, kind }: RequestedAction): readonly string[] {
  return [title, name, kind, ...(kind === null ? [] : (lookUp(TOOL_NAMES_BY_KIND, kind) ?? []))].filter(
    (each): each is string => each !== null && each !== '',
  )
}
