// The coding agents of the tests: their start, the model server's address, and the names of their tools. The file
// has their limits as well, which docs/external-agents.md lists.
// REEVE_KINDS selects some, by their names in scripts/agents.ts. With REEVE_NEWEST, tests that use `andNewest` run the newest versions
// beside the pinned ones. Tests: test/agents/*.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newest, type AgentName } from '../../scripts/agents.ts'
import type { ServedTool } from '../support/models/model-server.ts'
import type { Kind } from './bench.ts'

export interface Expected {
  /** names of the two tools in reeve's reports */
  readonly tools: readonly [RegExp, RegExp]
  /** the agent reports only the tokens of its last model call, and the rest is an estimate */
  readonly isEstimated: boolean
  /** the agent reports the results of its tools */
  readonly tellsResults: boolean
}

/** `isCommand`: a pause freezes it at once; other agents are driven by ACP, and drain at the end of their turn. */
export type Known = Kind & { readonly expected: Expected; readonly isCommand: boolean }

/** No agent at the gateway may see this key. */
export const KEY = 'key-of-the-test'

const CLAUDE: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    write: (file_path, content) => ({ name: 'Write', input: { file_path, content } }),
    shell: (command) => ({ name: 'Bash', input: { command, description: 'runs it' } }),
    own: (name, input) => ({ name: `mcp__reeve__${name}`, input }),
  },
  env: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
}

const codexShell = (cmd: string): ServedTool => ({ name: 'exec_command', input: { cmd } })

/** The home of Codex, with a settings file: the first line belongs to its top, the others to its end. */
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

/** Its file edits are shell calls that Codex reads as patches. */
const CODEX: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    shell: codexShell,
    own: (name, input) => ({ namespace: 'mcp__reeve', name, input }),
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

const GEMINI: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    write: (file_path, content) => ({ name: 'write_file', input: { file_path, content } }),
    shell: (command) => ({ name: 'run_shell_command', input: { command, description: 'runs it' } }),
    own: (name, input) => ({ name: `mcp_reeve_${name}`, input }),
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

const OPENCODE: Pick<Kind, 'hands' | 'env'> = {
  hands: {
    write: (filePath, content) => ({ name: 'write', input: { filePath, content } }),
    shell: (command) => ({ name: 'bash', input: { command, description: 'runs it' } }),
    own: (name, input) => ({ name: `reeve_${name}`, input }),
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

const byAcp = (agent: string): Pick<Known, 'body' | 'isCommand'> => ({
  isCommand: false,
  body: (intent) => ({ agent, intent, permissions: 'allow', gateway: 'off' }),
})

const all = { isEstimated: false, tellsResults: true } as const

const ALL: readonly Known[] = [
  {
    ...CLAUDE,
    name: 'claude -p',
    needs: 'claude',
    isCommand: true,
    expected: { ...all, tools: [/^Write$/, /^Bash$/] },
    body: (prompt) => ({
      argv: ['claude', '-p', prompt, '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', 'Write'],
      gateway: 'off',
    }),
  },
  {
    ...CODEX,
    name: 'codex exec',
    needs: 'codex',
    isCommand: true,
    expected: { ...all, tools: [/^file_change$/, /^shell$/] },
    body: (prompt) => ({ argv: ['codex', 'exec', '--json', '--skip-git-repo-check', prompt] }),
  },
  { ...CLAUDE, ...byAcp('claude'), name: 'claude by ACP', needs: 'claude-acp', expected: { ...all, tools: [/^Write$/, /^Bash$/] } },
  { ...CODEX, ...byAcp('codex'), name: 'codex by ACP', needs: 'codex-acp', expected: { ...all, tools: [/^edit$/, /^exec_command$/] } },
  {
    ...GEMINI,
    ...byAcp('gemini'),
    name: 'gemini by ACP',
    needs: 'gemini',
    expected: { ...all, tools: [/^edit$/, /^execute$/], tellsResults: false },
  },
  {
    ...OPENCODE,
    ...byAcp('opencode'),
    name: 'opencode by ACP',
    needs: 'opencode',
    expected: { ...all, tools: [/^edit$/, /^execute$/], isEstimated: true },
  },
]

const chosen = process.env['REEVE_KINDS']?.split(',') as readonly AgentName[] | undefined

export const KINDS: readonly Known[] = ALL.filter(({ needs }) => chosen?.includes(needs) ?? true)

/** The same agents once more in the newest version, where that differs. */
export function andNewest<K extends Kind>(kinds: readonly K[]): readonly K[] {
  if (process.env['REEVE_NEWEST'] !== '1') return kinds
  return [
    ...kinds,
    ...kinds.flatMap((kind) => {
      const found = newest(kind.needs)
      return found === null ? [] : [{ ...kind, name: `${kind.name} ${found.version}`, program: found.program }]
    }),
  ]
}

/** Agents as users have them, with a key and an address in their environment: they use the gateway. */
export interface Gated extends Kind {
  readonly isCommand: boolean
  /** the agent repeats a request after a cut stream */
  readonly survivesCut: boolean
  /** reeve reads its output, and it continues its session */
  readonly isUnderstood: boolean
  /** the price of its model is known */
  readonly isPriced: boolean
}

const viaCodex: Kind['env'] = (url, home) => ({ CODEX_HOME: codexHome(home), OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: KEY })
const viaGemini: Kind['env'] = (url, home) => {
  mkdirSync(join(home, '.gemini'))
  writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify({ ...QUIET_GEMINI, security: { folderTrust: { enabled: false } } }))
  return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY, GEMINI_CLI_NO_RELAUNCH: 'true' }
}
const viaOpencode: Kind['env'] = (url) => {
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

/** The address comes from the agent's settings. */
const localProvider = (): string =>
  'providers: [{ name: local, kind: openai-compatible, baseURL: "http://127.0.0.1:9/v1", apiKeyEnv: LOCAL_API_KEY }]\n'

/** reeve does not read its output: all usage comes from the gateway. */
const PI: Pick<Kind, 'hands' | 'env' | 'body'> = {
  hands: {
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

const gated = (kind: Known, env: Kind['env'] = kind.env): Gated => ({
  ...kind,
  env,
  body: (prompt) => ({ ...kind.body(prompt), gateway: 'auto' }),
  survivesCut: kind.needs !== 'gemini',
  isUnderstood: true,
  isPriced: kind.needs.startsWith('claude'),
})

const GATED_ALL: readonly Gated[] = [
  ...ALL.map((kind) => {
    if (kind.needs.startsWith('codex')) return gated(kind, viaCodex)
    if (kind.needs === 'gemini') return gated(kind, viaGemini)
    if (kind.needs !== 'opencode') return gated(kind)
    return { ...gated(kind, viaOpencode), config: localProvider }
  }),
  {
    ...GEMINI,
    name: 'gemini -p',
    needs: 'gemini',
    isCommand: true,
    survivesCut: false,
    isUnderstood: true,
    isPriced: false,
    body: (prompt) => ({ argv: ['gemini', '--skip-trust', '-p', prompt, '-o', 'stream-json', '--approval-mode', 'yolo'] }),
  },
  {
    ...OPENCODE,
    env: viaOpencode,
    config: localProvider,
    name: 'opencode run',
    needs: 'opencode',
    isCommand: true,
    survivesCut: true,
    isUnderstood: true,
    isPriced: false,
    body: (prompt) => ({ argv: ['opencode', 'run', '--format', 'json', prompt] }),
  },
  { ...PI, name: 'pi -p', needs: 'pi', isCommand: true, survivesCut: true, isUnderstood: false, isPriced: true },
]

export const GATED: readonly Gated[] = GATED_ALL.filter(({ needs }) => chosen?.includes(needs) ?? true)
