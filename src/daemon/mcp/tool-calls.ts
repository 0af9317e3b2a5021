// Decides which of reeve's own tools a caller may use, and runs their calls. All callers use this code: native agents in the daemon, and
// external agents and users through the MCP server. Tests: test/e2e/mcp/server.test.ts, test/tables/daemon/mcp/own-tools.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { isToolAllowed } from '../../kernel/state/tool-lists.ts'
import { OWN_TOOLS } from './own-tools.ts'
import type { OwnTool, OwnToolResult } from '../../drivers/port.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ToolCaller } from './tokens.ts'
import type { ToolCallContext, ToolHost, OwnToolDefinition } from './tool.ts'
import type { Sender } from '../../kernel/model/ids.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import { errorText } from '../../kernel/util/error-text.ts'

const PREFIX = 'mcp__reeve__'
/** The largest result in characters: it becomes part of a model's context. */
const MAX_RESULT_CHARS = 100_000

/** A call of a tool, as the caller sends it. */
export interface OwnToolCall {
  readonly name: string
  readonly input: unknown
  readonly id: string
  readonly turn?: number
  readonly signal: AbortSignal
  readonly progress: (text: string) => void
}

/** The fields of a spec that decide which tools a process may use. */
type ToolPermissions = Pick<ProcessSpec, 'tools' | 'deny' | 'reeve' | 'member'>

/**
 * True if a process may use a tool. Crew members may use the tools of their role, whatever their lists contain. Other tools must be
 * allowed by the spec.
 */
function mayUse({ who, name }: Pick<OwnToolDefinition, 'who' | 'name'>, permissions: ToolPermissions): boolean {
  const role = permissions.member?.role
  if (who === 'coordinator') return role === 'coordinator'
  if (who === 'worker') return role !== undefined && role !== 'coordinator'
  return hasOwnTools(permissions) && isToolAllowed(`${PREFIX}${name}`, permissions)
}

/** True if the process has any of reeve's own tools. */
export function hasOwnTools({ reeve, member }: Pick<ProcessSpec, 'reeve' | 'member'>): boolean {
  return reeve === true || member !== undefined
}

/** Returns the tools that a caller may use; null stands for a user. */
export function toolsFor(permissions: ToolPermissions | null): readonly OwnToolDefinition[] {
  return OWN_TOOLS.filter((tool) => (permissions === null ? tool.who === 'any' : mayUse(tool, permissions)))
}

/** Returns the descriptions of tools for a model. */
export function describeTools(tools: readonly OwnToolDefinition[], prefix = ''): readonly OwnTool[] {
  return tools.map((tool) => ({
    name: `${prefix}${tool.name}`,
    effect: tool.effect,
    schema: tool.schema,
    description: `${tool.description} Example: ${JSON.stringify(tool.example)}`,
  }))
}

/** Returns the descriptions of a process's tools for a native agent, whose model knows them with a prefix. */
export function describeNativeTools(spec: ProcessSpec): readonly OwnTool[] {
  return describeTools(toolsFor(spec), PREFIX)
}

/** Runs a call of the owner of a token. Never rejects: an error is the result of the call. */
export async function callTool(host: ToolHost, owner: ToolCaller, call: OwnToolCall): Promise<OwnToolResult> {
  try {
    const caller = owner.uuid === null ? null : await host.reads.get(owner.uuid)
    if (caller && owner.uuid !== null && (caller.pid !== owner.pid || !isLiving(caller)))
      throw new KernelError('LATE', 'this incarnation has ended: its calls change nothing any more')
    return await callAs(host, { caller, userContext: owner.uuid === null ? owner.userContext : null }, call)
  } catch (error) {
    return errorResult(error, call.signal)
  }
}

/** Runs a call that a process made earlier; the process may have ended since. Never rejects: an error is the result of the call. */
export async function callToolForProcess(host: ToolHost, caller: Process, call: OwnToolCall): Promise<OwnToolResult> {
  return callAs(host, { caller, userContext: null }, call).catch((error: unknown) => errorResult(error, call.signal))
}

/** Runs a call. Errors: those of the tool. */
async function callAs(
  host: ToolHost,
  { caller, userContext }: Pick<ToolCallContext, 'caller' | 'userContext'>,
  { name, input, ...call }: OwnToolCall,
): Promise<OwnToolResult> {
  const by: Sender = caller === null ? 'user' : `agent:${caller.uuid}`
  const tool = findTool(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name, caller)
  const result = await tool.run(input, { host: { ...host, operations: host.operations.asSender(by) }, caller, by, userContext, ...call })
  const text = JSON.stringify(result)
  return { isError: false, text: text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)}… (cut)` : text }
}

/** Finds a tool by its name. Errors: NOT_FOUND, PERMISSION if the caller may not use it. */
function findTool(name: string, caller: Process | null): OwnToolDefinition {
  const known = OWN_TOOLS.find((tool) => tool.name === name)
  const available = toolsFor(caller?.spec ?? null)
  if (known && available.includes(known)) return known
  const names = available.map((tool) => tool.name).join(', ') || 'none'
  if (!known) throw new KernelError('NOT_FOUND', `there is no tool "${name}"`, undefined, `There are: ${names}.`)
  throw new KernelError(
    'PERMISSION',
    `the tool "${name}" is ${known.who === 'any' || known.who === 'process' ? 'denied to you' : `for ${known.who}s of a crew`}`,
    undefined,
    `You have: ${names}.`,
  )
}

function errorResult(error: unknown, signal: AbortSignal): OwnToolResult {
  if (error instanceof KernelError) return { isError: true, text: `${error.code}: ${error.message}. ${error.hint}` }
  if (signal.aborted) return { isError: true, text: 'the call was cancelled' }
  return { isError: true, text: `INTERNAL: ${errorText(error)}` }
}
