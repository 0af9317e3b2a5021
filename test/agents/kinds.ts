// Describes the coding agents of the tests: their command lines, their settings, the names of their tools, and their limits.
// REEVE_KINDS selects agents by their names in scripts/install-agents.ts. With REEVE_NEWEST=1, tests that use `addNewestVersions` also run
// the newest versions. Used by test/agents/*.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newestInstalled, type AgentName } from '../../scripts/install-agents.ts'
import type { ServedTool } from '../support/models/model-server.ts'
import type { AgentKind } from './harness.ts'

export interface ExpectedReports {
  /** names of the two tools in reeve's reports */
  readonly tools: readonly [RegExp, RegExp]
  /** the agent reports only the tokens of its last model call, and the rest is an estimate */
  readonly isEstimated: boolean
  /** the agent reports the results of its tools */
  readonly reportsResults: boolean
}

/** `isCommand`: a pause freezes it at once. The other agents are driven by ACP, and a soft pause drains them first. */
export type TestedKind = AgentKind & { readonly expected: ExpectedReports; readonly isCommand: boolean }

/** The key of the model provider. No tool of an agent at the gateway may see it. */
export const KEY = 'key-of-the-test'

const CLAUDE: Pick<AgentKind, 'tools' | 'env'> = {
  tools: {
    write: (file_path, content) => ({ name: 'Write', input: { file_path, content } }),
    shell: (command) => ({ name: 'Bash', input: { command, description: 'runs it' } }),
    reeveTool: (name, input) => ({ name: `mcp__reeve__${name}`, input }),
  },
  env: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
}

const codexShell = (cmd: string): ServedTool => ({ name: 'exec_command', input: { cmd } })

/** Makes the home of Codex with a settings file. The first of `lines` is a top-level setting, and the others are tables at the end. */
const codexHome = (home: string, lines: readonly string[] = []): string => {
  const folder = join(home, 'codex')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'config.toml'),
    [
      'model = "served"',
      ...lines.slice(0, 1),
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      '[analytics]',
      'enabled = false',
      ...lines.slice(1),
      '',
    ].join('\n'),
  )
  return folder
}

/** Codex edits files by shell calls, which it reads as patches. */
const CODEX: Pick<AgentKind, 'tools' | 'env'> = {
  tools: {
    shell: codexShell,
    reeveTool: (name, input) => ({ namespace: 'mcp__reeve', name, input }),
    write: (file, content) =>
      codexShell(
        [
          "apply_patch <<'EOF'",
          '*** Begin Patch',
          `*** Add File: ${file.split('/').at(-1) ?? file}`,
          `+${content.trimEnd()}`,
          '*** End Patch',
          'EOF',
        ].join('\n'),
      ),
  },
  env: (url, home) => {
    const provider = [
      '[model_providers.local]',
      'name = "local"',
      `base_url = "${url}/v1"`,
      'env_key = "OPENAI_API_KEY"',
      'wire_api = "responses"',
    ]
    return { CODEX_HOME: codexHome(home, ['model_provider = "local"', ...provider]), OPENAI_API_KEY: KEY }
  },
}

const QUIET_GEMINI = {
  general: { disableAutoUpdate: true, disableUpdateNag: true },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
}

const GEMINI: Pick<AgentKind, 'tools' | 'env'> = {
  tools: {
    write: (file_path, content) => ({ name: 'write_file', input: { file_path, content } }),
    shell: (command) => ({ name: 'run_shell_command', input: { command, description: 'runs it' } }),
    reeveTool: (name, input) => ({ name: `mcp_reeve_${name}`, input }),
  },
  env: (url, home) => {
    mkdirSync(join(home, '.gemini'))
    writeFileSync(
      join(home, '.gemini/settings.json'),
      JSON.stringify({ ...QUIET_GEMINI, security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } } }),
    )
    return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY, GEMINI_CLI_NO_RELAUNCH: 'true' }
  },
}

const OPENCODE: Pick<AgentKind, 'tools' | 'env'> = {
  tools: {
    write: (filePath, content) => ({ name: 'write', input: { filePath, content } }),
    shell: (command) => ({ name: 'bash', input: { command, description: 'runs it' } }),
    reeveTool: (name, input) => ({ name: `reeve_${name}`, input }),
  },
  env: (url) => {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'local',
      options: { baseURL: `${url}/v1`, apiKey: KEY },
      models: { served: { name: 'served' } },
    }
    return {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'local/served',
        small_model: 'local/served',
        autoupdate: false,
        provider: { local: provider },
      }),
    }
  },
}

const byAcp = (agent: string): Pick<TestedKind, 'body' | 'isCommand'> => ({
  isCommand: false,
  body: (intent) => ({ agent, intent, permissions: 'allow', gateway: 'off' }),
})

const USUAL_REPORTS = { isEstimated: false, reportsResults: true } as const

const ALL_KINDS: readonly TestedKind[] = [
  {
    ...CLAUDE,
    name: 'claude -p',
    installation: 'claude',
    isCommand: true,
    expected: { ...USUAL_REPORTS, tools: [/^Write$/, /^Bash$/] },
    body: (prompt) => ({
      argv: ['claude', '-p', prompt, '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'],
      gateway: 'off',
    }),
  },
  {
    ...CODEX,
    name: 'codex exec',
    installation: 'codex',
    isCommand: true,
    expected: { ...USUAL_REPORTS, tools: [/^file_change$/, /^shell$/] },
    body: (prompt) => ({ argv: ['codex', 'exec', '--json', '--skip-git-repo-check', prompt] }),
  },
  {
    ...CLAUDE,
    ...byAcp('claude'),
    name: 'claude by ACP',
    installation: 'claude-acp',
    expected: { ...USUAL_REPORTS, tools: [/^Write$/, /^Bash$/] },
  },
  {
    ...CODEX,
    ...byAcp('codex'),
    name: 'codex by ACP',
    installation: 'codex-acp',
    expected: { ...USUAL_REPORTS, tools: [/^edit$/, /^exec_command$/] },
  },
  {
    ...GEMINI,
    ...byAcp('gemini'),
    name: 'gemini by ACP',
    installation: 'gemini',
    expected: { ...USUAL_REPORTS, tools: [/^edit$/, /^execute$/], reportsResults: false },
  },
  {
    ...OPENCODE,
    ...byAcp('opencode'),
    name: 'opencode by ACP',
    installation: 'opencode',
    expected: { ...USUAL_REPORTS, tools: [/^edit$/, /^execute$/], isEstimated: true },
  },
]

const selectedAgents = process.env['REEVE_KINDS']?.split(',') as readonly AgentName[] | undefined

export const KINDS: readonly TestedKind[] = ALL_KINDS.filter(({ installation }) => selectedAgents?.includes(installation) ?? true)

/** Adds the newest version of each agent whose newest version is not the pinned one. */
export function addNewestVersions<K extends AgentKind>(kinds: readonly K[]): readonly K[] {
  if (process.env['REEVE_NEWEST'] !== '1') return kinds
  return [
    ...kinds,
    ...kinds.flatMap((kind) => {
      const found = newestInstalled(kind.installation)
      return found === null ? [] : [{ ...kind, name: `${kind.name} ${found.version}`, program: found.program }]
    }),
  ]
}

/** Agents as users have them, with a key and an address in their environment: they use the gateway. */
export interface GatewayKind extends AgentKind {
  readonly isCommand: boolean
  /** the agent repeats a request after a cut stream */
  readonly retriesCutStream: boolean
  /** reeve reads its output, and it continues its session */
  readonly hasKnownOutput: boolean
  /** the price of its model is known */
  readonly isPriced: boolean
}

const codexGatewayEnv: AgentKind['env'] = (url, home) => ({
  CODEX_HOME: codexHome(home),
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: KEY,
})
const geminiGatewayEnv: AgentKind['env'] = (url, home) => {
  mkdirSync(join(home, '.gemini'))
  writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify({ ...QUIET_GEMINI, security: { folderTrust: { enabled: false } } }))
  return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY, GEMINI_CLI_NO_RELAUNCH: 'true' }
}
const opencodeGatewayEnv: AgentKind['env'] = (url) => {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'local',
    options: { baseURL: `${url}/v1` },
    models: { served: { name: 'served' } },
  }
  return {
    LOCAL_API_KEY: KEY,
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: 'local/served',
      small_model: 'local/served',
      autoupdate: false,
      provider: { local: provider },
    }),
  }
}

/** A provider for reeve's configuration. The agent's own settings replace its address. */
const localProvider = (): string =>
  'providers: [{ name: local, kind: openai-compatible, baseURL: "http://127.0.0.1:9/v1", apiKeyEnv: LOCAL_API_KEY }]\n'

/** reeve does not read the output of pi, so all usage comes from the gateway. */
const PI: Pick<AgentKind, 'tools' | 'env' | 'body'> = {
  tools: {
    write: (path, content) => ({ name: 'write', input: { path, content } }),
    shell: (command) => ({ name: 'bash', input: { command } }),
  },
  env: (url, home) => {
    mkdirSync(join(home, '.pi/agent'), { recursive: true })
    writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { anthropic: { baseUrl: url } } }))
    return { ANTHROPIC_API_KEY: KEY, PI_OFFLINE: '1' }
  },
  body: (prompt) => ({
    argv: ['pi', '-p', '--mode', 'json', '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', prompt],
    gateway: 'on',
  }),
}

const viaGateway = (kind: TestedKind, env: AgentKind['env'] = kind.env): GatewayKind => ({
  ...kind,
  env,
  body: (prompt) => ({ ...kind.body(prompt), gateway: 'auto' }),
  retriesCutStream: kind.installation !== 'gemini',
  hasKnownOutput: true,
  isPriced: kind.installation.startsWith('claude'),
})

const ALL_GATEWAY_KINDS: readonly GatewayKind[] = [
  ...ALL_KINDS.map((kind) => {
    if (kind.installation.startsWith('codex')) return viaGateway(kind, codexGatewayEnv)
    if (kind.installation === 'gemini') return viaGateway(kind, geminiGatewayEnv)
    if (kind.installation !== 'opencode') return viaGateway(kind)
    return { ...viaGateway(kind, opencodeGatewayEnv), config: localProvider }
  }),
  {
    ...GEMINI,
    name: 'gemini -p',
    installation: 'gemini',
    isCommand: true,
    retriesCutStream: false,
    hasKnownOutput: true,
    isPriced: false,
    body: (prompt) => ({ argv: ['gemini', '--skip-trust', '-p', prompt, '-o', 'stream-json', '--approval-mode', 'yolo'] }),
  },
  {
    ...OPENCODE,
    env: opencodeGatewayEnv,
    config: localProvider,
    name: 'opencode run',
    installation: 'opencode',
    isCommand: true,
    retriesCutStream: true,
    hasKnownOutput: true,
    isPriced: false,
    body: (prompt) => ({ argv: ['opencode', 'run', '--format', 'json', prompt] }),
  },
  { ...PI, name: 'pi -p', installation: 'pi', isCommand: true, retriesCutStream: true, hasKnownOutput: false, isPriced: true },
]

export const GATEWAY_KINDS: readonly GatewayKind[] = ALL_GATEWAY_KINDS.filter(
  ({ installation }) => selectedAgents?.includes(installation) ?? true,
)
