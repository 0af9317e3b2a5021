// Parses permissions: the keys of agent files, and the rules in `--allow` and `--deny`. A rule names a tool or its calls (`bash`,
// `bash(npm test:*)`), a path (`read:PATH`, `write:PATH`) or an agent (`spawn:AGENT`). The other rules are `network`, `spawn` and `signal`.
// The kernel defines the meaning of a permission. Paths stay as written: src/daemon/operations/permission-paths.ts resolves them.
// Test: test/tables/config/permissions.test.ts.
import * as z from 'zod'
import { isToolAllowed } from '../kernel/state/tool-lists.ts'
import { hasPattern, parseToolRule, toolRuleProblem } from '../kernel/state/tool-rules.ts'
import type { DriverName, PermissionPolicy } from '../kernel/model/words.ts'
import type { Capabilities, PathAccess, Permissions } from '../kernel/model/spec-parts.ts'
import type { ProcessSpec } from '../kernel/model/process-spec.ts'
import { withoutUndefined } from '../kernel/util/without-undefined.ts'
import { NATIVE_TOOLS, SIGNAL_SCOPES } from '../kernel/model/words.ts'

const MAX_PATHS = 100
const MAX_AGENTS = 200
const path = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\0]*$/, 'must not contain NUL')
const paths = z.union([path.transform((single) => [single]), z.array(path).max(MAX_PATHS)], 'expected a path, or a list of paths')
const agents = z.union(
  [z.literal('none').transform((): string[] => []), z.array(z.string().min(1).max(200)).max(MAX_AGENTS)],
  'expected a list of names of agents, or none',
)

/** The keys for permissions in an agent file. */
export const permissionKeys = {
  paths: z.strictObject({ read: paths.optional(), write: paths.optional() }).optional(),
  network: z
    .union([z.enum(['on', 'off']), z.boolean().transform((on) => (on ? ('on' as const) : ('off' as const)))], 'expected on or off')
    .optional(),
  signals: z.enum(SIGNAL_SCOPES).optional(),
  spawns: agents.optional(),
}

type PermissionValues = { readonly [K in keyof typeof permissionKeys]?: z.output<(typeof permissionKeys)[K]> }
type PermissionSet = Pick<ProcessSpec, 'tools' | 'deny' | 'capabilities'>

/** Converts the keys of an agent file. A value that is the default is left out. */
export function capabilitiesOf({ paths: access, network, signals, spawns }: PermissionValues): { readonly capabilities?: Capabilities } {
  return asCapabilities(
    withoutUndefined({
      paths: access && toPathAccess(access.read, access.write),
      network: network === 'off' ? 'off' : undefined,
      signals: signals === 'subtree' ? undefined : signals,
      spawns,
    }),
  )
}

interface ParsedRules {
  readonly tools: readonly string[]
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly spawns: readonly string[]
  readonly network: boolean
  readonly spawn: boolean
  readonly signal: boolean
}

/** Matches the rules that apply to every process, with any driver. */
const DRIVER_INDEPENDENT = /^(network|signal|spawn(:.*)?)$/

/** Returns the rules that only drivers with tools and paths support. */
export function driverDependentRules(rules: readonly string[]): readonly string[] {
  return rules.filter((rule) => !DRIVER_INDEPENDENT.test(rule))
}

/** Returns the tool names among the rules. */
export function toolNamesIn(rules: readonly string[]): readonly string[] {
  return driverDependentRules(rules).filter((rule) => !hasPattern(rule) && !/^(read|write):/.test(rule))
}

/** Returns the rules for single calls, such as `bash(npm test:*)`. */
export function callRulesIn(rules: readonly string[]): readonly string[] {
  return driverDependentRules(rules).filter(hasPattern)
}

/**
 * Returns the permissions with the requested policy and rules. Null if there were none, and no policy or rule for calls is requested. The
 * policy replaces only the default; rules are added. A tool that is allowed by its name needs no answer of the user. Without a default, all
 * other calls need one.
 */
export function withCallRules(
  permissions: Permissions | null,
  {
    policy,
    allow = [],
    deny = [],
  }: { readonly policy?: PermissionPolicy; readonly allow?: readonly string[]; readonly deny?: readonly string[] },
): Permissions | null {
  const [callRules, denied] = [callRulesIn(allow), callRulesIn(deny)]
  if (permissions === null && policy === undefined && callRules.length === 0 && denied.length === 0) return null
  const allowed = [...callRules, ...toolNamesIn(allow)]
  const merge = (before: readonly string[] = [], more: readonly string[]): readonly string[] | undefined =>
    before.length + more.length === 0 ? undefined : [...new Set([...before, ...more])]
  return {
    ...permissions,
    default: policy ?? permissions?.default ?? 'ask',
    ...withoutUndefined({ allow: merge(permissions?.allow, allowed), deny: merge(permissions?.deny, denied) }),
  }
}

/** Returns the message about an invalid rule; null if all rules are valid. */
export function invalidRuleMessage({
  allow = [],
  deny = [],
}: {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}): string | null {
  const callProblem = callRulesIn([...allow, ...deny])
    .map(toolRuleProblem)
    .find((problem) => problem !== null)
  if (callProblem !== undefined) return callProblem
  const empty = [...allow, ...deny].find((rule) => /^(read|write|spawn):$/.test(rule))
  if (empty !== undefined) return `\`${empty}\` names nothing`
  const denied = deny.find((rule) => /^(read|write|spawn):/.test(rule))
  if (denied === undefined) return null
  return denied.startsWith('spawn:')
    ? `\`${denied}\` cannot be denied alone: deny \`spawn\`, or allow the agents that it may start`
    : `\`${denied}\` cannot be denied alone: allow the paths that it may ${denied.startsWith('read') ? 'read' : 'write'}`
}

/**
 * Returns the permissions of a new process. The kinds of permission are: tools, paths to read, paths to write, network, signals, and agents
 * to start. `allow` replaces the permissions of the agent, but only of the kinds that it names. An empty `allow` leaves no tools. `deny`
 * wins over `allow`. It adds to the denied tools, and takes away the network, the signals, or the start of agents.
 */
export function applySpawnRules(
  agent: PermissionSet,
  { allow, deny = [] }: { readonly allow?: readonly string[]; readonly deny?: readonly string[] },
): PermissionSet {
  const [allowed, denied] = [parseRules(allow ?? []), parseRules(deny)]
  const current = agent.capabilities ?? {}
  const capabilities = withoutUndefined({
    paths: toPathAccess(
      allowed.read.length > 0 ? allowed.read : current.paths?.read,
      allowed.write.length > 0 ? allowed.write : current.paths?.write,
    ),
    network: denied.network ? 'off' : allowed.network ? undefined : current.network,
    signals: denied.signal ? 'none' : allowed.signal ? undefined : current.signals,
    spawns: denied.spawn ? [] : allowed.spawns.length > 0 ? allowed.spawns : allowed.spawn ? undefined : current.spawns,
  })
  const isListed = allowed.tools.length > 0 || allow?.length === 0
  return {
    tools: isListed ? withRuleTools(allowed.tools, allow) : agent.tools,
    deny: [...agent.deny, ...denied.tools],
    ...asCapabilities(capabilities),
  }
}

/** Returns the permissions after a resume: `allow` only adds to the current permissions, and `deny` is applied last. */
export function applyResumeRules(
  before: PermissionSet & Pick<ProcessSpec, 'driver'>,
  { allow = [], deny = [] }: { readonly allow?: readonly string[]; readonly deny?: readonly string[] },
): PermissionSet {
  const [allowed, denied] = [parseRules(allow), parseRules(deny)]
  const current = before.capabilities ?? {}
  const extended = (list: readonly string[] | undefined, more: readonly string[]): readonly string[] | undefined =>
    list && [...new Set([...list, ...more])]
  const capabilities = withoutUndefined({
    paths: toPathAccess(extended(current.paths?.read, allowed.read), extended(current.paths?.write, allowed.write)),
    network: denied.network ? 'off' : allowed.network ? undefined : current.network,
    signals: denied.signal ? 'none' : allowed.signal ? undefined : current.signals,
    spawns: denied.spawn ? [] : allowed.spawn ? undefined : extended(current.spawns, allowed.spawns),
  })
  const stillDenied = before.deny.filter((entry) => !allowed.tools.some((tool) => isToolAllowed(tool, { tools: [entry], deny: [] })))
  // A process with restricted paths and without a list of tools has only file tools. To add a tool, it needs a list.
  const listed = before.tools ?? (current.paths && allowed.tools.length > 0 ? DEFAULT_TOOLS[before.driver] : null)
  return {
    tools: listed && withRuleTools([...listed, ...allowed.tools], allow),
    deny: [...stillDenied, ...denied.tools],
    ...asCapabilities(capabilities),
  }
}

/** Adds the tools of rules for single calls to a list of tools, because such a rule allows its tool. */
function withRuleTools(tools: readonly string[], rules: readonly string[] = []): readonly string[] {
  return [...new Set([...tools, ...callRulesIn(rules).map((rule) => parseToolRule(rule).tool)])]
}

/** The default tools of each driver. */
const DEFAULT_TOOLS: Readonly<Record<DriverName, readonly string[]>> = {
  native: [...NATIVE_TOOLS, 'mcp__*'],
  acp: ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other', 'mcp__*'],
  command: [],
  supervisor: [],
  crew: [],
  compose: [],
}

function parseRules(rules: readonly string[]): ParsedRules {
  const after = (prefix: string): readonly string[] =>
    rules.filter((rule) => rule.startsWith(prefix)).map((rule) => rule.slice(prefix.length))
  return {
    tools: toolNamesIn(rules),
    read: after('read:'),
    write: after('write:'),
    spawns: after('spawn:'),
    network: rules.includes('network'),
    spawn: rules.includes('spawn'),
    signal: rules.includes('signal'),
  }
}

function toPathAccess(read: readonly string[] | undefined, write: readonly string[] | undefined): PathAccess | undefined {
  return read || write ? { ...(read && { read }), ...(write && { write }) } : undefined
}

function asCapabilities(capabilities: Capabilities): { readonly capabilities?: Capabilities } {
  return Object.keys(capabilities).length === 0 ? {} : { capabilities }
}
