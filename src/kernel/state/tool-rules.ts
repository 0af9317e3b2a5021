// Rules for single tool calls, such as `bash(npm test:*)` and `edit(src/**)`. Has their grammar, and finds rules that programs could
// bypass. src/drivers/native/permissions matches calls with them. Test: test/tables/kernel/state/tool-rules.test.ts.
import type { ProcessSpec } from '../model/process-spec.ts'
import type { Permissions } from '../model/spec-parts.ts'
import { NATIVE_SHELL_TOOLS } from '../model/capabilities.ts'
import { isToolAllowed } from './tool-lists.ts'
import { NATIVE_TOOL_ACCESS, NATIVE_TOOLS } from '../model/words.ts'
import { lookUp } from '../util/lookup.ts'

/** A rule about the calls of one tool. Without a pattern, it applies to each of them. */
export interface ToolRule {
  readonly tool: string
  readonly pattern: string | null
}

/** What a pattern means in the rules of a tool, by what the tool does; null: it has no patterns. */
const PATTERN_MEANINGS = { shell: 'a command', write: 'a path', read: null } as const
const PATTERN_TOOLS = NATIVE_TOOLS.filter((tool) => PATTERN_MEANINGS[NATIVE_TOOL_ACCESS[tool]] !== null)

/** Whether an entry of a list of tools is a rule with a pattern. */
export function hasPattern(text: string): boolean {
  return text.includes('(')
}

export function parseToolRule(text: string): ToolRule {
  const [, tool = text, pattern = null] = /^([^()]+)\((.*)\)$/s.exec(text) ?? []
  return { tool: tool.trim().toLowerCase(), pattern: pattern?.trim() ?? null }
}

/** Returns the reason why a rule with a pattern cannot be used; null if it can. */
export function toolRuleProblem(text: string): string | null {
  const { tool, pattern } = parseToolRule(text)
  if (pattern === null) return `\`${text}\` is not a rule: a closing bracket is missing at its end`
  const access = lookUp(NATIVE_TOOL_ACCESS, tool)
  if (access === 'read') return `\`${text}\` cannot be enforced by a pattern: limit the directories that it may read with \`read:PATH\``
  if (access === undefined) return `\`${text}\` has a pattern, which only ${PATTERN_TOOLS.join(', ')} may have`
  const meaning = PATTERN_MEANINGS[access]
  return pattern === '' || pattern === ':*' ? `\`${text}\` names nothing: expected ${meaning} in the brackets` : null
}

/**
 * Returns why the first rule that asks or denies could be bypassed; null if no rule could. A shell can write any file, and can hide a
 * command in a script. So a shell that does not ask bypasses each such rule.
 */
export function ruleBypassProblem(permissions: Permissions, lists: Pick<ProcessSpec, 'tools' | 'deny'>): string | null {
  const { default: fallback, allow = [], ask = [], deny = [] } = permissions
  const names = (rules: readonly string[], tool: string): boolean =>
    rules.some((text) => parseToolRule(text).tool === tool && !hasPattern(text))
  const shell = NATIVE_SHELL_TOOLS.find(
    (tool) => isToolAllowed(tool, lists) && !names(deny, tool) && !names(ask, tool) && (fallback === 'allow' || names(allow, tool)),
  )
  const rule = [...deny, ...ask].find(hasPattern)
  return shell !== undefined && rule !== undefined
    ? `\`${rule}\` could be bypassed by a command in ${shell}, which does not ask here`
    : null
}
