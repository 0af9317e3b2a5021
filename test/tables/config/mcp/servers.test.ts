// MCP servers in configuration: `.mcp.json`, reeve's own keys, the variables in texts, the servers of a process, and the recorded fields.
// Their resolution at the start: trust, variables, secrets.
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findAgent } from '../../../../src/config/agents/find-agents.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { trustDirectory } from '../../../../src/config/edit.ts'
import { parseMcpJson } from '../../../../src/config/mcp/parse-servers.ts'
import { resolveMcpServers, mcpVariableNames } from '../../../../src/config/mcp/resolve-servers.ts'
import { selectServers } from '../../../../src/config/mcp/select-servers.ts'
import { pathsFrom, type Paths } from '../../../../src/config/paths.ts'
import { expandVariables, withDefaults, variablesIn } from '../../../../src/config/expand-variables.ts'
import type { McpStart } from '../../../../src/kernel/model/mcp-start.ts'
import type { McpServer } from '../../../../src/kernel/model/spec-parts.ts'
import { ROOT } from '../../../support/env.ts'
import { tempDir } from '../../../support/tmp.ts'

const FILE = '/repo/.mcp.json'
const RESERVED = "the name is reserved for reeve's own server (`reeve: true` gives it to an agent); choose another name"
const LOCATION = { file: FILE, dir: '/repo', home: '/repo' }
const KEY = 'sk-0123456789abcdef'

interface Workspace extends AsyncDisposable {
  readonly root: string
  readonly repo: string
  readonly paths: Paths
  write(file: string, text: string | object): void
  /** as at a spawn */
  servers(options?: { chosen?: readonly string[]; agent?: string }): Promise<readonly McpServer[]>
  /** as at the start of an incarnation */
  starts(
    servers: readonly McpServer[],
    credentials?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string>>,
  ): Promise<readonly McpStart[]>
}

async function newWorkspace(): Promise<Workspace> {
  const dir = await tempDir()
  const root = realpathSync(dir.path)
  const repo = join(root, 'repo')
  mkdirSync(repo)
  const paths = pathsFrom({ REEVE_HOME: join(root, 'home') })
  return {
    root,
    repo,
    paths,
    write(file, text) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), typeof text === 'string' ? text : JSON.stringify(text))
    },
    servers: async ({ chosen, agent = 'default' } = {}) =>
      selectServers({ cwd: repo, paths, agent: await findAgent(agent, repo, paths), chosen }),
    starts: (mcp, credentials = {}, env = {}) => resolveMcpServers({ mcp, env, cwd: repo }, credentials, paths),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

const stdioServer = (fields: object = {}): object => ({
  name: 's',
  source: FILE,
  kind: 'stdio',
  argv: ['run'],
  env: {},
  cwd: '/repo',
  ...fields,
})
const serverWithProblem = (name: string, message: string): object => ({
  name,
  source: FILE,
  kind: 'stdio',
  argv: [],
  env: {},
  problem: message,
})

describe('.mcp.json', () => {
  test.each<[string, object, object[]]>([
    ['an empty map has no servers', {}, []],
    ['a command is a server over stdio', { s: { command: 'run' } }, [stdioServer()]],
    [
      'arguments and variables are read as Claude Code writes them',
      { s: { type: 'stdio', command: 'npx', args: ['-y', 'pkg'], env: { A: '${B:-c}', PORT: 3000 } } },
      [stdioServer({ argv: ['npx', '-y', 'pkg'], env: { A: '${B:-c}', PORT: '3000' } })],
    ],
    ['a server may have a directory of its own', { s: { command: 'run', cwd: 'sub' } }, [stdioServer({ cwd: '/repo/sub' })]],
    [
      'a URL is a server over HTTP',
      { s: { type: 'http', url: 'https://x.example/mcp', headers: { A: 'b' } } },
      [{ name: 's', source: FILE, kind: 'http', url: 'https://x.example/mcp', headers: { A: 'b' } }],
    ],
    [
      'a server over HTTP may have another type, or none',
      {
        a: { type: 'streamable-http', url: 'https://a.example' },
        b: { url: 'https://b.example' },
        c: { type: 'sse', url: 'https://c.example' },
      },
      ['a', 'b', 'c'].map((name) => ({ name, source: FILE, kind: 'http', url: `https://${name}.example`, headers: {} })),
    ],
    [
      'unknown keys are noted',
      { s: { command: 'run', alwaysAllow: [], timeout: 3 } },
      [stdioServer({ notes: ['alwaysAllow is not supported', 'timeout is not supported'] })],
    ],
    ['a disabled server is left out', { s: { command: 'run', disabled: true } }, []],
    [
      'a server without a command and a URL is unusable',
      { s: {}, t: { command: 'run' } },
      [serverWithProblem('s', 'it has neither a command nor a url'), stdioServer({ name: 't' })],
    ],
    [
      'a server with a command and a URL is unusable',
      { s: { command: 'a', url: 'b' } },
      [serverWithProblem('s', 'it has a command and a url: it can be only one of them')],
    ],
    [
      'a server whose type does not fit is unusable',
      { s: { type: 'http', command: 'a' } },
      [serverWithProblem('s', 'its type is http, and it has a command')],
    ],
    ['the message for a wrong value names its key', { s: { command: ['a'] } }, [serverWithProblem('s', 'command: must be a text')]],
    [
      "the name of reeve's own server is reserved",
      { reeve: { command: 'c' }, b: { command: 'c' } },
      [serverWithProblem('reeve', RESERVED), { name: 'b', source: FILE, kind: 'stdio', argv: ['c'], cwd: '/repo', env: {} }],
    ],
    ['a list of servers is unusable', [], [serverWithProblem('.mcp.json', '`mcpServers` is not a map of servers')]],
  ])('%s', (_, mcpServers, expected) => {
    expect(parseMcpJson(JSON.stringify({ mcpServers }), LOCATION)).toEqual(expected)
  })

  test('a file that is not JSON gives one unusable server, and its text is not quoted', () => {
    expect(parseMcpJson(`{\n  "a": "${KEY}" "b"\n}`, LOCATION)).toEqual([serverWithProblem('.mcp.json', 'it is not valid JSON (line 2)')])
    expect(parseMcpJson('null', LOCATION)).toEqual([])
  })
})

describe('the variables in a text', () => {
  const lookUp = (name: string): string | undefined => ({ A: 'one', EMPTY: '' })[name]

  test.each([
    ['plain', 'plain', [], 'plain'],
    ['${A}/${A}', 'one/one', ['A'], '/'],
    ['${B:-two} ${A:-x}', 'two one', ['B', 'A'], 'two x'],
    ['${EMPTY:-two}|${EMPTY}', 'two|', ['EMPTY'], 'two|'],
    ['$A ${1} ${a b}', '$A ${1} ${a b}', [], '$A ${1} ${a b}'],
  ])('of %j are found and replaced', (text, expanded, names, literal) => {
    expect([expandVariables(text, lookUp), variablesIn(text), withDefaults(text)]).toEqual([expanded, names, literal])
  })

  test('have an error that names a missing variable', () => {
    expect(() => expandVariables('${A}${GONE}', lookUp)).toThrow('the variable GONE is not set')
  })
})

describe('the servers of a process', () => {
  async function workspaceOfThree(): Promise<Workspace> {
    const workspace = await newWorkspace()
    workspace.write('home/config.yaml', 'mcp:\n  user: { command: u }\n  both: { command: of-user }\n')
    workspace.write('repo/.mcp.json', { mcpServers: { both: { command: 'of-project' }, project: { command: 'p' } } })
    workspace.write('repo/.reeve/agents/own.md', '---\nmcp: { own: { command: o }, both: { command: of-agent } }\n---\n')
    workspace.write('repo/.reeve/agents/names.md', '---\nmcp: [user, { own: { command: o } }]\n---\n')
    workspace.write('repo/.reeve/agents/none.md', '---\nmcp: []\n---\n')
    workspace.write('repo/.reeve/agents/wrong.md', '---\nmcp: [gone]\n---\n')
    workspace.write(
      'repo/.claude/agents/claude.md',
      '---\nname: claude\nmcpServers:\n  - user\n  - inline:\n      type: stdio\n      command: c\n---\n',
    )
    return workspace
  }

  const commandsOf = (servers: readonly McpServer[]): string[] =>
    servers.map((server) => `${server.name}:${server.kind === 'stdio' ? server.argv[0] : server.url}`)

  test.each([
    ['default', undefined, ['both:of-project', 'project:p', 'user:u']],
    ['own', undefined, ['own:o', 'both:of-agent']],
    ['names', undefined, ['own:o', 'user:u']],
    ['none', undefined, []],
    ['claude', undefined, ['inline:c', 'user:u']],
    ['default', ['none'], []],
    ['default', ['user', 'both'], ['user:u', 'both:of-project']],
    ['own', ['both'], ['both:of-agent']],
  ])('of the agent `%s` with the chosen names %j are %j', async (agent, chosen, expected) => {
    await using workspace = await workspaceOfThree()
    expect(commandsOf(await workspace.servers({ agent, ...(chosen ? { chosen } : {}) }))).toEqual(expected)
  })

  test('an unknown name is an error that lists the known names', async () => {
    await using workspace = await workspaceOfThree()
    await expect(workspace.servers({ agent: 'wrong' })).rejects.toThrow(
      'agent "wrong": there is no MCP server "gone"; there are both, project, user',
    )
    await expect(workspace.servers({ chosen: ['x'] })).rejects.toThrow('there is no MCP server "x"; there are both, project, user')
  })

  test('an error in config.yaml is reported with its line; unknown keys are refused', async () => {
    await using workspace = await newWorkspace()
    workspace.write('home/config.yaml', 'mcp:\n  gh:\n    comand: x\n')
    await expect(workspace.servers()).rejects.toThrow('config.yaml:3: unknown key `mcp.gh.comand`; did you mean `command`?')
    workspace.write('home/config.yaml', 'mcp:\n  gh: { command: x }\n  reeve:\n    command: x\n')
    await expect(workspace.servers()).rejects.toThrow(`config.yaml:3: mcp.reeve: is not a valid name: ${RESERVED}`)
    workspace.write('home/config.yaml', 'mcp:\n  gh: { url: https://x.example, effects: { read: often } }\n')
    await expect(workspace.servers()).rejects.toThrow('config.yaml:2: mcp.gh.effects.read: ')
  })
})

describe('the recorded fields', () => {
  test.each<[string, object, object]>([
    [
      'references to variables are recorded',
      { env: { TOKEN: '${GH_TOKEN}', A_KEY: '${X:-}' } },
      { env: { TOKEN: '${GH_TOKEN}', A_KEY: '${X:-}' } },
    ],
    ['harmless values are recorded', { env: { MODE: 'fast', KEY_FILE: '/k' } }, { env: { MODE: 'fast', KEY_FILE: '/k' } }],
    ['a value under the name of a secret is left out', { env: { API_KEY: 'hunter2' } }, { env: { API_KEY: null } }],
    ['a value in the form of a key is left out', { env: { MODE: KEY } }, { env: { MODE: null } }],
    [
      'a reference with a secret default is left out',
      { env: { API_KEY: '${X:-hunter2}', MODE: `\${X:-${KEY}}` } },
      { env: { API_KEY: null, MODE: null } },
    ],
    [
      'a server with a key in its arguments is unusable',
      { args: [KEY] },
      { problem: 'its arguments seem to contain a secret, which other programs could read; put it into env', argv: [], env: {} },
    ],
    [
      'a server with a named key in its arguments is unusable',
      { args: ['--api-key=hunter2'] },
      { problem: 'its arguments seem to contain a secret, which other programs could read; put it into env' },
    ],
    ['arguments that refer to a key are recorded', { args: ['--api-key=${X}'] }, { argv: ['run', '--api-key=${X}'] }],
  ])('%s', async (_, entry, expected) => {
    await using workspace = await newWorkspace()
    workspace.write('repo/.mcp.json', { mcpServers: { s: { command: 'run', ...entry } } })
    expect(await workspace.servers()).toMatchObject([expected])
  })

  test.each([
    ['a header without a reference is left out', { headers: { 'X-Mode': 'fast' } }, { headers: { 'X-Mode': null } }],
    [
      'a header with a reference is recorded',
      { headers: { Authorization: 'Bearer ${TOKEN}' } },
      { headers: { Authorization: 'Bearer ${TOKEN}' } },
    ],
    [
      'a header whose reference has a secret default is left out',
      { headers: { 'X-Api-Key': '${TOKEN:-hunter2}' } },
      { headers: { 'X-Api-Key': null } },
    ],
    [
      'a server with a password in its URL is unusable',
      { url: 'https://me:hunter2@x.example' },
      { problem: 'its url seems to contain a secret; put it into a variable and write ${NAME}, or into a header' },
    ],
    [
      'a server with a key in its URL is unusable',
      { url: 'https://x.example/mcp?api_key=hunter2' },
      { problem: 'its url seems to contain a secret; put it into a variable and write ${NAME}, or into a header' },
    ],
    [
      'a URL that refers to a key is recorded',
      { url: 'https://x.example/mcp?api_key=${K}' },
      { url: 'https://x.example/mcp?api_key=${K}' },
    ],
  ])('%s', async (_, entry, expected) => {
    await using workspace = await newWorkspace()
    workspace.write('repo/.mcp.json', { mcpServers: { s: { url: 'https://x.example', ...entry } } })
    expect(await workspace.servers()).toMatchObject([expected])
  })

  test('variables that may be keys are those of usable servers that the environment lacks', async () => {
    await using workspace = await newWorkspace()
    workspace.write('repo/.mcp.json', {
      mcpServers: { a: { command: '${A}', args: ['${B}'], env: { X: '${C}${A}' } }, b: { url: '${D}', headers: { H: '${E:-x}' } } },
    })
    const mcp = await workspace.servers()
    expect(await mcpVariableNames({ mcp, env: {} }, workspace.paths)).toEqual([])
    await trustDirectory(workspace.paths, workspace.repo)
    expect(await mcpVariableNames({ mcp, env: { B: 'known' } }, workspace.paths)).toEqual(['A', 'C', 'D', 'E'])
  })
})

describe('at the start', () => {
  test("a project's servers need trust; servers of the user, and servers that the user names, do not", async () => {
    await using workspace = await newWorkspace()
    workspace.write('home/config.yaml', 'mcp: { user: { command: u } }\n')
    workspace.write('repo/.mcp.json', { mcpServers: { project: { command: 'p' } } })
    const statesOf = async (servers: readonly McpServer[]): Promise<string[]> =>
      (await workspace.starts(servers)).map((mcpStart) => `${mcpStart.name}:${mcpStart.state}`)
    const servers = await workspace.servers()
    expect(await statesOf(servers)).toEqual(['project:untrusted', 'user:ready'])
    expect(await workspace.starts(servers)).toMatchObject([
      { why: `${workspace.repo}/.mcp.json is not trusted to start programs: reeve config trust ${workspace.repo}` },
      {},
    ])
    expect(await statesOf(await workspace.servers({ chosen: ['project'] }))).toEqual(['project:ready'])
    expect(await trustDirectory(workspace.paths, workspace.repo)).toMatchObject({ after: [workspace.repo] })
    expect(await statesOf(servers)).toEqual(['project:ready', 'user:ready'])
  })

  test('naming one of the user’s own servers starts no other server of that name', async () => {
    await using workspace = await newWorkspace()
    workspace.write('home/config.yaml', 'mcp: { mine: { command: u }, user: { command: u } }\n')
    workspace.write('repo/.mcp.json', { mcpServers: { mine: { command: 'evil' }, project: { command: 'p' } } })
    const statesOf = async (): Promise<string[]> =>
      (await workspace.starts(await workspace.servers({ chosen: ['mine', 'user', 'project'] }))).map(
        (mcpStart) => `${mcpStart.name}:${mcpStart.state}`,
      )
    expect(await statesOf()).toEqual(['mine:untrusted', 'user:ready', 'project:ready'])
    await trustDirectory(workspace.paths, workspace.repo)
    expect(await statesOf()).toEqual(['mine:ready', 'user:ready', 'project:ready'])
  })

  test('the advice never recommends trust in a home directory', async () => {
    await using workspace = await newWorkspace()
    workspace.write('repo/.mcp.json', { mcpServers: { project: { command: 'p' } } })
    const adviceFor = async (home: string): Promise<unknown> =>
      (await workspace.starts(await workspace.servers(), {}, { HOME: home })).map(
        (mcpStart) => 'why' in mcpStart && mcpStart.why.split(': ')[1],
      )
    expect(await adviceFor(join(workspace.root, 'elsewhere'))).toEqual([`reeve config trust ${workspace.repo}`])
    const tooMuch = `add the server to config.yaml, or name it with --mcp (do not trust all of ${workspace.repo})`
    expect([await adviceFor(workspace.repo), await adviceFor(join(workspace.repo, 'me'))]).toEqual([[tooMuch], [tooMuch]])
  })

  test('an agent file of a project needs the same trust as its .mcp.json; a link into a trusted directory is not trusted', async () => {
    await using workspace = await newWorkspace()
    workspace.write('repo/.reeve/agents/a.md', '---\nmcp: { own: { command: o } }\n---\n')
    expect(await workspace.starts(await workspace.servers({ agent: 'a' }))).toMatchObject([
      { state: 'untrusted', why: expect.stringContaining(`reeve config trust ${workspace.repo}`) },
    ])
    mkdirSync(join(workspace.root, 'trusted'))
    symlinkSync(workspace.repo, join(workspace.root, 'trusted', 'link'))
    await trustDirectory(workspace.paths, join(workspace.root, 'trusted'))
    const [server] = await workspace.servers({ agent: 'a' })
    expect(
      await workspace.starts(server ? [{ ...server, source: join(workspace.root, 'trusted/link/.reeve/agents/a.md') }] : []),
    ).toMatchObject([{ state: 'untrusted' }])
  })

  test('trust is added once, and the rest of the file stays', async () => {
    await using workspace = await newWorkspace()
    workspace.write('home/config.yaml', '# mine\ndefaultAgent: x # why\n')
    expect([
      await trustDirectory(workspace.paths, workspace.repo),
      await trustDirectory(workspace.paths, workspace.repo),
      await trustDirectory(workspace.paths, workspace.root),
    ]).toMatchObject([{ after: [workspace.repo] }, { already: workspace.repo }, { after: [workspace.root] }])
    expect((await loadConfig({ paths: workspace.paths, cwd: null })).trusted).toEqual([workspace.root])
    expect(readFileSync(workspace.paths.configFile, 'utf8')).toMatch(/^# mine\ndefaultAgent: x # why\ntrusted:\n/)
  })

  const SECRETS = { TOKEN: 'a-token-of-mine', SHORT: 'abc' }

  test('the values of variables are inserted, and secrets are listed', async () => {
    await using workspace = await newWorkspace()
    workspace.write(
      'home/config.yaml',
      `mcp:
  s: { command: "\${BIN:-run}", args: ["\${HOME}"], env: { TOKEN: "\${TOKEN}", S: "\${SHORT}", API_KEY: "hunter22", MODE: fast }, effects: { look: read }, startTimeout: 3s, callTimeout: 1m }
  h: { url: "https://x.example/\${HOME}", headers: { Authorization: "Bearer \${TOKEN}", X-Other: literal-value } }
`,
    )
    const servers = await workspace.servers()
    expect(JSON.stringify(servers)).not.toMatch(/hunter22|literal-value/)
    expect(await workspace.starts(servers, SECRETS, { HOME: '/me', PATH: '/bin' })).toEqual([
      {
        state: 'ready',
        name: 's',
        effects: { look: 'read' },
        startMs: 3000,
        callMs: 60_000,
        notes: [],
        secrets: ['hunter22', SECRETS.TOKEN],
        transport: {
          kind: 'stdio',
          argv: ['run', '/me'],
          cwd: workspace.repo,
          env: { HOME: '/me', PATH: '/bin', TOKEN: SECRETS.TOKEN, S: 'abc', API_KEY: 'hunter22', MODE: 'fast' },
        },
      },
      {
        state: 'ready',
        name: 'h',
        effects: {},
        startMs: 10_000,
        callMs: 120_000,
        notes: [],
        secrets: ['literal-value', SECRETS.TOKEN],
        transport: {
          kind: 'http',
          url: 'https://x.example//me',
          headers: { Authorization: `Bearer ${SECRETS.TOKEN}`, 'X-Other': 'literal-value' },
        },
      },
    ])
  })

  test.each([
    ['a variable that is not set', '{ command: run, env: { A: "${GONE}" } }', 'the variable GONE is not set'],
    [
      'a secret in the arguments',
      '{ command: run, args: ["--token", "${TOKEN}"] }',
      'its arguments contain the secret TOKEN, which other programs could read; put it into env',
    ],
    ['a URL of another scheme', '{ url: "${HOME}" }', 'its url must start with http or https'],
  ])('%s makes the server unusable', async (_, entry, reason) => {
    await using workspace = await newWorkspace()
    workspace.write('home/config.yaml', `mcp: { s: ${entry} }`)
    expect(await workspace.starts(await workspace.servers(), SECRETS, { HOME: '/me' })).toEqual([
      { state: 'failed', name: 's', why: reason },
    ])
  })

  test('values that were not recorded are read again from their file, also from agent files; a missing one is reported', async () => {
    await using workspace = await newWorkspace()
    const makeAgentFile = (key: string): string => `---\nmcp: { s: { command: run, env: { ${key}: hunter22 } } }\n---\n`
    workspace.write('home/agents/a.md', makeAgentFile('API_KEY'))
    workspace.write('repo/.mcp.json', { mcpServers: { p: { command: 'run', env: { API_KEY: 'hunter33' } } } })
    await trustDirectory(workspace.paths, workspace.repo)
    const servers = [...(await workspace.servers({ agent: 'a' })), ...(await workspace.servers())]
    expect(JSON.stringify(servers)).not.toContain('hunter')
    expect(await workspace.starts(servers)).toMatchObject([
      { transport: { env: { API_KEY: 'hunter22' } } },
      { transport: { env: { API_KEY: 'hunter33' } } },
    ])
    workspace.write('home/agents/a.md', makeAgentFile('OTHER'))
    expect(await workspace.starts(servers.slice(0, 1))).toEqual([
      { state: 'failed', name: 's', why: `its API_KEY is missing in ${join(workspace.paths.agentsDir, 'a.md')}` },
    ])
  })
})

test('the examples of docs/reference/mcp.md work unchanged', async () => {
  await using workspace = await newWorkspace()
  const page = readFileSync(join(ROOT, 'docs/reference/mcp.md'), 'utf8')
  const blocks = [...page.matchAll(/```(json|yaml)\n(.*?)```/gs)].map(([, kind, text]) => ({ kind, text: text ?? '' }))
  expect(blocks.map(({ kind }) => kind)).toEqual(['json', 'yaml'])
  workspace.write('repo/.mcp.json', blocks[0]?.text ?? '')
  workspace.write('home/config.yaml', '')
  expect(await workspace.servers()).toMatchObject([
    { name: 'files', kind: 'stdio' },
    { name: 'issues', kind: 'http' },
  ])
  workspace.write('repo/.mcp.json', '{}')
  workspace.write('home/config.yaml', blocks[1]?.text ?? '')
  expect(await workspace.servers()).toMatchObject([
    { name: 'files', startMs: 10_000, callMs: 120_000, effects: { list_files: 'read' } },
    { name: 'issues' },
  ])
})
