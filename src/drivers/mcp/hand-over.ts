// How an agent of others that is run by its command line is told of reeve's own tools: beside what it is configured to use, with
// a token that stands in a file of its incarnation or in its environment, never in its arguments, and in no file that another
// one could have, too. Tests: test/tables/mcp-hand-over.test.ts, with the agents themselves test/agents/own-tools.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import { writeTold } from '../gateway/clients.ts'
import { homeOf, jsonOf, object, type Json } from '../gateway/clients/client.ts'
import { namesIn, readOwn } from '../gateway/own-files.ts'
import type { OutputFormat } from '../../kernel/types.ts'
import type { Started } from '../gateway/clients.ts'
import type { Launch, OwnReach } from '../port.ts'

const SERVER = 'reeve'
const TOKEN = 'REEVE_MCP_TOKEN'
/** Longer than the longest answer of `wait`. */
const CALL_S = 300
const GEMINI_HOME = 'GEMINI_CLI_HOME'
const SETTINGS = 'settings.json'
/** Where its sessions are, also before it has made them. */
const GEMINI_KEEPS = ['tmp', 'history']
/** A section of that name that has a command. */
const CODEX_OWN = /^[ \t]*\[mcp_servers\."?reeve"?\].*(?:\n(?![ \t]*\[).*)*?\n[ \t]*command[ \t]*=/m
const OPENCODE_CONTENT = 'OPENCODE_CONFIG_CONTENT'

/** It hides tools of servers until they are looked for, and then they are never found. */
const CLAUDE_ENV = { ENABLE_TOOL_SEARCH: 'false', MCP_TOOL_TIMEOUT: String(CALL_S * 1_000) } as const

interface Told {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** texts by path, and links */
  readonly files?: Readonly<Record<string, string>>
  readonly links?: Readonly<Record<string, string>>
}

type Tell = (reach: OwnReach, at: { readonly dir: string; readonly env: Started['env'] }) => Told

const bearer = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` })

const TELL: Readonly<Record<OutputFormat, Tell>> = {
  // With `=` the option takes one value: what follows is no file.
  claude: ({ url, token }, { dir }) => {
    const path = join(dir, 'reeve-mcp.json')
    const config = { mcpServers: { [SERVER]: { type: 'http', url, headers: bearer(token) } } }
    return { args: [`--mcp-config=${path}`, `--allowedTools=mcp__${SERVER}`], env: CLAUDE_ENV, files: { [path]: JSON.stringify(config) } }
  },
  // What it has in its own file under this name is merged, and a program with an address is an error: then it gets a program.
  codex: ({ url, token, stdio: { argv: [command = '', ...args], env: bridge } }, { env }) => {
    const own = readOwn(join(env['CODEX_HOME'] ?? join(homeOf({ env }), '.codex'), 'config.toml')) ?? ''
    const isProgram = CODEX_OWN.test(own)
    const reached = isProgram ? { command, args, env_vars: Object.keys(bridge) } : { url, bearer_token_env_var: TOKEN }
    const settings = { ...reached, tool_timeout_sec: CALL_S, default_tools_approval_mode: 'approve' }
    return { args: Object.entries(settings).flatMap(([key, value]) => ['-c', `mcp_servers.${SERVER}.${key}=${JSON.stringify(value)}`]), env: isProgram ? bridge : { [TOKEN]: token } }
  },
  // It reads no settings but those in its folder, and of the system's only what is root's: it gets a folder of its own, in which all
  // of the user's but those is linked.
  gemini: ({ url, token }, { dir, env }) => {
    const from = join(env[GEMINI_HOME] ?? homeOf({ env }), '.gemini')
    const home = join(dir, 'gemini')
    const to = join(home, '.gemini')
    const before = settingsIn(join(from, SETTINGS))
    const server = { httpUrl: url, headers: bearer(token), trust: true, timeout: CALL_S * 1_000 }
    const names = new Set([...namesIn(from), ...GEMINI_KEEPS])
    return {
      env: { [GEMINI_HOME]: home },
      files: { [join(to, SETTINGS)]: JSON.stringify({ ...before, mcpServers: { ...object(before['mcpServers']), [SERVER]: server } }) },
      links: Object.fromEntries([...names].filter((name) => name !== SETTINGS).map((name) => [join(to, name), join(from, name)])),
    }
  },
  // What is in its settings goes on to what its tools start; the variable does not.
  opencode: ({ url, token }, { env }) => {
    const before = jsonOf(env[OPENCODE_CONTENT])
    const server = { type: 'remote', url, headers: bearer(`{env:${TOKEN}}`), enabled: true, timeout: CALL_S * 1_000 }
    return { env: { [TOKEN]: token, [OPENCODE_CONTENT]: JSON.stringify({ ...before, mcp: { ...object(before['mcp']), [SERVER]: server } }) } }
  },
}

/** Errors: AGENT_INVALID for settings that could only be lost. */
function settingsIn(path: string): Json {
  const text = readOwn(path)
  const read = jsonOf(text)
  if (text !== null && text.trim() !== '' && Object.keys(read).length === 0 && !/^\s*\{\s*\}\s*$/.test(text)) throw new KernelError('AGENT_INVALID', `${path} is not plain JSON (comments?), so reeve's tools cannot be put beside what it says`)
  return read
}

/** The same by its adapter to the protocol, which hands the server over itself; nobody else reads these. What the user says of them holds. */
export function ownEnv({ own }: Pick<Launch, 'own'>, env: Started['env']): Started['env'] {
  return own ? { ...CLAUDE_ENV, ...env } : env
}

/** `at`: where its own arguments begin. */
export async function withOwnServer({ own, tmpDir }: Pick<Launch, 'own' | 'tmpDir'>, format: OutputFormat, at: number, started: Started): Promise<Started> {
  if (!own) return started
  const { args = [], env, ...files } = TELL[format](await own.reach(), { dir: tmpDir, env: started.env })
  await writeTold(files)
  return { argv: started.argv.toSpliced(at, 0, ...args), env: format === 'claude' ? { ...env, ...started.env } : { ...started.env, ...env } }
}
