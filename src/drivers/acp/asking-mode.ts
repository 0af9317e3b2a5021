// Makes an agent respect its permissions. Selects the session mode in which the agent asks before it acts, and adds the settings that this
// mode needs. Refuses agents for which this is impossible. All rows of the table but that of Qwen Code were verified with the real agent
// (test/agents/permissions.test.ts). Pure, except that it writes the agent's settings file.
// Test: test/tables/drivers/acp/asking-mode.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { isToolAllowed } from '../../kernel/state/tool-lists.ts'
import { findProgram } from '../command/formats/args.ts'
import { writeClientConfig } from '../gateway/clients.ts'
import { parseObject, asObject } from '../gateway/clients/client.ts'
import type { PreparedStart } from '../gateway/clients.ts'
import type { Launch } from '../port.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'

type Spec = Pick<AcpSpec, 'agent' | 'argv' | 'permissions' | 'mode' | 'asks' | 'tools' | 'deny' | 'capabilities'>

export interface AskingMode {
  /** the mode to set; null keeps the agent's default */
  readonly mode: string | null
  /** the modes in which the agent respects its permissions; null: in every mode, or nothing is enforced */
  readonly enforcedModes: readonly string[] | null
}

/** The arguments, variables and files with which a program is started so that it asks. */
interface Settings {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}

/** How an agent program is made to ask before it acts. */
interface AgentProfile {
  /** names of its program or npm package */
  readonly names: readonly string[]
  /** the session mode in which the agent asks before it acts */
  readonly mode: string
  /** modes that allow the agent less, which the user may choose instead */
  readonly stricter: readonly string[]
  /** the agent's tools that need permission, each with reeve's names for it */
  readonly tools: Readonly<Record<string, readonly string[]>>
  /** returns settings that make the agent ask and that remove its denied tools */
  readonly settings?: (denied: readonly string[], start: { readonly env: PreparedStart['env']; readonly dir: string }) => Settings
  /** returns such settings as the field `_meta` of the request that opens the session */
  readonly meta?: (denied: readonly string[]) => object
}

const SHELL = ['execute', 'bash']
const EDIT_TOOLS = ['edit', 'write']
const OPENCODE_CONTENT = 'OPENCODE_CONFIG_CONTENT'
const CODEX_CONFIG = 'CODEX_CONFIG'

const AGENT_PROFILES: readonly AgentProfile[] = [
  {
    names: ['claude-agent-acp', '@agentclientprotocol/claude-agent-acp', 'claude-code-acp', '@zed-industries/claude-code-acp'],
    mode: 'default',
    stricter: ['plan', 'dontAsk'],
    tools: {
      Bash: SHELL,
      Edit: EDIT_TOOLS,
      Write: EDIT_TOOLS,
      NotebookEdit: EDIT_TOOLS,
      WebFetch: ['fetch'],
      WebSearch: ['fetch'],
      Read: ['read'],
      Grep: ['search', 'grep'],
      Glob: ['search', 'glob'],
    },
    // Overrides settings files of the user or the project that allow these tools without a question.
    meta: (denied) => ({
      claudeCode: {
        options: {
          disallowedTools: denied,
          settings: { permissions: { ask: ['Bash', 'Edit', 'Write', 'NotebookEdit', 'WebFetch', 'WebSearch'] } },
        },
      },
    }),
  },
  {
    names: ['codex-acp', '@agentclientprotocol/codex-acp'],
    mode: 'read-only',
    stricter: [],
    tools: { shell: SHELL },
    // In the mode `read-only` Codex asks before it writes, but runs read-only commands without asking.
    settings: (denied, { env }) =>
      denied.length === 0 ? {} : { env: { [CODEX_CONFIG]: codexConfigWithoutShell(parseObject(env[CODEX_CONFIG])) } },
  },
  {
    names: ['gemini', '@google/gemini-cli'],
    mode: 'default',
    stricter: ['plan'],
    tools: {
      run_shell_command: SHELL,
      write_file: EDIT_TOOLS,
      replace: EDIT_TOOLS,
      web_fetch: ['fetch'],
      google_web_search: ['fetch'],
      read_file: ['read'],
      read_many_files: ['read'],
      grep_search: ['search', 'grep'],
      search_file_content: ['search', 'grep'],
      glob: ['search', 'glob'],
      list_directory: ['search', 'ls'],
    },
    settings: (denied, { dir }) => {
      const path = join(dir, 'reeve-policy.toml')
      const rules = [
        policyRule(['run_shell_command', 'write_file', 'replace', 'web_fetch'], 'ask_user', 900),
        ...(denied.length === 0 ? [] : [policyRule(denied, 'deny', 999)]),
      ]
      return { args: ['--admin-policy', path], files: { [path]: rules.join('\n') } }
    },
  },
  {
    names: ['opencode', 'opencode-ai'],
    mode: 'build',
    stricter: ['plan'],
    tools: {
      bash: SHELL,
      edit: EDIT_TOOLS,
      webfetch: ['fetch'],
      websearch: ['fetch'],
      read: ['read'],
      grep: ['search', 'grep'],
      glob: ['search', 'glob'],
      list: ['search', 'ls'],
    },
    settings: (denied, { env }) => ({ env: { [OPENCODE_CONTENT]: openCodeConfigThatAsks(denied, parseObject(env[OPENCODE_CONTENT])) } }),
  },
  { names: ['qwen', '@qwen-code/qwen-code'], mode: 'default', stricter: ['plan'], tools: {} },
]

/** Chooses the session mode. Errors: `PERMISSION` if the agent cannot be made to respect the requested permissions. */
export function askingModeFor(spec: Spec): AskingMode {
  const { mode, agent } = spec
  const profile = profileOf(spec)
  const mustEnforce = hasExplicitLimits(spec)
  if (spec.permissions?.default === 'agent' && mustEnforce)
    throw permissionError(
      `agent "${agent}" cannot be held to limits on tools and paths while its own settings decide what it asks about`,
      'Let reeve make it ask: `--permissions ask`. To run it unchecked, use `--permissions allow` without limits.',
    )
  if (isLeftToItself(spec)) return { mode: mode ?? null, enforcedModes: null }
  if (profile === null) {
    if (mustEnforce && spec.asks !== true && mode === undefined)
      throw permissionError(
        `agent "${agent}" cannot be held to its permissions: reeve does not know in which mode it asks`,
        'If it asks before it acts, state that in its agent file: `mode: NAME`, or `asks: true` for an agent without modes. To run it unchecked, use `--permissions allow` without limits.',
      )
    return { mode: mode ?? null, enforcedModes: mustEnforce && mode !== undefined ? [mode] : null }
  }
  const enforcedModes = [profile.mode, ...profile.stricter]
  if (mode === undefined) return { mode: profile.mode, enforcedModes }
  if (enforcedModes.includes(mode)) return { mode, enforcedModes }
  if (mustEnforce)
    throw permissionError(
      `agent "${agent}" cannot be held to its permissions in the mode ${mode}: it does not ask there`,
      `It asks in the mode ${profile.mode}: remove \`mode: ${mode}\` from its agent file, or run it with \`--permissions allow\` and without limits.`,
    )
  return { mode, enforcedModes: null }
}

/** Describes for `inspect` how the permissions are enforced; null if there are none to enforce. */
export function describeEnforcement(spec: Spec): string | null {
  if (spec.permissions?.default === 'agent') return 'its own settings decide what it asks about'
  if (isLeftToItself(spec)) return null
  const profile = profileOf(spec)
  const { mode = profile?.mode } = spec
  if (profile === null ? mode !== undefined : [profile.mode, ...profile.stricter].includes(mode ?? ''))
    return `reeve keeps it in the mode ${mode}, in which it asks`
  return spec.asks === true
    ? 'it asks, according to its agent file'
    : `it decides itself when to ask${mode === undefined ? '' : ` in the mode ${mode}`}`
}

/** Adds the settings that make the program ask before it acts. */
export async function withAskingSettings(
  { spec, tmpDir }: Pick<Launch<AcpSpec>, 'spec' | 'tmpDir'>,
  started: PreparedStart,
): Promise<PreparedStart> {
  const profile = profileOf(spec)
  if (profile?.settings === undefined || isLeftToItself(spec)) return started
  const { args = [], env = {}, files = {} } = profile.settings(deniedToolNames(profile, spec), { env: started.env, dir: tmpDir })
  await writeClientConfig({ files })
  return { argv: started.argv.toSpliced(findProgram(started.argv, profile.names) + 1, 0, ...args), env: { ...started.env, ...env } }
}

/** Returns the `_meta` field of the request that opens the session, if the agent needs one. */
export function askingMeta(spec: Spec): { readonly _meta?: object } {
  const profile = profileOf(spec)
  return profile?.meta === undefined || isLeftToItself(spec) ? {} : { _meta: profile.meta(deniedToolNames(profile, spec)) }
}

function profileOf({ argv }: Spec): AgentProfile | null {
  return AGENT_PROFILES.find(({ names }) => findProgram(argv, names) >= 0) ?? null
}

/** Whether reeve does not make the agent ask: it may do everything, or its own settings decide. */
function isLeftToItself(spec: Spec): boolean {
  const { permissions, capabilities } = spec
  if (permissions?.default === 'agent') return true
  return permissions?.default === 'allow' && !hasExplicitLimits(spec) && capabilities === undefined
}

/** Whether the user has set limits explicitly. Without them, reeve also runs an agent that may act without asking. */
function hasExplicitLimits({ permissions, tools, deny, capabilities }: Spec): boolean {
  const policies = permissions === undefined ? [] : [permissions.default, ...Object.values(permissions.tools ?? {})]
  return (
    policies.some((policy) => policy !== 'allow' && policy !== 'agent') ||
    tools !== null ||
    deny.length > 0 ||
    capabilities?.paths !== undefined
  )
}

/** Returns the agent's names of its denied tools. They are removed from the agent, because some agents use tools without asking. */
function deniedToolNames({ tools }: AgentProfile, spec: Spec): readonly string[] {
  return Object.entries(tools)
    .filter(([agentName, reeveNames]) => {
      const names = [agentName, ...reeveNames]
      return (
        names.some((name) => !isToolAllowed(name, { tools: null, deny: spec.deny })) ||
        (spec.tools !== null && !names.some((name) => isToolAllowed(name, { tools: spec.tools, deny: [] })))
      )
    })
    .map(([agentName]) => agentName)
}

function permissionError(message: string, hint: string): KernelError {
  return new KernelError('PERMISSION', message, undefined, hint)
}

function codexConfigWithoutShell(config: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...config, features: { ...asObject(config['features']), shell_tool: false, unified_exec: false } })
}

function policyRule(tools: readonly string[], decision: string, priority: number): string {
  return `[[rule]]\ntoolName = ${JSON.stringify(tools)}\ndecision = "${decision}"\npriority = ${priority}\n`
}

/** Returns OpenCode settings that make the agent and all its subagents ask, whatever a settings file allows. */
function openCodeConfigThatAsks(denied: readonly string[], config: Readonly<Record<string, unknown>>): string {
  const permission = {
    bash: 'ask',
    edit: 'ask',
    webfetch: 'ask',
    websearch: 'ask',
    external_directory: 'ask',
    ...Object.fromEntries(denied.map((name) => [name, 'deny'])),
  }
  const agents = asObject(config['agent'])
  // OpenCode's planning agent never edits.
  const permissionOf = (name: string): object => (name === 'plan' ? { ...permission, edit: 'deny' } : permission)
  const asking = Object.fromEntries(
    ['build', 'plan', 'general', ...Object.keys(agents)].map((name) => [
      name,
      { ...asObject(agents[name]), permission: permissionOf(name) },
    ]),
  )
  return JSON.stringify({ ...config, permission, agent: asking })
}
