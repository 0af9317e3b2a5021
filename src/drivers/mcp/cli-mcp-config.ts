// Configures a command-line agent to use reeve's own tools, in addition to the MCP servers of its own configuration. The token
// is passed in a file of the incarnation or in the environment. The token must never be in the arguments, or in a file that
// other agents use.
// Tests: test/tables/drivers/mcp/cli-mcp-config.test.ts, with real agents test/agents/own-tools.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { writeClientConfig } from '../gateway/clients.ts'
import { homeOf, parseObject, asObject, type Json } from '../gateway/clients/client.ts'
import { markerEnvironment } from '../contain/marker.ts'
import { listUserDir, readUserFile } from '../common/agent-settings-files.ts'
import type { PreparedStart } from '../gateway/clients.ts'
import type { Launch, OwnToolsEndpoint } from '../port.ts'
import type { OutputFormat } from '../../kernel/model/words.ts'

const SERVER_NAME = 'reeve'
const TOKEN_VARIABLE = 'REEVE_MCP_TOKEN'
/** The time limit of a call, in seconds. Longer than the longest wait of the tool `wait`. */
const CALL_TIMEOUT_S = 300
const GEMINI_HOME = 'GEMINI_CLI_HOME'
const SETTINGS_FILE = 'settings.json'
/** The folders of Gemini's sessions, which are linked even before Gemini creates them. */
const GEMINI_SESSION_DIRS = ['tmp', 'history']
/** Matches a section `reeve` with a command in the user's configuration of Codex. */
const CODEX_REEVE_COMMAND = /^[ \t]*\[mcp_servers\."?reeve"?\].*(?:\n(?![ \t]*\[).*)*?\n[ \t]*command[ \t]*=/m
const OPENCODE_CONTENT = 'OPENCODE_CONFIG_CONTENT'

/** Disables Claude Code's tool search, which hides the tools of MCP servers until a search, and then never finds them. */
const CLAUDE_ENV = { ENABLE_TOOL_SEARCH: 'false', MCP_TOOL_TIMEOUT: String(CALL_TIMEOUT_S * 1_000) } as const

/** The arguments, variables, files and links that reeve adds to the start of an agent. */
interface ClientSetup {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** the files to write: texts by path */
  readonly files?: Readonly<Record<string, string>>
  /** the links to create: targets by path */
  readonly links?: Readonly<Record<string, string>>
}

type SetupBuilder = (endpoint: OwnToolsEndpoint, agent: { readonly dir: string; readonly env: PreparedStart['env'] }) => ClientSetup

const authorization = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` })

const SETUP_BUILDERS: Readonly<Record<OutputFormat, SetupBuilder>> = {
  // With `=` the option takes exactly one value, so the next argument is not read as a file.
  claude: ({ url, token }, { dir }) => {
    const path = join(dir, 'reeve-mcp.json')
    const config = { mcpServers: { [SERVER_NAME]: { type: 'http', url, headers: authorization(token) } } }
    return {
      args: [`--mcp-config=${path}`, `--allowedTools=mcp__${SERVER_NAME}`],
      env: CLAUDE_ENV,
      files: { [path]: JSON.stringify(config) },
    }
  },
  // Codex merges these settings into the user's section `reeve`. A section with a command must not get an address. In that case reeve's
  // server is configured as a command, too.
  codex: (
    {
      url,
      token,
      stdio: {
        argv: [command = '', ...args],
        env: bridgeEnv,
      },
    },
    { env },
  ) => {
    const userConfig = readUserFile(join(env['CODEX_HOME'] ?? join(homeOf({ env }), '.codex'), 'config.toml')) ?? ''
    const mustBeCommand = CODEX_REEVE_COMMAND.test(userConfig)
    const connection = mustBeCommand
      ? { command, args, env_vars: [...Object.keys(bridgeEnv), ...Object.keys(markerEnvironment(''))] }
      : { url, bearer_token_env_var: TOKEN_VARIABLE }
    const settings = { ...connection, tool_timeout_sec: CALL_TIMEOUT_S, default_tools_approval_mode: 'approve' }
    return {
      args: Object.entries(settings).flatMap(([key, value]) => ['-c', `mcp_servers.${SERVER_NAME}.${key}=${JSON.stringify(value)}`]),
      env: mustBeCommand ? bridgeEnv : { [TOKEN_VARIABLE]: token },
    }
  },
  // Gemini reads the settings in its folder, and ignores system settings unless root owns them. The agent gets its own folder, with
  // extended settings and links to everything else in the user's folder.
  gemini: ({ url, token }, { dir, env }) => {
    const userDir = join(env[GEMINI_HOME] ?? homeOf({ env }), '.gemini')
    const home = join(dir, 'gemini')
    const ownDir = join(home, '.gemini')
    const userSettings = readSettings(join(userDir, SETTINGS_FILE))
    const server = { httpUrl: url, headers: authorization(token), trust: true, timeout: CALL_TIMEOUT_S * 1_000 }
    const entryNames = new Set([...listUserDir(userDir), ...GEMINI_SESSION_DIRS])
    return {
      env: { [GEMINI_HOME]: home },
      files: {
        [join(ownDir, SETTINGS_FILE)]: JSON.stringify({
          ...userSettings,
          mcpServers: { ...asObject(userSettings['mcpServers']), [SERVER_NAME]: server },
        }),
      },
      links: Object.fromEntries(
        [...entryNames].filter((name) => name !== SETTINGS_FILE).map((name) => [join(ownDir, name), join(userDir, name)]),
      ),
    }
  },
  // The settings only refer to the variable with the token. Programs that OpenCode's tools start get the settings, but not the variable.
  opencode: ({ url, token }, { env }) => {
    const userSettings = parseObject(env[OPENCODE_CONTENT])
    const server = {
      type: 'remote',
      url,
      headers: authorization(`{env:${TOKEN_VARIABLE}}`),
      enabled: true,
      timeout: CALL_TIMEOUT_S * 1_000,
    }
    return {
      env: {
        [TOKEN_VARIABLE]: token,
        [OPENCODE_CONTENT]: JSON.stringify({ ...userSettings, mcp: { ...asObject(userSettings['mcp']), [SERVER_NAME]: server } }),
      },
    }
  },
}

/** Reads the user's settings. Errors: `AGENT_INVALID` for settings that cannot be parsed, because reeve's copy would lose them. */
function readSettings(path: string): Json {
  const text = readUserFile(path)
  const settings = parseObject(text)
  if (text !== null && text.trim() !== '' && Object.keys(settings).length === 0 && !/^\s*\{\s*\}\s*$/.test(text))
    throw new KernelError(
      'AGENT_INVALID',
      `${path} is not plain JSON (it may contain comments), so reeve cannot add its tools to these settings: remove the comments`,
    )
  return settings
}

/**
 * Adds Claude Code's variables to the environment of an ACP agent, to which the server is passed by ACP. Other agents ignore them. The
 * user's values win.
 */
export function ownToolsEnv({ ownTools: own }: Pick<Launch, 'ownTools'>, env: PreparedStart['env']): PreparedStart['env'] {
  return own ? { ...CLAUDE_ENV, ...env } : env
}

/** Adds reeve's server to the command line and environment of an agent. `insertAt` is the index at which arguments are inserted. */
export async function withReeveServer(
  { ownTools: own, tmpDir }: Pick<Launch, 'ownTools' | 'tmpDir'>,
  format: OutputFormat,
  insertAt: number,
  start: PreparedStart,
): Promise<PreparedStart> {
  if (!own) return start
  const { args = [], env, ...files } = SETUP_BUILDERS[format](await own.endpoint(), { dir: tmpDir, env: start.env })
  await writeClientConfig(files)
  return {
    argv: start.argv.toSpliced(insertAt, 0, ...args),
    env: format === 'claude' ? { ...env, ...start.env } : { ...start.env, ...env },
  }
}
