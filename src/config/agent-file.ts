// One agent file: front matter between two lines of `---`, then the system prompt. Knows reeve's format and Claude Code's.
// What a file asks for and reeve cannot do yet is listed in `unsupported`, never dropped in silence; what would widen a
// permission (`Bash(git *)` as `bash`) is not granted. Test: test/tables/config-agents.test.ts.
import { FILE_LIMIT_KEYS, fileLimitsRule } from './limit-rules.ts'
import { basename } from 'node:path'
import * as z from 'zod'
import type { Capabilities } from '../kernel/permits.ts'
import type { Permissions } from '../kernel/spec.ts'
import type { DriverName, Effort, Limits, OutputFormat } from '../kernel/types.ts'
import type { LivenessSpec } from '../kernel/liveness.ts'
import type { Problem } from './files.ts'
import { effortRule, fallbackRule, modelRule } from './config.ts'
import { parseDuration } from './duration.ts'
import { gatewayMode } from './gateway.ts'
import { LIVENESS_KEYS, livenessFileRule, livenessOf } from './liveness.ts'
import { agentMcp, placeOf, type AgentMcp } from './mcp-file.ts'
import { nearest } from './nearest.ts'
import { fileRestartRule } from './restart.ts'
import type { RestartAsked, RestartWord } from '../kernel/supervision.ts'
import { capabilitiesOf, permitKeys } from './permits.ts'
import { parseYaml, type Format, type Parsed } from './yaml.ts'

export type AgentSource = 'project' | 'claude' | 'user' | 'built-in'

export interface Agent {
  readonly name: string
  readonly description: string
  readonly driver: DriverName
  /** the command line of an agent that others wrote; null for native ones */
  readonly command: readonly string[] | null
  /** null: its command line tells, or it says nothing that is understood */
  readonly format: OutputFormat | null
  /** null: it asks for everything */
  readonly permissions: Permissions | null
  /** the session mode of an agent that speaks ACP */
  readonly mode: string | null
  /** whether its models are called through the gateway; null: as configured */
  readonly gateway: 'auto' | 'on' | 'off' | null
  /** how long it cleans up after SIGTERM; null: not known, so what a sender leaves it is enough */
  readonly graceMs: number | null
  /** `provider/name`, `script:FILE`, or null for the configured default */
  readonly model: string | null
  /** models that are asked when the first cannot answer; null: as configured */
  readonly fallback: readonly string[] | null
  readonly effort: Effort | null
  /** null is the driver's default set */
  readonly tools: readonly string[] | null
  readonly deny: readonly string[]
  /** absent: not limited beside its tools; paths as they are written */
  readonly capabilities?: Capabilities
  /** null: it says nothing, so it may use all that are configured */
  readonly mcp: AgentMcp | null
  readonly limits: Limits
  /** whether its processes come back by themselves; absent: never */
  readonly restart?: RestartWord | RestartAsked
  /** when it counts as silent, stalled and so on; absent: as configured */
  readonly liveness?: LivenessSpec
  /** it goes on by itself when a rate limit is over */
  readonly wake?: true
  /** it has reeve's own tools */
  readonly reeve?: true
  readonly system: string | null
  readonly source: AgentSource
  /** null for the built-in ones */
  readonly file: string | null
  /** what the file says and reeve does not do, in words for people */
  readonly unsupported: readonly string[]
}

export const TOOLS = ['read', 'write', 'edit', 'ls', 'glob', 'grep', 'bash'] as const

/** Claude Code's tools, by reeve's names. */
const CLAUDE_TOOLS: Readonly<Record<string, string>> = {
  Read: 'read', Write: 'write', Edit: 'edit', MultiEdit: 'edit', LS: 'ls', Glob: 'glob', Grep: 'grep', Bash: 'bash',
}

/** Claude Code's short names of models; `inherit` is the configured default. docs/agents.md has this table. */
const CLAUDE_MODELS: Readonly<Record<string, string | null>> = {
  sonnet: 'anthropic/claude-sonnet-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-4-5',
  inherit: null,
}

/** `mcp__SERVER`, `mcp__SERVER__TOOL` or, with a star at its end, all that begin so. Which there are is known at the start. */
const MCP_TOOL = /^mcp__[\w-]*[\w*-]$/

const MAX_TOOLS = 200
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const nameRule = z.string().regex(NAME, 'expected a name of up to 64 letters, digits, dots, dashes and underscores')
const list = z.union([z.array(z.string().trim().min(1)).max(MAX_TOOLS), z.string()], 'expected a list, or names with commas between').transform((value) => {
  return typeof value === 'string' ? splitList(value).slice(0, MAX_TOOLS) : value
})
const toolList = list.superRefine((names, context) => {
  const wrong = wrongTool(names)
  if (wrong !== null) context.addIssue(wrong)
})
const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text)
  if (ms === null) context.addIssue('expected a duration such as 90s, 10m or 1h30m')
  return ms ?? 0
})
const count = z.int().min(1)

const permission = z.enum(['ask', 'allow', 'deny'])
const keys = {
  name: nameRule.optional(),
  description: z.string().default(''),
  driver: z.enum(['native', 'acp', 'command']).default('native'),
  model: z.string().min(1).max(1000).optional(),
  command: z.array(z.string().regex(/^[^\0]*$/, 'must not contain NUL')).min(1).max(1000).optional(),
  format: z.enum(['claude', 'codex', 'gemini', 'opencode']).optional(),
  permissions: z.union([permission, z.strictObject({ default: permission.default('ask'), tools: z.record(z.string().min(1), permission).optional() })], 'expected ask, allow, deny, or { default: …, tools: { NAME: … } }').optional(),
  mode: z.string().min(1).max(200).optional(),
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
  mcp: z.unknown().superRefine((value, context) => {
    const read = value === undefined ? null : agentMcp(value, placeOf(''), false)
    if (read !== null && 'wrong' in read) context.addIssue(read.wrong)
  }).optional(),
  ...permitKeys,
  restart: fileRestartRule.optional(),
}
/** What each driver has; anything else would be dropped in silence. */
const OWN: Readonly<Record<Exclude<DriverName, 'supervisor' | 'crew' | 'compose'>, readonly (keyof typeof keys)[]>> = {
  native: ['model', 'fallback', 'effort', 'tools', 'deny', 'mcp', 'paths'],
  acp: ['model', 'command', 'permissions', 'mode', 'gateway', 'grace', 'tools', 'deny', 'mcp', 'paths'],
  command: ['command', 'format', 'gateway', 'grace'],
}

type Said = z.infer<z.ZodObject<typeof keys>>

function checkDriver(said: Said, context: z.RefinementCtx<Said>): void {
  const { driver, model, command } = said
  const wrong = (key: keyof Said, message: string): void => context.addIssue({ code: 'custom', path: [key], message })
  const given = (key: keyof Said): boolean => said[key] !== undefined && (key !== 'deny' || said.deny.length > 0)
  for (const key of new Set(Object.values(OWN).flat())) if (given(key) && !OWN[driver].includes(key)) wrong(key, `the driver ${driver} has none${driver === 'command' && key === 'permissions' ? ': what it may do, the flags in its `command` say' : ''}`)
  if (driver !== 'native' && command === undefined) wrong('driver', `${driver} needs a \`command\`: the list of its program and arguments`)
  const rule = driver === 'native' && model !== undefined ? modelRule.safeParse(model) : null
  if (rule?.success === false) wrong('model', rule.error.issues[0]?.message ?? 'it is none')
}

const ownFormat: Format<Said> = {
  schema: z.strictObject(keys).superRefine(checkDriver),
  known: ([key]) => (key === 'liveness' ? LIVENESS_KEYS : key === 'limits' ? FILE_LIMIT_KEYS : Object.keys(keys)),
}
const claudeFormat: Format<Record<string, unknown>> = { schema: z.record(z.string(), z.unknown()), known: () => [] }

/** Reads the text of an agent file; the name is the file's own where the front matter has none. */
export function parseAgent(text: string, file: string, source: AgentSource): Parsed<Agent> {
  const parts = split(text)
  if (parts === null) return fail(file, 1, 'the front matter is missing: the first line must be `---`, and another `---` must end it')
  return source === 'claude' ? claudeAgent(parts, file) : ownAgent(parts, file, source)
}

/** What is wrong with a list of tools, in words; null if all of them are there. A tool that is denied under a wrong name is not denied. */
export function wrongTool(names: readonly string[]): string | null {
  const wrong = names.find((one) => !(TOOLS as readonly string[]).includes(one) && !MCP_TOOL.test(one))
  if (wrong === undefined) return null
  const near = nearest(CLAUDE_TOOLS[wrong] ?? wrong, TOOLS)
  return `there is no tool \`${wrong}\`${near ? `; did you mean \`${near}\`?` : `; there are ${TOOLS.join(', ')} and mcp__SERVER__TOOL`}`
}

interface Parts {
  readonly front: string
  readonly body: string
}

function split(text: string): Parts | null {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const end = lines.findIndex((line, index) => index > 0 && /^---\s*$/.test(line))
  if (end < 0 || !/^---\s*$/.test(lines[0] ?? '')) return null
  return { front: lines.slice(1, end).join('\n'), body: lines.slice(end + 1).join('\n').trim() }
}

function ownAgent({ front, body }: Parts, file: string, source: AgentSource): Parsed<Agent> {
  const parsed = parseYaml(front, ownFormat, file, 2)
  if (!parsed.ok) return parsed
  const { limits, ...rest } = parsed.value
  return named(rest.name ?? null, file, {
    description: rest.description,
    driver: rest.driver,
    command: rest.command ?? null,
    format: rest.format ?? null,
    permissions: permissionsOf(rest.permissions),
    mode: rest.mode ?? null,
    gateway: rest.gateway ?? null,
    graceMs: rest.grace ?? null,
    model: rest.model ?? null,
    fallback: rest.fallback ?? null,
    effort: rest.effort ?? null,
    tools: rest.tools ?? null,
    deny: rest.deny,
    ...capabilitiesOf(rest),
    mcp: ownMcp(rest.mcp, file),
    limits,
    ...(rest.liveness === undefined ? {} : { liveness: livenessOf(rest.liveness) }),
    ...(rest.wake ? { wake: true } : {}),
    ...(rest.reeve ? { reeve: true } : {}),
    ...(rest.restart === undefined ? {} : { restart: rest.restart }),
    system: body || null,
    source,
    unsupported: [],
  })
}

function permissionsOf(said: Said['permissions']): Permissions | null {
  if (said === undefined) return null
  if (typeof said === 'string') return { default: said }
  return { default: said.default, ...(said.tools ? { tools: said.tools } : {}) }
}

function ownMcp(value: unknown, file: string): AgentMcp | null {
  const read = value === undefined ? null : agentMcp(value, placeOf(file), false)
  return read !== null && 'wrong' in read ? null : read
}

/** What only agents that others wrote have. */
export const NATIVE = { driver: 'native', command: null, format: null, permissions: null, mode: null, gateway: null, graceMs: null } as const

/** Claude Code takes front matter that is no YAML (`description: Use it when: …`), so each line is then a key and its text. */
function claudeAgent({ front, body }: Parts, file: string): Parsed<Agent> {
  const yaml = parseYaml(front, claudeFormat, file, 2)
  const said = yaml.ok ? yaml.value : byLines(front)
  const { name, description, tools, disallowedTools, model, maxTurns, mcpServers, color: _, ...others } = said
  const allowed = claudeTools('tools', tools)
  const denied = claudeTools('disallowedTools', disallowedTools)
  const chosen = claudeModel(model)
  const steps = count.safeParse(Number(maxTurns))
  return named(typeof name === 'string' ? name : null, file, {
    description: typeof description === 'string' ? description : '',
    ...NATIVE,
    model: chosen.model,
    fallback: null,
    effort: null,
    tools: tools === undefined || tools === '*' ? null : allowed.names,
    deny: denied.names,
    mcp: claudeMcp(mcpServers, file),
    limits: maxTurns !== undefined && steps.success ? { maxSteps: steps.data } : {},
    system: body || null,
    source: 'claude',
    unsupported: [...(tools === '*' ? [] : allowed.unsupported), ...denied.unsupported, ...chosen.unsupported, ...Object.keys(others).map((key) => `${key} is not supported`)],
  })
}

function byLines(front: string): Record<string, unknown> {
  const pairs = front.split(/\r?\n/).map((line) => /^([A-Za-z][\w-]*):[ \t]*(.*)$/.exec(line))
  return Object.fromEntries(pairs.flatMap((match) => (match ? [[match[1] ?? '', (match[2] ?? '').trim()]] : [])))
}

function claudeMcp(value: unknown, file: string): AgentMcp | null {
  const read = value === undefined || value === null ? null : agentMcp(value, placeOf(file), true)
  return read !== null && 'wrong' in read ? null : read
}

function claudeTools(key: string, value: unknown): { names: string[]; unsupported: string[] } {
  const said = list.safeParse(value ?? [])
  if (!said.success) return { names: [], unsupported: [`${key}: ${said.error.issues[0]?.message}`] }
  const known = (one: string): string | undefined => CLAUDE_TOOLS[one] ?? (MCP_TOOL.test(one) ? one : undefined)
  const names = said.data.flatMap((one) => known(one) ?? [])
  return { names: [...new Set(names)], unsupported: said.data.filter((one) => known(one) === undefined).map((one) => `${key}: ${one} is not supported`) }
}

function claudeModel(value: unknown): { model: string | null; unsupported: string[] } {
  if (value === undefined || value === '') return { model: null, unsupported: [] }
  const known = typeof value === 'string' ? CLAUDE_MODELS[value] : undefined
  if (known !== undefined) return { model: known, unsupported: [] }
  if (typeof value === 'string' && /^claude-[\w.-]+$/.test(value)) return { model: `anthropic/${value}`, unsupported: [] }
  return { model: null, unsupported: [`model: ${String(value)} is not known; the default model is used`] }
}

/** Splits at commas that are outside of parentheses: `Read, Bash(git add:*, git commit:*)`. */
function splitList(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((one) => one.trim()).filter((one) => one !== '')
}

function named(name: string | null, file: string, rest: Omit<Agent, 'name' | 'file'>): Parsed<Agent> {
  const chosen = name ?? basename(file, '.md')
  if (!NAME.test(chosen)) return fail(file, 1, `\`${chosen.slice(0, 80)}\` is not a name: up to 64 letters, digits, dots, dashes and underscores`)
  if (chosen === 'command') return fail(file, 1, 'the name `command` is taken: it is what `run -- CMD` is called')
  return { ok: true, value: { name: chosen, file, ...rest } }
}

function fail(file: string, line: number, message: string): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: { file, line, message } }
}
