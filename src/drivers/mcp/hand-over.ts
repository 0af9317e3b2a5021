// How an agent of others that is run by its command line is told of reeve's own tools: beside what it is configured to use, with
// a token that stands in a file of its incarnation or in its environment, never in its arguments, and in no file that another
// one could have, too. Tests: test/tables/mcp-hand-over.test.ts, with the agents themselves test/agents/own-tools.test.ts.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readOwn } from '../gateway/own-files.ts'
import { jsonOf, object } from '../gateway/clients/client.ts'
import type { OutputFormat } from '../../kernel/types.ts'
import type { Started } from '../gateway/clients.ts'
import type { Launch, OwnReach } from '../port.ts'

const SERVER = 'reeve'
const TOKEN = 'REEVE_MCP_TOKEN'
/** Longer than the longest answer of `wait`. */
const CALL_S = 300
const GEMINI_SETTINGS = 'GEMINI_CLI_SYSTEM_SETTINGS_PATH'
const OPENCODE_CONTENT = 'OPENCODE_CONFIG_CONTENT'

interface Told {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** one file, by its path */
  readonly file?: readonly [path: string, text: string]
}

type Tell = (reach: OwnReach, at: { readonly dir: string; readonly env: Started['env'] }) => Told

const bearer = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` })

const TELL: Readonly<Record<OutputFormat, Tell>> = {
  // With `=` the option takes one value: what follows is no file. Tools that it hides until they are looked for are never found.
  claude: ({ url, token }, { dir }) => {
    const path = join(dir, 'reeve-mcp.json')
    const config = { mcpServers: { [SERVER]: { type: 'http', url, headers: bearer(token) } } }
    return { args: [`--mcp-config=${path}`, `--allowedTools=mcp__${SERVER}`], env: { ENABLE_TOOL_SEARCH: 'false', MCP_TOOL_TIMEOUT: String(CALL_S * 1_000) }, file: [path, JSON.stringify(config)] }
  },
  codex: ({ url, token }) => {
    const settings = { url, bearer_token_env_var: TOKEN, tool_timeout_sec: CALL_S, default_tools_approval_mode: 'approve' }
    return { args: Object.entries(settings).flatMap(([key, value]) => ['-c', `mcp_servers.${SERVER}.${key}=${JSON.stringify(value)}`]), env: { [TOKEN]: token } }
  },
  // What the system's settings say is merged with the user's; those that were named already are kept.
  gemini: ({ url, token }, { dir, env }) => {
    const before = jsonOf(env[GEMINI_SETTINGS] === undefined ? null : readOwn(env[GEMINI_SETTINGS]))
    const path = join(dir, 'reeve-gemini.json')
    const server = { httpUrl: url, headers: bearer(token), trust: true, timeout: CALL_S * 1_000 }
    return { env: { [GEMINI_SETTINGS]: path }, file: [path, JSON.stringify({ ...before, mcpServers: { ...object(before['mcpServers']), [SERVER]: server } })] }
  },
  opencode: ({ url, token }, { env }) => {
    const before = jsonOf(env[OPENCODE_CONTENT])
    const server = { type: 'remote', url, headers: bearer(token), enabled: true, timeout: CALL_S * 1_000 }
    return { env: { [OPENCODE_CONTENT]: JSON.stringify({ ...before, mcp: { ...object(before['mcp']), [SERVER]: server } }) } }
  },
}

/** `at`: where its own arguments begin. */
export async function withOwnServer({ own, tmpDir }: Pick<Launch, 'own' | 'tmpDir'>, format: OutputFormat, at: number, started: Started): Promise<Started> {
  if (!own) return started
  const { args = [], env, file } = TELL[format](await own.reach(), { dir: tmpDir, env: started.env })
  if (file) {
    await mkdir(tmpDir, { recursive: true, mode: 0o700 })
    await writeFile(file[0], file[1], { mode: 0o600 })
  }
  return { argv: started.argv.toSpliced(at, 0, ...args), env: { ...started.env, ...env } }
}
