// What a process may do: how its own rules and its parent's become one, and how far each driver can be held to them.
// Owns that a child never has more than its parent: every spec that is spawned, resumed or forked comes through `fitted`.
// Must never look at files: paths are real and absolute before they come here (src/daemon/places.ts).
// Tests: test/tables/permits.test.ts, test/properties/permits.test.ts.
import { isExternal, isPlainCommand } from './capabilities.ts'
import { commonTools, isAllowed, mayUseServer, namesServer, serverPrefix, withoutCovered } from './tool-names.ts'
import type { McpServer } from './spec.ts'
import type { ProcessSpec } from './types.ts'

/** Directories by their real paths, each with all below it; absent: wherever the user may. Where reading has a list, writing has one within it. */
export interface Places {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}

/** What a process may do beside its tools; what is absent is not limited. */
export interface Capabilities {
  readonly paths?: Places
  /** its programs see no network */
  readonly network?: 'off'
  /** which processes it may signal beside itself; absent: all below it */
  readonly signals?: 'none' | 'children'
  /** the agents that it may start, by their names; absent: all */
  readonly spawns?: readonly string[]
}

type Lists = Pick<ProcessSpec, 'tools' | 'deny'>

/** `yes`: whatever it tries; `asked`: where its agent asks before it acts; `part`: not for all that it has; `no` */
export type Held = 'yes' | 'asked' | 'part' | 'no'

export interface Enforcement {
  readonly tools: Held
  readonly paths: Held
  readonly network: Held
  /** what is limited and does not hold, in words for people */
  readonly notes: readonly string[]
}

export interface Fitted {
  readonly spec: ProcessSpec
  /** what was asked for by name and is not given, in words */
  readonly cut: readonly string[]
}

/** The spec with no more than its parent has; null: it has none, or that has ended. The same object where nothing changes. */
export function fitted(spec: ProcessSpec, parent: ProcessSpec | null): Fitted {
  const own = settled(spec)
  const after = parent === null ? own : settled(within(own, parent))
  const wanted = parts(after) === parts(spec) ? spec : after
  return { spec: wanted, cut: cutFrom(spec, wanted) }
}

/** Why a child could do more than its parent, whatever its rules say; null: it cannot. */
export function beyond(child: ProcessSpec, parent: ProcessSpec): string | null {
  const isLimited = parent.tools !== null || parent.deny.length > 0 || parent.capabilities?.paths !== undefined
  if (!isLimited || freedom(child) <= freedom(parent)) return null
  const who = isPlainCommand(child) ? 'a command' : `agent ${child.agent}`
  return `${who} cannot be held to what its parent may: ${freedom(child) === 2 ? 'it runs programs' : 'it has tools of its own, and does not ask for each'}`
}

/** Is a real path one of these directories, or below one? */
export function isBelow(roots: readonly string[], path: string): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`))
}

export function enforcementOf(spec: ProcessSpec): Enforcement {
  const { driver, capabilities = {} } = spec
  const others = loose(spec)
  const paths = driver === 'acp' ? 'asked' : driver === 'command' ? 'no' : others.length > 0 ? 'part' : 'yes'
  const tools = driver === 'acp' ? 'asked' : driver === 'command' ? 'no' : 'yes'
  const isListed = spec.tools !== null || spec.deny.length > 0
  return {
    tools, paths, network: 'yes',
    notes: [
      ...(isListed && tools === 'asked' ? ['tools: as far as its agent asks'] : []),
      ...(isListed && tools === 'no' ? ['tools: not enforced for a command'] : []),
      ...(capabilities.paths && paths === 'asked' ? ['paths: as far as its agent asks, or works through reeve'] : []),
      ...(capabilities.paths && paths === 'no' ? ['paths: not enforced for a command'] : []),
      ...(capabilities.network && isExternal(spec) ? ['network: off for its model calls, too, unless they need none'] : []),
      ...(capabilities.paths && paths !== 'no' && others.length > 0 ? [`paths: not enforced for ${others.join(', ')}`] : []),
    ],
  }
}

/**
 * Where paths are limited, what could not be held to them is not there by itself: a shell, and MCP servers that are programs.
 * Who names them has them. Without a network there are no servers to be reached.
 */
function settled(spec: ProcessSpec): ProcessSpec {
  const { capabilities } = spec
  if (capabilities === undefined) return spec
  const paths = capabilities.paths && wholePlaces(capabilities.paths)
  const deny = paths && spec.tools === null && isAllowed('bash', spec) && spec.driver !== 'command' ? [...spec.deny, 'bash'] : spec.deny
  const isUsable = (server: McpServer): boolean => (server.kind === 'http' ? capabilities.network !== 'off' : paths === undefined || isNamed(server, spec))
  return withMcp({ ...spec, deny, ...given({ ...capabilities, paths }) }, isUsable)
}

function within(spec: ProcessSpec, parent: ProcessSpec): ProcessSpec {
  const above = parent.capabilities ?? {}
  const own = spec.capabilities ?? {}
  const programs = new Set((parent.mcp ?? []).filter(({ kind }) => kind === 'stdio').map(({ name }) => name))
  const both: Loose = {
    paths: commonPlaces(own.paths, above.paths && withWorktree(above.paths, spec)),
    network: own.network ?? above.network,
    signals: [own.signals, above.signals].includes('none') ? 'none' : (own.signals ?? above.signals),
    spawns: own.spawns && above.spawns ? own.spawns.filter((name) => above.spawns?.includes(name)) : (own.spawns ?? above.spawns),
  }
  const rest = { ...spec, tools: commonTools(spec.tools, parent.tools), deny: withoutCovered([...spec.deny, ...parent.deny]), ...given(both) }
  return withMcp(rest, ({ kind, name }) => kind === 'http' || above.paths === undefined || programs.has(name))
}

type Loose = { readonly [K in keyof Capabilities]: Capabilities[K] | undefined }

/** Without what is not limited: it is not there at all. */
function given(loose: Loose): { readonly capabilities?: Capabilities } {
  const capabilities: Capabilities = Object.fromEntries(Object.entries(loose).filter(([, value]) => value !== undefined))
  return Object.keys(capabilities).length === 0 ? {} : { capabilities }
}

function withMcp({ mcp, ...spec }: ProcessSpec, isUsable: (server: McpServer) => boolean): ProcessSpec {
  const left = (mcp ?? []).filter(isUsable)
  return left.length === 0 ? spec : { ...spec, mcp: left }
}

function isNamed({ name, named }: McpServer, { tools }: Lists): boolean {
  return named === true || (tools !== null && namesServer(serverPrefix(name), tools))
}

/** Who may write a file may read it, and what may not be read is not written. */
function wholePlaces({ read, write }: Places): Places | undefined {
  if (read === undefined) return write && { write: topmost(write) }
  return { read: topmost([...read, ...(write ?? [])]), write: topmost(write ?? read) }
}

/** A worktree of its own is a copy of what its parent may read and write. */
function withWorktree({ read, write }: Places, { worktree }: ProcessSpec): Places {
  if (!worktree || !isBelow(read ?? ['/'], worktree.repository) || !isBelow(write ?? ['/'], worktree.repository)) return { ...(read && { read }), ...(write && { write }) }
  return { ...(read && { read: [...read, worktree.dir] }), ...(write && { write: [...write, worktree.dir] }) }
}

function commonPlaces(some: Places | undefined, others: Places | undefined): Places | undefined {
  if (!some || !others) return some ?? others
  const read = commonRoots(some.read, others.read)
  const write = commonRoots(some.write, others.write)
  return { ...(read && { read }), ...(write && { write }) }
}

function commonRoots(some: readonly string[] | undefined, others: readonly string[] | undefined): readonly string[] | undefined {
  if (!some || !others) return some ?? others
  return topmost(some.flatMap((one) => others.flatMap((other) => (isBelow([other], one) ? one : isBelow([one], other) ? other : []))))
}

/** Without those that lie below another one. */
function topmost(roots: readonly string[]): readonly string[] {
  const all = [...new Set(roots)]
  return all.filter((root) => !all.some((other) => other !== root && isBelow([other], root)))
}

/** 0: what its lists say; 1: also what an agent of others does without asking; 2: whatever a program can do. */
function freedom(spec: ProcessSpec): 0 | 1 | 2 {
  if (spec.driver === 'command' || maySpawnShell(spec)) return 2
  return spec.driver === 'acp' ? 1 : 0
}

/** What of it knows no limits but those of the operating system. */
function loose(spec: ProcessSpec): readonly string[] {
  const programs = spec.capabilities?.paths ? (spec.mcp ?? []).filter(({ kind, name }) => kind === 'stdio' && mayUseServer(serverPrefix(name), spec)).map(({ name }) => `the MCP server ${name}`) : []
  return [...(maySpawnShell(spec) ? ['bash'] : []), ...programs]
}

function maySpawnShell({ driver, tools, deny }: ProcessSpec): boolean {
  if (driver === 'command') return false
  const names = driver === 'acp' ? ['bash', 'execute'] : ['bash']
  return names.some((name) => isAllowed(name, { tools, deny: [] })) && names.every((name) => isAllowed(name, { tools: null, deny }))
}

/** What `fitted` may change, to be compared. */
function parts({ tools, deny, capabilities = {}, mcp = [] }: ProcessSpec): string {
  const { paths, network, signals, spawns } = capabilities
  return JSON.stringify([tools, deny, paths ?? null, network ?? null, signals ?? null, spawns ?? null, mcp.map(({ name }) => name)])
}

function cutFrom(before: ProcessSpec, after: ProcessSpec): readonly string[] {
  if (before === after) return []
  const [own, left] = [before.capabilities ?? {}, after.capabilities ?? {}]
  const tools = (before.tools ?? []).filter((name) => !(after.tools ?? []).includes(name))
  const roots = (kind: 'read' | 'write'): readonly string[] => (own.paths?.[kind] ?? []).filter((root) => !isBelow(left.paths?.[kind] ?? [root], root)).map((root) => `${kind}:${root}`)
  const spawns = (own.spawns ?? []).filter((name) => left.spawns?.includes(name) === false).map((name) => `spawn:${name}`)
  const servers = (before.mcp ?? []).filter(({ name }) => !after.mcp?.some((other) => other.name === name)).map(({ name }) => `the MCP server ${name}`)
  return [...tools, ...roots('read'), ...roots('write'), ...spawns, ...servers]
}
