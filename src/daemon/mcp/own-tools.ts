// reeve's own tools as one caller has them: which of them it may use, and a call from its name to a text. One way for all: agents
// of ours in the daemon, agents of others over HTTP, people over stdio. Owns the words of what goes wrong.
// Tests: test/e2e/mcp-server.test.ts, test/tables/mcp-own-tools.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import { isLiving } from '../../kernel/status.ts'
import { isAllowed } from '../../kernel/tool-names.ts'
import { OWN_TOOLS } from './tools.ts'
import type { OwnTool, OwnToolEnd } from '../../drivers/port.ts'
import type { Process, ProcessSpec, Sender } from '../../kernel/types.ts'
import type { Seat } from './seats.ts'
import type { Called, Host, OwnDefinition } from './tool.ts'

const PREFIX = 'mcp__reeve__'
/** A result is read by a model. */
const MAX_RESULT_CHARS = 100_000

export interface OwnCall {
  readonly name: string
  readonly input: unknown
  readonly id: string
  readonly turn?: number
  readonly signal: AbortSignal
  readonly progress: (text: string) => void
}

type Rights = Pick<ProcessSpec, 'tools' | 'deny' | 'reeve' | 'member'>

/** Who is in a crew has what its role needs, whatever its lists say; the others what they were given by name or by `reeve: true`. */
function mayUse({ who, name }: Pick<OwnDefinition, 'who' | 'name'>, rights: Rights): boolean {
  const role = rights.member?.role
  if (who === 'coordinator') return role === 'coordinator'
  if (who === 'worker') return role !== undefined && role !== 'coordinator'
  return hasOwnTools(rights) && isAllowed(`${PREFIX}${name}`, rights)
}

export function hasOwnTools({ reeve, member }: Pick<ProcessSpec, 'reeve' | 'member'>): boolean {
  return reeve === true || member !== undefined
}

export function toolsFor(rights: Rights | null): readonly OwnDefinition[] {
  return OWN_TOOLS.filter((tool) => (rights === null ? tool.who === 'any' : mayUse(tool, rights)))
}

/** As a model is told of them. */
export function offered(tools: readonly OwnDefinition[], prefix = ''): readonly OwnTool[] {
  return tools.map((tool) => ({ name: `${prefix}${tool.name}`, effect: tool.effect, schema: tool.schema, description: `${tool.description} Example: ${JSON.stringify(tool.example)}` }))
}

/** With the names that a native agent's model knows. */
export function offeredToNative(spec: ProcessSpec): readonly OwnTool[] {
  return offered(toolsFor(spec), PREFIX)
}

/** Never rejects. */
export async function callTool(host: Host, seat: Seat, call: OwnCall): Promise<OwnToolEnd> {
  try {
    const caller = seat.uuid === null ? null : await host.reads.get(seat.uuid)
    if (caller && seat.uuid !== null && (caller.pid !== seat.pid || !isLiving(caller))) throw new KernelError('LATE', 'this incarnation has ended: its calls change nothing any more')
    return await callAs(host, { caller, place: seat.uuid === null ? seat.place : null }, call)
  } catch (error) {
    return failed(error, call.signal)
  }
}

/** Of a process that may have ended since. Never rejects. */
export async function callFor(host: Host, caller: Process, call: OwnCall): Promise<OwnToolEnd> {
  return callAs(host, { caller, place: null }, call).catch((error: unknown) => failed(error, call.signal))
}

/** Errors: those of the tool. */
async function callAs(host: Host, { caller, place }: Pick<Called, 'caller' | 'place'>, { name, input, ...call }: OwnCall): Promise<OwnToolEnd> {
  const by: Sender = caller === null ? 'user' : `agent:${caller.uuid}`
  const tool = toolNamed(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name, caller)
  const given = await tool.run(input, { host: { ...host, operations: host.operations.as(by) }, caller, by, place, ...call })
  const text = JSON.stringify(given)
  return { isError: false, text: text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)}… (cut)` : text }
}

function toolNamed(name: string, caller: Process | null): OwnDefinition {
  const known = OWN_TOOLS.find((tool) => tool.name === name)
  const mine = toolsFor(caller?.spec ?? null)
  if (known && mine.includes(known)) return known
  const names = mine.map((tool) => tool.name).join(', ') || 'none'
  if (!known) throw new KernelError('NOT_FOUND', `there is no tool "${name}"`, undefined, `There are: ${names}.`)
  throw new KernelError('PERMISSION', `the tool "${name}" is ${known.who === 'any' || known.who === 'process' ? 'denied to you' : `of ${known.who}s of a crew`}`, undefined, `You have: ${names}.`)
}

function failed(error: unknown, signal: AbortSignal): OwnToolEnd {
  if (error instanceof KernelError) return { isError: true, text: `${error.code}: ${error.message}. ${error.hint}` }
  if (signal.aborted) return { isError: true, text: 'the call was cancelled' }
  return { isError: true, text: `INTERNAL: ${error instanceof Error ? error.message : String(error)}` }
}
