// Parses an agent file: front matter between two lines of `---`, then the system prompt. Supports reeve's format and Claude Code's.
// `unsupported` lists the settings of Claude Code that reeve ignores, except its colours. A restricted tool such as `Bash(git *)` is
// unsupported, because `bash` would allow more than the file does. Test: test/tables/config/agents/agent-file.test.ts.
import { FILE_LIMIT_KEYS, fileLimitsRule } from '../limit-rules.ts'
import { basename } from 'node:path'
import * as z from 'zod'
import type { Effort, KeepRaw, Labels, Permissions, Capabilities } from '../../kernel/model/spec-parts.ts'
import type { Problem } from '../problem.ts'
import { effortRule, fallbackRule, keepRawRule, modelRule } from '../config.ts'
import { parseDuration } from '../duration.ts'
import { gatewayMode } from '../keys/gateway.ts'
import { labelsRule } from '../label-rules.ts'
import { LIVENESS_KEYS, livenessFileRule, toLivenessSpec } from '../keys/liveness.ts'
import { parseAgentMcp, configLocation, type AgentMcp } from '../mcp/parse-servers.ts'
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { fileRestartRule } from '../restart-rules.ts'
import type { RestartConfig, RestartWord } from '../../kernel/model/supervision.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { hasPattern, toolRuleProblem } from '../../kernel/state/tool-rules.ts'
import { capabilitiesOf, permissionKeys } from '../permissions.ts'
import { parseYaml, type YamlFormat, type Parsed } from '../yaml.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import { parseFrontMatterLines, splitFrontMatter, type FrontMatterParts } from '../../kernel/util/front-matter.ts'
import {
  type AgentDriver,
  type Limits,
  type OutputFormat,
  OUTPUT_FORMATS,
  CALL_DECISIONS,
  PERMISSION_POLICIES,
  AGENT_DRIVERS,
  type GatewayMode,
  NATIVE_TOOLS,
  type NativeTool,
} from '../../kernel/model/words.ts'
import type { LivenessSpec } from '../../kernel/model/liveness.ts'

export const AGENT_SOURCES = ['project', 'claude', 'user', 'built-in'] as const
export type AgentSource = (typeof AGENT_SOURCES)[number]

export interface AgentDefinition {
  readonly name: string
  readonly description: string
  readonly driver: AgentDriver
  /** the command line of an external agent; null for a native agent */
  readonly command: readonly string[] | null
  /** the output format of a command; null: detected from the command line, or the output is not parsed */
  readonly format: OutputFormat | null
  /** the answers to permission requests; null: the user must approve every action */
  readonly permissions: Permissions | null
  /** the session mode; only for ACP */
  readonly mode: string | null
  /** the agent asks for permission in every session mode; only for ACP */
  readonly asks?: true
  /** whether the agent calls its models through the gateway; null: as configured */
  readonly gateway: GatewayMode | null
  /** the time that the agent needs after SIGTERM, in ms; null: the grace of the stop applies */
  readonly graceMs: number | null
  /** `provider/name`, `script:FILE`, or null for the configured default */
  readonly model: string | null
  /** the models to use when the first one fails; null: those of the configuration */
  readonly fallback: readonly string[] | null
  readonly effort: Effort | null
  /** the allowed tools; null: the default tools of the driver */
  readonly tools: readonly string[] | null
  /** the forbidden tools */
  readonly deny: readonly string[]
  /** the other permissions, with paths as written in the file; absent: not restricted */
  readonly capabilities?: Capabilities
  /** the MCP servers; null: all configured ones */
  readonly mcp: AgentMcp | null
  readonly limits: Limits
  /** the restart policy of its processes; absent: no restarts */
  readonly restart?: RestartWord | RestartConfig
  /** the labels of its processes; absent: none */
  readonly labels?: Labels
  /** the thresholds for silent, stalled and so on; absent: those of the configuration */
  readonly liveness?: LivenessSpec
  /** its processes resume automatically after a rate limit */
  readonly wake?: true
  /** the agent gets reeve's own tools */
  readonly reeve?: true
  /** false: a native agent does not get the instructions of the repository */
  readonly instructions?: false
  /** the skills that a native agent may load, by name; false: none; absent: all that are found */
  readonly skills?: readonly string[] | false
  /** which raw output lines are kept; only for external agents; absent: as configured */
  readonly keepRaw?: KeepRaw | 'off'
  /** the system prompt */
  readonly system: string | null
  readonly source: AgentSource
  /** the agent file; null for a built-in agent */
  readonly file: string | null
  /** settings of the file that reeve ignores, as messages for the user */
  readonly unsupported: readonly string[]
}

/** The names of Claude Code's tools, and the names of the same tools in reeve. */
const CLAUDE_TOOLS: Readonly<Record<string, NativeTool>> = {
  Read: 'read',
  Write: 'write',
  Edit: 'edit',
  MultiEdit: 'edit',
  LS: 'ls',
  Glob: 'glob',
  Grep: 'grep',
  Bash: 'bash',
  Skill: 'skill',
}

/** The model aliases of Claude Code. Null: the configured default. docs/reference/agents.md has the same table. */
const CLAUDE_MODELS: Readonly<Record<string, string | null>> = {
  sonnet: 'anthropic/claude-sonnet-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-4-5',
  inherit: null,
}

/** Matches `mcp__SERVER`, `mcp__SERVER__TOOL`, and a prefix that ends with a star. Whether the tool exists is known only at the start. */
const MCP_TOOL = /^mcp__[\w-]*[\w*-]$/

const MAX_TOOLS = 200
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const nameRule = z.string().regex(NAME, 'expected a name of up to 64 letters, digits, dots, dashes and underscores')
const nameList = z
  .union([z.array(z.string().trim().min(1)).max(MAX_TOOLS), z.string()], 'expected a list, or names separated by commas')
  .transform((value) => {
    return typeof value === 'string' ? splitList(value).slice(0, MAX_TOOLS) : value
  })
const toolList = nameList.superRefine((names, context) => {
  const message = unknownToolMessage(names)
  if (message !== null) context.addIssue(message)
})
const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text)
  if (ms === null) context.addIssue('expected a duration such as 90s, 10m or 1h30m')
  return ms ?? 0
})
const count = z.int().min(1)

const permission = z.enum(PERMISSION_POLICIES)
const keys = {
  name: nameRule.optional(),
  description: z.string().default(''),
  driver: z.enum(AGENT_DRIVERS).default('native'),
  model: z.string().min(1).max(1000).optional(),
  command: z
    .array(z.string().regex(/^[^\0]*$/, 'must not contain NUL'))
    .min(1)
    .max(1000)
    .optional(),
  format: z.enum(OUTPUT_FORMATS).optional(),
  permissions: z
    .union(
      [
        permission,
        z.strictObject({
          default: permission.default('ask'),
          tools: z.record(z.string().min(1), z.enum(CALL_DECISIONS)).optional(),
          allow: nameList.optional(),
          ask: nameList.optional(),
          deny: nameList.optional(),
        }),
      ],
      'expected ask, allow, deny, plan, agent, { default: …, allow: […], ask: […], deny: […] }, or { default: …, tools: { NAME: … } }',
    )
    .optional(),
  mode: z.string().min(1).max(200).optional(),
  asks: z.literal(true).optional(),
  gateway: gatewayMode.optional(),
  grace: duration.optional(),
  fallback: fallbackRule.optional(),
  effort: effortRule.optional(),
  tools: toolList.optional(),
  deny: toolList.default([]),
  limits: fileLimitsRule.default({}),
  liveness: livenessFileRule.optional(),
  wake: z.boolean().optional(),
  reeve: z.boolean().optional(),
  instructions: z.boolean().optional(),
  skills: z.union([z.boolean(), nameList], 'expected true, false, or a list of names').optional(),
  keep_raw: keepRawRule.optional(),
  mcp: z
    .unknown()
    .superRefine((value, context) => {
      const read = value === undefined ? null : parseAgentMcp(value, configLocation(''), false)
      if (read !== null && 'problem' in read) context.addIssue(read.problem)
    })
    .optional(),
  ...permissionKeys,
  restart: fileRestartRule.optional(),
  labels: labelsRule.optional(),
}
/** The keys that only some drivers support. Such a key is an error for other drivers, because it would have no effect. */
const DRIVER_KEYS: Readonly<Record<AgentDriver, readonly (keyof typeof keys)[]>> = {
  native: ['model', 'fallback', 'effort', 'instructions', 'skills', 'permissions', 'tools', 'deny', 'mcp', 'paths'],
  acp: ['model', 'command', 'permissions', 'mode', 'asks', 'gateway', 'grace', 'keep_raw', 'tools', 'deny', 'mcp', 'paths'],
  command: ['command', 'format', 'gateway', 'grace', 'keep_raw'],
}

type FrontMatter = z.infer<z.ZodObject<typeof keys>>

function checkDriver(frontMatter: FrontMatter, context: z.RefinementCtx<FrontMatter>): void {
  const { driver, model, command } = frontMatter
  const reject = (key: keyof FrontMatter, message: string): void => context.addIssue({ code: 'custom', path: [key], message })
  const isSet = (key: keyof FrontMatter): boolean => frontMatter[key] !== undefined && (key !== 'deny' || frontMatter.deny.length > 0)
  for (const key of new Set(Object.values(DRIVER_KEYS).flat()))
    if (isSet(key) && !DRIVER_KEYS[driver].includes(key))
      reject(
        key,
        `the driver ${driver} does not support it${driver === 'command' && key === 'permissions' ? ': set the flags of the program in `command`' : ''}`,
      )
  if (CAPABILITIES[driver].hasProgram && command === undefined)
    reject('driver', `${driver} needs a \`command\`: the list of its program and arguments`)
  checkPermissionKeys(frontMatter, reject)
  const rule = driver === 'native' && model !== undefined ? modelRule.safeParse(model) : null
  if (rule?.success === false) reject('model', rule.error.issues[0]?.message ?? 'it is not a model')
}

function callRuleProblem(rule: string): string | null {
  return hasPattern(rule) ? toolRuleProblem(rule) : unknownToolMessage([rule])
}

/** Native agents have rules for calls, and external agents have a table of tools, because they describe their calls differently. */
function checkPermissionKeys({ driver, permissions }: FrontMatter, reject: (key: keyof FrontMatter, message: string) => void): void {
  const policy = typeof permissions === 'object' ? permissions.default : permissions
  if (driver === 'native' && policy === 'agent')
    reject('permissions', '`agent` is for external agents: a native agent has no settings of its own')
  if (driver === 'acp' && policy === 'plan') reject('permissions', '`plan` is for native agents: set the mode of the agent with `mode`')
  if (typeof permissions !== 'object') return
  const { tools, allow, ask, deny } = permissions
  if (driver === 'native' && tools !== undefined)
    reject('permissions', 'a native agent has no `tools` here: write the names as `allow`, `ask` or `deny`')
  if (driver === 'acp' && (allow ?? ask ?? deny) !== undefined)
    reject('permissions', 'an external agent has no rules for calls: give its tools a policy with `tools`')
  const problem = [...(allow ?? []), ...(ask ?? []), ...(deny ?? [])].map(callRuleProblem).find((message) => message !== null)
  if (problem !== undefined) reject('permissions', problem)
}

const reeveFormat: YamlFormat<FrontMatter> = {
  schema: z.strictObject(keys).superRefine(checkDriver),
  knownKeys: ([key]) => (key === 'liveness' ? LIVENESS_KEYS : key === 'limits' ? FILE_LIMIT_KEYS : Object.keys(keys)),
}
const claudeFormat: YamlFormat<Record<string, unknown>> = { schema: z.record(z.string(), z.unknown()), knownKeys: () => [] }

/** Parses the text of an agent file. Without a name in the front matter, the agent has the name of the file. */
export function parseAgent(text: string, file: string, source: AgentSource): Parsed<AgentDefinition> {
  const parts = splitFrontMatter(text)
  if (parts === null) return fail(file, 1, 'the front matter is missing: the first line must be `---`, and another `---` must end it')
  return source === 'claude' ? parseClaudeAgent(parts, file) : parseReeveAgent(parts, file, source)
}

/** Returns the message about the first unknown tool of a list; null if all are known. A misspelt tool would not be denied. */
export function unknownToolMessage(names: readonly string[]): string | null {
  const unknown = names.find((name) => !NATIVE_TOOLS.some((tool) => tool === name) && !MCP_TOOL.test(name))
  if (unknown === undefined) return null
  const near = closestWord(lookUp(CLAUDE_TOOLS, unknown) ?? unknown, NATIVE_TOOLS)
  return `there is no tool \`${unknown}\`${near ? `; did you mean \`${near}\`?` : `; there are ${NATIVE_TOOLS.join(', ')} and mcp__SERVER__TOOL`}`
}

function parseReeveAgent({ front, body }: FrontMatterParts, file: string, source: AgentSource): Parsed<AgentDefinition> {
  const parsed = parseYaml(front, reeveFormat, file, 2)
  if (!parsed.ok) return parsed
  const { limits, ...rest } = parsed.value
  return withName(rest.name ?? null, file, {
    description: rest.description,
    driver: rest.driver,
    command: rest.command ?? null,
    format: rest.format ?? null,
    permissions: permissionsOf(rest.permissions),
    mode: rest.mode ?? null,
    ...(rest.asks ? { asks: true as const } : {}),
    gateway: rest.gateway ?? null,
    graceMs: rest.grace ?? null,
    model: rest.model ?? null,
    fallback: rest.fallback ?? null,
    effort: rest.effort ?? null,
    tools: withSkillTool(rest.tools ?? null, rest.skills),
    deny: rest.deny,
    ...capabilitiesOf(rest),
    mcp: reeveMcp(rest.mcp, file),
    limits,
    ...(rest.liveness === undefined ? {} : { liveness: toLivenessSpec(rest.liveness) }),
    ...(rest.wake ? { wake: true } : {}),
    ...(rest.reeve ? { reeve: true } : {}),
    ...(rest.instructions === false ? { instructions: false as const } : {}),
    ...(rest.skills === undefined || rest.skills === true ? {} : { skills: rest.skills }),
    ...(rest.keep_raw === undefined ? {} : { keepRaw: rest.keep_raw }),
    ...(rest.restart === undefined ? {} : { restart: rest.restart }),
    ...(rest.labels === undefined ? {} : { labels: rest.labels }),
    system: body || null,
    source,
    unsupported: [],
  })
}

/** A file that names skills also allows the tool that loads them. */
function withSkillTool(tools: readonly string[] | null, skills: FrontMatter['skills']): readonly string[] | null {
  return tools === null || !Array.isArray(skills) || tools.includes('skill') ? tools : [...tools, 'skill']
}

function permissionsOf(value: FrontMatter['permissions']): Permissions | null {
  if (value === undefined) return null
  if (typeof value === 'string') return { default: value }
  return { default: value.default, ...withoutUndefined({ tools: value.tools, allow: value.allow, ask: value.ask, deny: value.deny }) }
}

function reeveMcp(value: unknown, file: string): AgentMcp | null {
  const read = value === undefined ? null : parseAgentMcp(value, configLocation(file), false)
  return read !== null && 'problem' in read ? null : read
}

/** The values of the fields for external agents in the definition of a native agent. */
export const NATIVE_FIELDS = {
  driver: 'native',
  command: null,
  format: null,
  permissions: null,
  mode: null,
  gateway: null,
  graceMs: null,
} as const

/**
 * Parses an agent file of Claude Code. Claude Code accepts front matter that is not YAML (`description: Use it when: …`), with a key per
 * line.
 */
function parseClaudeAgent({ front, body }: FrontMatterParts, file: string): Parsed<AgentDefinition> {
  const yaml = parseYaml(front, claudeFormat, file, 2)
  const values = yaml.ok ? yaml.value : parseFrontMatterLines(front)
  const { name, description, tools, disallowedTools, model, maxTurns, mcpServers, color: _, ...others } = values
  const allowed = claudeTools('tools', tools)
  const denied = claudeTools('disallowedTools', disallowedTools)
  const chosen = claudeModel(model)
  const steps = count.safeParse(Number(maxTurns))
  const hasTurns = maxTurns !== undefined && maxTurns !== null
  return withName(typeof name === 'string' ? name : null, file, {
    description: typeof description === 'string' ? description : '',
    ...NATIVE_FIELDS,
    model: chosen.model,
    fallback: null,
    effort: null,
    tools: tools === undefined || tools === '*' ? null : allowed.names,
    deny: denied.names,
    mcp: claudeMcp(mcpServers, file),
    limits: hasTurns && steps.success ? { maxSteps: steps.data } : {},
    system: body || null,
    source: 'claude',
    unsupported: [
      ...(tools === '*' ? [] : allowed.unsupported),
      ...denied.unsupported,
      ...chosen.unsupported,
      ...(hasTurns && !steps.success ? [`maxTurns: ${String(maxTurns)} is not supported`] : []),
      ...Object.keys(others).map((key) => `${key} is not supported`),
    ],
  })
}

function claudeMcp(value: unknown, file: string): AgentMcp | null {
  const read = value === undefined || value === null ? null : parseAgentMcp(value, configLocation(file), true)
  return read !== null && 'problem' in read ? null : read
}

function claudeTools(key: string, value: unknown): { names: string[]; unsupported: string[] } {
  const list = nameList.safeParse(value ?? [])
  if (!list.success) return { names: [], unsupported: [`${key}: ${list.error.issues[0]?.message}`] }
  const toolOf = (name: string): string | undefined => lookUp(CLAUDE_TOOLS, name) ?? (MCP_TOOL.test(name) ? name : undefined)
  const names = list.data.flatMap((name) => toolOf(name) ?? [])
  return {
    names: [...new Set(names)],
    unsupported: list.data.filter((name) => toolOf(name) === undefined).map((name) => `${key}: ${name} is not supported`),
  }
}

function claudeModel(value: unknown): { model: string | null; unsupported: string[] } {
  if (value === undefined || value === '') return { model: null, unsupported: [] }
  const known = typeof value === 'string' ? lookUp(CLAUDE_MODELS, value) : undefined
  if (known !== undefined) return { model: known, unsupported: [] }
  if (typeof value === 'string' && /^claude-[\w.-]+$/.test(value)) return { model: `anthropic/${value}`, unsupported: [] }
  return { model: null, unsupported: [`model: ${String(value)} is not known; the default model is used`] }
}

/** Splits at commas outside of parentheses: `Read, Bash(git add:*, git commit:*)`. */
function splitList(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function withName(name: string | null, file: string, rest: Omit<AgentDefinition, 'name' | 'file'>): Parsed<AgentDefinition> {
  const chosen = name ?? basename(file, '.md')
  if (!NAME.test(chosen))
    return fail(file, 1, `\`${chosen.slice(0, 80)}\` is not a name: up to 64 letters, digits, dots, dashes and underscores`)
  if (chosen === 'command') return fail(file, 1, 'the name `command` is reserved for `reeve run -- CMD`')
  return { ok: true, value: { name: chosen, file, ...rest } }
}

function fail(file: string, line: number, message: string): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: { file, line, message } }
}
