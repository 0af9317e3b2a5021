// The start of external agents with reeve's own tools: the arguments, the environment and the files of each agent.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withReeveServer } from '../../../../src/drivers/mcp/cli-mcp-config.ts'
import { tempDir } from '../../../support/tmp.ts'
import type { OwnTools } from '../../../../src/drivers/port.ts'
import { OUTPUT_FORMATS, type OutputFormat } from '../../../../src/kernel/model/words.ts'

const TOKEN = 'a-token-of-32-bytes'
const OWN_TOOLS: OwnTools = {
  list: [],
  listed: Promise.resolve(),
  call: () => Promise.reject(new Error('must not be called')),
  endpoint: () =>
    Promise.resolve({
      url: 'http://127.0.0.1:4711/mcp',
      token: TOKEN,
      stdio: { argv: ['node', 'main.ts', 'mcp'], env: { REEVE_MCP_TOKEN: TOKEN, REEVE_MCP_SOCKET: '/s' } },
    }),
}

let dir: Awaited<ReturnType<typeof tempDir>>
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(() => dir[Symbol.asyncDispose]())

const startWithTools = (
  format: OutputFormat,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  tmpDir = join(dir.path, 'tmp'),
): ReturnType<typeof withReeveServer> => withReeveServer({ ownTools: OWN_TOOLS, tmpDir }, format, 1, { argv, env })

describe('Claude Code', () => {
  test("gets its own file in addition to the user's servers, and the permission to use it", async () => {
    const { argv, env } = await startWithTools('claude', ['claude', '-p', '--mcp-config', 'mine.json', '--', 'work'])
    const path = join(dir.path, 'tmp/reeve-mcp.json')
    expect(argv).toEqual(['claude', `--mcp-config=${path}`, '--allowedTools=mcp__reeve', '-p', '--mcp-config', 'mine.json', '--', 'work'])
    expect(env).toMatchObject({ ENABLE_TOOL_SEARCH: 'false' })
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      mcpServers: { reeve: { type: 'http', url: 'http://127.0.0.1:4711/mcp', headers: { Authorization: `Bearer ${TOKEN}` } } },
    })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('gets another file in another incarnation', async () => {
    const files = await Promise.all(
      ['one', 'two'].map(async (name) => (await startWithTools('claude', ['claude'], {}, join(dir.path, name))).argv[1]),
    )
    expect(new Set(files).size).toBe(2)
  })
})

describe('Codex', () => {
  test('gets the address in its arguments, and the token in its environment', async () => {
    const { argv, env } = await startWithTools('codex', ['codex', 'exec', '--json', 'work'])
    expect(argv).toEqual([
      'codex',
      '-c',
      'mcp_servers.reeve.url="http://127.0.0.1:4711/mcp"',
      '-c',
      'mcp_servers.reeve.bearer_token_env_var="REEVE_MCP_TOKEN"',
      '-c',
      'mcp_servers.reeve.tool_timeout_sec=300',
      '-c',
      'mcp_servers.reeve.default_tools_approval_mode="approve"',
      'exec',
      '--json',
      'work',
    ])
    expect(env).toEqual({ REEVE_MCP_TOKEN: TOKEN })
  })
})

describe('Codex with a command of that name in its settings', () => {
  test('gets a command, because an additional address would be an error', async () => {
    await writeFile(
      join(dir.path, 'config.toml'),
      'model = "x"\n[mcp_servers.other]\ncommand = "o"\n[mcp_servers.reeve]\nargs = ["mcp"]\ncommand = "reeve"\n',
    )
    const { argv, env } = await startWithTools('codex', ['codex', 'exec'], { CODEX_HOME: dir.path })
    expect(argv.filter((arg) => arg.startsWith('mcp_servers'))).toEqual([
      'mcp_servers.reeve.command="node"',
      'mcp_servers.reeve.args=["main.ts","mcp"]',
      'mcp_servers.reeve.env_vars=["REEVE_MCP_TOKEN","REEVE_MCP_SOCKET","REEVE_PROC","REEVE_UUID","REEVE_PID"]',
      'mcp_servers.reeve.tool_timeout_sec=300',
      'mcp_servers.reeve.default_tools_approval_mode="approve"',
    ])
    expect(env).toMatchObject({ REEVE_MCP_TOKEN: TOKEN, REEVE_MCP_SOCKET: '/s' })
    await writeFile(join(dir.path, 'config.toml'), '[mcp_servers.reeve]\nurl = "http://x"\n[mcp_servers.other]\ncommand = "o"\n')
    expect((await startWithTools('codex', ['codex', 'exec'], { CODEX_HOME: dir.path })).argv.join(' ')).toContain('reeve.url=')
  })
})

describe('Gemini CLI', () => {
  test("gets settings in its own folder, with links to the user's other files", async () => {
    const userFolder = join(dir.path, '.gemini')
    await mkdir(userFolder)
    await writeFile(join(userFolder, 'settings.json'), JSON.stringify({ theme: 'dark', mcpServers: { mine: { command: 'x' } } }))
    await writeFile(join(userFolder, 'oauth_creds.json'), '{}')
    const { argv, env } = await startWithTools('gemini', ['gemini', '-p', 'work'], { HOME: dir.path })
    const home = env['GEMINI_CLI_HOME'] ?? ''
    const path = join(home, '.gemini/settings.json')
    expect([argv, home.startsWith(join(dir.path, 'tmp'))]).toEqual([['gemini', '-p', 'work'], true])
    await writeFile(join(home, '.gemini/tmp/session'), 'kept')
    expect([
      await readFile(join(userFolder, 'tmp/session'), 'utf8'),
      await readFile(join(home, '.gemini/oauth_creds.json'), 'utf8'),
    ]).toEqual(['kept', '{}'])
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      theme: 'dark',
      mcpServers: {
        mine: { command: 'x' },
        reeve: { httpUrl: 'http://127.0.0.1:4711/mcp', headers: { Authorization: `Bearer ${TOKEN}` }, trust: true },
      },
    })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(join(userFolder, 'settings.json'), 'utf8'))).toEqual({
      theme: 'dark',
      mcpServers: { mine: { command: 'x' } },
    })
  })

  test('does not start with settings that are not plain JSON', async () => {
    await mkdir(join(dir.path, '.gemini'))
    await writeFile(join(dir.path, '.gemini/settings.json'), '{ // mine\n "theme": "dark" }')
    await expect(startWithTools('gemini', ['gemini'], { HOME: dir.path })).rejects.toMatchObject({ code: 'AGENT_INVALID' })
  })
})

describe('OpenCode', () => {
  test('gets the server in addition to its settings in the environment', async () => {
    const { argv, env } = await startWithTools('opencode', ['opencode', 'run'], {
      OPENCODE_CONFIG_CONTENT: '{"model":"a/b","mcp":{"mine":{"type":"local"}}}',
    })
    expect(argv).toEqual(['opencode', 'run'])
    expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')).toMatchObject({
      model: 'a/b',
      mcp: {
        mine: { type: 'local' },
        reeve: { type: 'remote', enabled: true, headers: { Authorization: 'Bearer {env:REEVE_MCP_TOKEN}' } },
      },
    })
    expect(env['REEVE_MCP_TOKEN']).toBe(TOKEN)
  })
})

test.each(OUTPUT_FORMATS)('%s has no token in its arguments', async (format) => {
  await mkdir(join(dir.path, 'tmp'))
  expect((await startWithTools(format, ['x', 'y'])).argv.join(' ')).not.toContain(TOKEN)
})

test("an agent without reeve's own tools starts unchanged", async () => {
  const started = { argv: ['claude'], env: {} }
  expect(await withReeveServer({ tmpDir: dir.path }, 'claude', 1, started)).toBe(started)
})
