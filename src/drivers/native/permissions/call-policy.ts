// Decides by the process's permissions whether a tool call may run, is denied, or needs the user's answer. Without a rule about it, a call
// of a file tool that reads may run; any other call gets the default. A denial comes before a question, and a question before an approval.
// An approval needs certainty: the real path of a file, and each command of a line. A possible match is enough for a denial or a question.
// While the agent plans, each call that does more than read is denied.
// Test: test/tables/drivers/native/permissions/call-policy.test.ts.
import path from 'node:path'
import type { Permissions } from '../../../kernel/model/spec-parts.ts'
import { isToolAllowed } from '../../../kernel/state/tool-lists.ts'
import { callDecisionOf } from '../../../kernel/state/permissions.ts'
import { parseToolRule } from '../../../kernel/state/tool-rules.ts'
import type { ToolRule } from '../../../kernel/state/tool-rules.ts'
import { NATIVE_TOOL_ACCESS } from '../../../kernel/model/words.ts'
import type { CallDecision } from '../../../kernel/model/words.ts'
import { lookUp } from '../../../kernel/util/lookup.ts'
import type { ToolCall } from '../context/context.ts'
import { resolveRealPath } from '../tools/path-guard.ts'
import { matchesPathPattern } from './path-pattern.ts'
import { matchesCommandPattern, mayMatchCommandPattern, parseShellLine } from './shell-line.ts'
import type { ShellLine } from './shell-line.ts'

/** What the patterns of rules are compared with. */
interface Subject {
  readonly name: string
  /** the command of a shell call; null for other calls */
  readonly line: ShellLine | null
  /** the paths that a call to write a file names: as written, and the real one. Null for other calls */
  readonly paths: { readonly written: string; readonly real: string; readonly cwd: string; readonly realCwd: string } | null
}

export class CallPolicy {
  /** the policy for calls without a rule, except for calls of the file tools that read */
  #default: CallDecision | 'plan'
  readonly #hasPermissions: boolean
  readonly #cwd: string
  readonly #rules: Readonly<Record<CallDecision, readonly ToolRule[]>>

  /** Without permissions, each call may run. */
  constructor(permissions: Permissions | undefined, cwd: string) {
    const policy = permissions?.default ?? 'allow'
    this.#default = policy === 'plan' ? policy : callDecisionOf(policy)
    this.#hasPermissions = permissions !== undefined
    this.#cwd = cwd
    const { allow = [], ask = [], deny = [] } = permissions ?? {}
    this.#rules = { allow: allow.map(parseToolRule), ask: ask.map(parseToolRule), deny: deny.map(parseToolRule) }
  }

  /** whether the agent may only read, because the user has not approved its plan yet */
  get isPlanning(): boolean {
    return this.#default === 'plan'
  }

  /** Ends the planning after the user's approval. */
  endPlanning(policy: CallDecision): void {
    this.#default = policy
  }

  /**
   * Decides about a call. `isRead`: whether the call changes nothing, so that it may run while the agent plans. By default, only a file
   * tool that reads has such calls.
   */
  async decide(call: ToolCall, isRead = isFileRead(call.name)): Promise<CallDecision> {
    if (!this.#hasPermissions) return 'allow'
    const subject = await this.#subjectOf(call)
    const { allow, ask, deny } = this.#rules
    if (deny.some((rule) => mayMatch(rule, subject))) return 'deny'
    if (this.#default === 'plan' && !isRead) return 'deny'
    if (ask.some((rule) => mayMatch(rule, subject))) return 'ask'
    if (isApproved(allow, subject)) return 'allow'
    return this.#default === 'plan' || isFileRead(call.name) ? 'allow' : this.#default
  }

  async #subjectOf({ name, input }: ToolCall): Promise<Subject> {
    const values: Readonly<Record<string, unknown>> = { ...(typeof input === 'object' ? input : {}) }
    const access = lookUp(NATIVE_TOOL_ACCESS, name)
    const line = access === 'shell' ? parseShellLine(String(values['command'] ?? '')) : null
    if (access !== 'write') return { name, line, paths: null }
    const written = path.resolve(this.#cwd, String(values['path'] ?? ''))
    const [real, realCwd] = await Promise.all([resolveRealPath(written), resolveRealPath(this.#cwd)])
    return { name, line, paths: { written, real, cwd: this.#cwd, realCwd } }
  }
}

function isFileRead(name: string): boolean {
  return lookUp(NATIVE_TOOL_ACCESS, name) === 'read'
}

function namesTool({ tool }: ToolRule, name: string): boolean {
  return isToolAllowed(name, { tools: [tool], deny: [] })
}

function isApproved(rules: readonly ToolRule[], subject: Subject): boolean {
  const own = rules.filter((rule) => namesTool(rule, subject.name))
  if (own.some(({ pattern }) => pattern === null)) return true
  const patterns = own.flatMap(({ pattern }) => pattern ?? [])
  const { line, paths } = subject
  if (line)
    return (
      !line.isOpaque &&
      line.commands.length > 0 &&
      line.commands.every((words) => patterns.some((each) => matchesCommandPattern(words, each)))
    )
  return paths !== null && patterns.some((each) => matchesPathPattern(each, paths.real, paths.realCwd))
}

/** Whether a rule applies, or could apply to a part that cannot be seen. */
function mayMatch(rule: ToolRule, subject: Subject): boolean {
  const { pattern } = rule
  if (!namesTool(rule, subject.name)) return false
  if (pattern === null) return true
  const { line, paths } = subject
  if (line) return line.commands.some((words) => mayMatchCommandPattern(words, pattern))
  if (paths === null) return false
  return matchesPathPattern(pattern, paths.real, paths.realCwd) || matchesPathPattern(pattern, paths.written, paths.cwd)
}
