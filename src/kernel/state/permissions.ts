// The permissions of a process: how its own rules combine with its parent's, and how far each driver can enforce them.
// Guarantees that a child never has more permissions than its parent: every spawned, resumed or forked specification passes
// `fitToParent`. Must never read files: permission-paths.ts in src/daemon/operations has made all paths real and absolute.
// Tests: test/tables/kernel/state/permissions.test.ts, test/properties/permissions.test.ts.
import { CAPABILITIES, isExternal, isPlainCommand, NATIVE_SHELL_TOOLS } from '../model/capabilities.ts'
import { intersectToolLists, isToolAllowed, mayUseServer, namesServer, serverPrefix, withoutCoveredEntries } from './tool-lists.ts'
import type { McpServer, PathAccess, Capabilities, Permissions, Skill } from '../model/spec-parts.ts'
import type { ProcessSpec } from '../model/process-spec.ts'
import type { CallDecision, PermissionPolicy } from '../model/words.ts'
import { withoutUndefined } from '../util/without-undefined.ts'

type ToolLists = Pick<ProcessSpec, 'tools' | 'deny'>

/** How far a rule is enforced. `yes`: always; `asked`: only when the agent asks first; `part`: only for some tools; `no`: never. */
export const ENFORCEMENT_LEVELS = ['yes', 'asked', 'part', 'no'] as const
export type EnforcementLevel = (typeof ENFORCEMENT_LEVELS)[number]

export interface Enforcement {
  readonly tools: EnforcementLevel
  readonly paths: EnforcementLevel
  readonly network: EnforcementLevel
  /** remarks about rules that are not fully enforced */
  readonly notes: readonly string[]
}

export interface FittedSpec {
  readonly spec: ProcessSpec
  /** names of the requested permissions that were not granted */
  readonly removed: readonly string[]
}

/** Restricts a specification to the permissions of `parent`; null: no living parent. Returns the same object if nothing changes. */
export function fitToParent(spec: ProcessSpec, parent: ProcessSpec | null): FittedSpec {
  const own = withImpliedRules(spec)
  const after = parent === null ? own : withImpliedRules(intersectWithParent(own, parent))
  const fitted = rulesKey(after) === rulesKey(spec) ? spec : after
  return { spec: fitted, removed: removedRules(spec, fitted) }
}

/** The reason why no rule can limit a child to the permissions of its parent; null: rules can. */
export function confinementObstacle(child: ProcessSpec, parent: ProcessSpec): string | null {
  const above = limitingPermissions(parent)
  const isLimited = parent.tools !== null || parent.deny.length > 0 || parent.capabilities?.paths !== undefined || above !== null
  // A child must not do without a question what its parent may do only after one. An external agent can inherit a default of `ask`, but not
  // rules for single calls.
  const hasRules = [...(above?.ask ?? []), ...(above?.deny ?? [])].length > 0
  const parentFreedom = above === null ? freedomOf(parent) : hasRules || above.default === 'plan' ? 0 : 1
  const childFreedom = above !== null && child.driver === 'native' ? 0 : above !== null && child.driver === 'acp' ? 1 : freedomOf(child)
  if (!isLimited || childFreedom <= parentFreedom) return null
  const who = isPlainCommand(child) ? 'a command' : `agent ${child.agent}`
  return `${who} cannot be limited to the permissions of its parent: ${freedomOf(child) === 2 ? 'it runs programs' : 'it may use its tools without asking'}`
}

/** True when the agent can run any program. Then hooks and filters of git in its repository may run, too. */
export function mayRunPrograms(spec: ProcessSpec): boolean {
  return freedomOf(spec) === 2
}

/** The names of the limited capabilities that a program of the process could bypass through the daemon's socket. */
export function deniedToPrograms({
  capabilities: { network, signals, spawns } = {},
}: Pick<ProcessSpec, 'capabilities'>): readonly string[] {
  return [...(signals ? ['signals'] : []), ...(spawns ? ['spawns'] : []), ...(network ? ['network'] : [])]
}

/** True when the process has programs: the agent itself, a shell, or MCP servers. */
export function startsPrograms(spec: ProcessSpec): boolean {
  return freedomOf(spec) > 0 || (spec.mcp ?? []).some(({ kind }) => kind === 'stdio')
}

/** True when the process has a capability, a tool list, or a budget of money or tokens that its programs must not bypass. */
export function isLimited(spec: ProcessSpec): boolean {
  const { tools, deny, capabilities, limits } = spec
  return (
    tools !== null ||
    deny.length > 0 ||
    capabilities !== undefined ||
    limitingPermissions(spec) !== null ||
    limits.budgetUsd !== undefined ||
    limits.budgetTokens !== undefined
  )
}

/** The recorded permissions, if they deny anything or ask about it. */
function limitingPermissions(spec: ProcessSpec): Permissions | null {
  const { permissions } = spec
  if (permissions === undefined) return null
  const { default: fallback, ask = [], deny = [] } = permissions
  return (fallback === 'allow' || fallback === 'agent') && ask.length + deny.length === 0 ? null : permissions
}

/** Whether neither of two external agents has explicit permissions. Then both ask as far as they can, and reeve demands no more. */
function asksLikeParent(spec: ProcessSpec, parent: ProcessSpec): boolean {
  return spec.driver === 'acp' && spec.permissions === undefined && parent.driver === 'acp' && parent.permissions === undefined
}

/** The permissions that a child must keep. Children of an external agent ask at least for what the agent itself may ask about. */
function permissionsAbove(parent: ProcessSpec): Permissions | null {
  const { driver, permissions } = parent
  if (driver !== 'acp') return limitingPermissions(parent)
  const { default: fallback = 'ask', tools = {} } = permissions ?? {}
  // A native agent has other names for tools, so the strictest policy counts.
  const decisions = [fallback, ...Object.values(tools)].map(callDecisionOf)
  const strictest = decisions.reduce((one, other) => (STRICTNESS[other] > STRICTNESS[one] ? other : one))
  return strictest === 'allow' ? null : { default: strictest }
}

/** True when a real path is one of these directories, or below one. */
export function isBelow(roots: readonly string[], path: string): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`))
}

/** Names that git, or a file system that folds names, treats as `.git`. */
const GIT_NAME = /^(\.git|git~1)[ .]*$/i
/** Characters that some file systems ignore in names. */
const IGNORED_CHARACTERS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * True when a real path may be written. Git's own files are writable only if a root lies within them, because git runs programs that
 * these files name.
 */
export function isWritable(roots: readonly string[], path: string): boolean {
  return roots.some(
    (root) =>
      isBelow([root], path) &&
      !path
        .slice(root.length)
        .split('/')
        .some((name) => GIT_NAME.test(name.replace(IGNORED_CHARACTERS, ''))),
  )
}

/** How far the driver can enforce the rules of a specification. */
export function enforcementOf(spec: ProcessSpec): Enforcement {
  const { capabilities = {} } = spec
  const { enforcement: tools } = CAPABILITIES[spec.driver]
  const others = unconfinedTools(spec)
  const paths = tools === 'yes' && others.length > 0 ? 'part' : tools
  const isListed = spec.tools !== null || spec.deny.length > 0
  return {
    tools,
    paths,
    network: 'yes',
    notes: [
      ...(isListed && tools === 'asked' ? ['tools: enforced only when its agent asks first'] : []),
      ...(isListed && tools === 'no' ? ['tools: not enforced for a command'] : []),
      ...(capabilities.paths && paths === 'asked' ? ['paths: enforced only when its agent asks first, or works through reeve'] : []),
      ...(capabilities.paths && paths === 'no' ? ['paths: not enforced for a command'] : []),
      ...(capabilities.network && isExternal(spec) ? ['network: also off for its model calls, unless they need no network'] : []),
      ...socketNotes(spec),
      ...(capabilities.paths && paths !== 'no' && others.length > 0 ? [`paths: not enforced for ${others.join(', ')}`] : []),
    ],
  }
}

/** Remarks for programs that get a restricted socket, because with the daemon's own socket they could act as the user. */
function socketNotes(spec: ProcessSpec): readonly string[] {
  const limited = deniedToPrograms(spec)
  if (limited.length === 0 || !startsPrograms(spec)) return []
  return [`${limited.join(', ')}: enforced while its programs cannot see the daemon's socket; as root they can undo this`]
}

/**
 * Adds the rules that follow from capabilities. Limited paths disable the tools that cannot be confined: those that start a
 * shell, and MCP servers that are programs. A list that names such a tool enables it. Without a network, MCP servers over HTTP are
 * disabled.
 */
function withImpliedRules(spec: ProcessSpec): ProcessSpec {
  const { capabilities } = spec
  if (capabilities === undefined) return spec
  const paths = capabilities.paths && normalizePaths(capabilities.paths)
  const isEnforced = CAPABILITIES[spec.driver].enforcement !== 'no'
  const isShellDenied = paths !== undefined && spec.tools === null && isEnforced
  const deny = isShellDenied ? [...spec.deny, ...NATIVE_SHELL_TOOLS.filter((tool) => isToolAllowed(tool, spec))] : spec.deny
  const isUsable = (server: McpServer): boolean =>
    server.kind === 'http' ? capabilities.network !== 'off' : paths === undefined || isNamed(server, spec)
  return withMcp(withReadableTexts({ ...spec, deny, ...withoutUnlimited({ ...capabilities, paths }) }), isUsable)
}

/** Drops the instructions and skills that the process may not read. */
function withReadableTexts(spec: ProcessSpec): ProcessSpec {
  const { read } = spec.capabilities?.paths ?? {}
  if (spec.driver !== 'native' || read === undefined) return spec
  const { instructions, skills, ...rest } = spec
  const files = (instructions?.files ?? []).filter(({ path }) => isBelow(read, path))
  const readable = (skills ?? []).filter((skill) => skillPaths(skill, spec).some((path) => isBelow(read, path)))
  return {
    ...rest,
    ...(files.length === 0 ? {} : { instructions: { files } }),
    ...(readable.length === 0 ? {} : { skills: readable }),
  }
}

/** The paths where a process looks for the file of a skill. A worktree has a copy of each skill that is committed. */
export function skillPaths({ path, file }: Skill, { worktree }: Pick<ProcessSpec, 'worktree'>): readonly string[] {
  return file !== undefined && worktree !== undefined ? [`${worktree.dir}/${file}`, path] : [path]
}

function intersectWithParent(spec: ProcessSpec, parent: ProcessSpec): ProcessSpec {
  const above = parent.capabilities ?? {}
  const own = spec.capabilities ?? {}
  const programs = new Set((parent.mcp ?? []).filter(({ kind }) => kind === 'stdio').map(({ name }) => name))
  const both: LooseCapabilities = {
    paths: intersectPaths(own.paths, above.paths && addWorktree(above.paths, spec)),
    network: own.network ?? above.network,
    signals: [own.signals, above.signals].includes('none') ? 'none' : (own.signals ?? above.signals),
    spawns: own.spawns && above.spawns ? own.spawns.filter((name) => above.spawns?.includes(name)) : (own.spawns ?? above.spawns),
  }
  const rest = {
    ...spec,
    tools: intersectToolLists(spec.tools, parent.tools),
    deny: withoutCoveredEntries([...spec.deny, ...parent.deny]),
    ...withoutUnlimited(both),
  }
  const restricted = asksLikeParent(spec, parent) ? rest : restrictPermissions(rest, permissionsAbove(parent))
  return withMcp(restricted, ({ kind, name }) => kind === 'http' || above.paths === undefined || programs.has(name))
}

/** Restricts the permissions of a child: each of its calls needs the approval that the parent would need. */
function restrictPermissions(spec: ProcessSpec, above: Permissions | null): ProcessSpec {
  if (above === null) return spec
  const stricter = (policy: PermissionPolicy): PermissionPolicy => (STRICTNESS[policy] < STRICTNESS[above.default] ? above.default : policy)
  if (spec.driver === 'acp') {
    const { default: fallback, tools } = spec.permissions ?? { default: 'ask' }
    const stricterTools =
      tools && Object.fromEntries(Object.entries(tools).map(([name, policy]) => [name, callDecisionOf(stricter(policy))]))
    const policy = stricter(fallback)
    return {
      ...spec,
      permissions: { default: policy === 'agent' ? policy : callDecisionOf(policy), ...(stricterTools && { tools: stricterTools }) },
    }
  }
  if (spec.driver !== 'native') return spec
  const own = spec.permissions ?? { default: 'allow' }
  const union = (mine: readonly string[] = [], others: readonly string[] = []): readonly string[] | undefined =>
    mine.length + others.length === 0 ? undefined : [...new Set([...mine, ...others])]
  // A rule that allows must hold for child and parent. Where one of the two allows by default, the rules of the other count.
  const allow = union(
    own.allow?.filter((rule) => above.default === 'allow' || above.allow?.includes(rule)),
    above.allow?.filter((rule) => own.default === 'allow' || own.allow?.includes(rule)),
  )
  // A rule that asks must not loosen what the other process denies by default.
  const [ownAsk, aboveAsk] = [splitQuestions(own.ask, above), splitQuestions(above.ask, own)]
  const deny = union([...(own.deny ?? []), ...ownAsk.denied], [...(above.deny ?? []), ...aboveAsk.denied])
  const ask = union(ownAsk.asked, aboveAsk.asked)
  const policy = stricter(own.default)
  // Where one of the two denies by default and the other plans, no rule may allow a call, and no approval may follow.
  if (policy === 'deny' && [own.default, above.default].includes('plan'))
    return { ...spec, permissions: { default: policy, ...withoutUndefined({ deny: union(deny, ask) }) } }
  return { ...spec, permissions: { default: policy, ...withoutUndefined({ allow, ask, deny }) } }
}

/** Splits rules that ask into those that may still ask, and those that another set of permissions denies. */
function splitQuestions(
  rules: readonly string[] = [],
  other: Permissions,
): { readonly asked: readonly string[]; readonly denied: readonly string[] } {
  const mayAsk = (rule: string): boolean => other.default !== 'deny' || other.ask?.includes(rule) === true
  return { asked: rules.filter(mayAsk), denied: rules.filter((rule) => !mayAsk(rule)) }
}

/** What a policy means for a call without a rule. `confinementObstacle` refuses to start an external agent below a planning process. */
export function callDecisionOf(policy: PermissionPolicy): CallDecision {
  if (policy === 'agent') return 'ask'
  return policy === 'plan' ? 'deny' : policy
}

/** A policy with a higher number lets fewer calls run. */
const STRICTNESS: Readonly<Record<PermissionPolicy, number>> = { allow: 0, agent: 0, ask: 1, plan: 2, deny: 3 }

type LooseCapabilities = { readonly [K in keyof Capabilities]: Capabilities[K] | undefined }

/** Drops undefined capabilities: an absent capability means no limit. */
function withoutUnlimited(loose: LooseCapabilities): { readonly capabilities?: Capabilities } {
  const capabilities: Capabilities = withoutUndefined(loose)
  return Object.keys(capabilities).length === 0 ? {} : { capabilities }
}

/** Keeps only the usable MCP servers. */
function withMcp(spec: ProcessSpec, isUsable: (server: McpServer) => boolean): ProcessSpec {
  if (!spec.mcp) return spec
  const { mcp, ...rest } = spec
  const left = mcp.filter(isUsable)
  return left.length === 0 ? rest : { ...rest, mcp: left }
}

/** True when the user or the list of allowed tools names the server. */
function isNamed({ name, named }: McpServer, { tools }: ToolLists): boolean {
  return named === true || (tools !== null && namesServer(serverPrefix(name), tools))
}

/** Makes every writable path readable. Without a list of writable paths, the readable paths are also writable. */
function normalizePaths({ read, write }: PathAccess): PathAccess | undefined {
  if (read === undefined) return write && { write: withoutCoveredRoots(write, isWritable) }
  return { read: withoutCoveredRoots([...read, ...(write ?? [])]), write: withoutCoveredRoots(write ?? read, isWritable) }
}

/** Adds the worktree of a child to its parent's paths, if the parent may read and write the repository. */
function addWorktree({ read, write }: PathAccess, { worktree }: ProcessSpec): PathAccess {
  if (!worktree || !isBelow(read ?? ['/'], worktree.repository) || !isBelow(write ?? ['/'], worktree.repository))
    return { ...(read && { read }), ...(write && { write }) }
  return { ...(read && { read: [...read, worktree.dir] }), ...(write && { write: [...write, worktree.dir] }) }
}

/** The paths that both allow; undefined: no limit. */
function intersectPaths(some: PathAccess | undefined, others: PathAccess | undefined): PathAccess | undefined {
  if (!some || !others) return some ?? others
  const read = intersectRoots(some.read, others.read)
  const write = intersectRoots(some.write, others.write, isWritable)
  return { ...(read && { read }), ...(write && { write }) }
}

function intersectRoots(
  some: readonly string[] | undefined,
  others: readonly string[] | undefined,
  covers = isBelow,
): readonly string[] | undefined {
  if (!some || !others) return some ?? others
  return withoutCoveredRoots(
    some.flatMap((root) => others.flatMap((other) => (covers([other], root) ? root : covers([root], other) ? other : []))),
    covers,
  )
}

/** Removes directories that another one covers. */
function withoutCoveredRoots(roots: readonly string[], covers = isBelow): readonly string[] {
  const all = [...new Set(roots)]
  return all.filter((root) => !all.some((other) => other !== root && covers([other], root)))
}

/**
 * How much an agent can do besides its tool lists. 0: nothing; 1: what an external agent does without asking; 2: what
 * any program can do.
 */
function freedomOf(spec: ProcessSpec): 0 | 1 | 2 {
  const { enforcement } = CAPABILITIES[spec.driver]
  if (enforcement === 'no' || allowedShellTools(spec).length > 0) return 2
  return enforcement === 'asked' ? 1 : 0
}

/** What the agent may use although reeve cannot limit its paths: tools that start a shell, and MCP servers that are programs. */
function unconfinedTools(spec: ProcessSpec): readonly string[] {
  const programs = spec.capabilities?.paths
    ? (spec.mcp ?? [])
        .filter(({ kind, name }) => kind === 'stdio' && mayUseServer(serverPrefix(name), spec))
        .map(({ name }) => `the MCP server ${name}`)
    : []
  return [...allowedShellTools(spec), ...programs]
}

/**
 * The tools with which the agent may start a shell. An external agent has one shell with several names: a denial of one name
 * denies the shell.
 */
function allowedShellTools({ driver, tools, deny }: ProcessSpec): readonly string[] {
  const { shellTools, enforcement } = CAPABILITIES[driver]
  if (enforcement !== 'asked') return shellTools.filter((name) => isToolAllowed(name, { tools, deny }))
  const isListed = shellTools.some((name) => isToolAllowed(name, { tools, deny: [] }))
  return isListed && shellTools.every((name) => isToolAllowed(name, { tools: null, deny })) ? NATIVE_SHELL_TOOLS : []
}

/** The fields that `fitToParent` may change, as a text for comparison. */
function rulesKey(spec: ProcessSpec): string {
  const { tools, deny, capabilities = {}, mcp = [], permissions, instructions, skills = [] } = spec
  return JSON.stringify([
    tools,
    deny,
    Object.entries(capabilities).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    mcp.map(({ name }) => name),
    permissions ?? null,
    instructions?.files.length ?? 0,
    skills.length,
  ])
}

/** The names of the permissions that `before` lists and `after` lacks. */
function removedRules(before: ProcessSpec, after: ProcessSpec): readonly string[] {
  if (before === after) return []
  const [own, left] = [before.capabilities ?? {}, after.capabilities ?? {}]
  const tools = (before.tools ?? []).filter((name) => !(after.tools ?? []).includes(name))
  const covers = { read: isBelow, write: isWritable }
  const roots = (kind: 'read' | 'write'): readonly string[] =>
    (own.paths?.[kind] ?? []).filter((root) => !covers[kind](left.paths?.[kind] ?? [root], root)).map((root) => `${kind}:${root}`)
  const spawns = (own.spawns ?? []).filter((name) => left.spawns?.includes(name) === false).map((name) => `spawn:${name}`)
  const servers = (before.mcp ?? [])
    .filter(({ name }) => !after.mcp?.some((other) => other.name === name))
    .map(({ name }) => `the MCP server ${name}`)
  return [...tools, ...roots('read'), ...roots('write'), ...spawns, ...servers]
}
