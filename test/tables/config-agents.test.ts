// Agent files: reeve's format and Claude Code's, what is wrong with a file and where, and which of two wins.
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { userInfo } from 'node:os'
import { describe, expect, test } from 'vitest'
import { parseAgent, type Agent, type AgentSource } from '../../src/config/agent-file.ts'
import { findAgent, findAgents, MAX_AGENT_FILES } from '../../src/config/agents.ts'
import { parseDuration } from '../../src/config/duration.ts'
import { MAX_FILE_BYTES } from '../../src/config/files.ts'
import { paths } from '../../src/config/paths.ts'
import { tempDir } from '../support/tmp.ts'

function good(text: string, source: AgentSource = 'project', file = '/p/file.md'): Agent {
  const parsed = parseAgent(text, file, source)
  if (!parsed.ok) throw new Error(`${parsed.problem.line}: ${parsed.problem.message}`)
  return parsed.value
}

function bad(text: string, source: AgentSource = 'project', file = '/p/file.md'): string {
  const parsed = parseAgent(text, file, source)
  return parsed.ok ? 'it was accepted' : `${parsed.problem.line}: ${parsed.problem.message}`
}

const front = (...lines: string[]): string => ['---', ...lines, '---', 'Be kind.'].join('\n')

describe("reeve's format", () => {
  test('everything that a file can say', () => {
    const text = front('name: tester', 'description: Writes tests', 'driver: native', 'model: openai/gpt-5', 'tools: [read, bash]', 'deny: write, edit', 'limits: { maxSteps: 9, timeout: 1h30m, budgetUsd: 0.5, budgetTokens: 1000 }', 'mcp: [github, { local: { command: ./server } }]', 'restart: permanent')
    expect(good(text)).toEqual({
      name: 'tester', description: 'Writes tests', driver: 'native', command: null, format: null, permissions: null, mode: null, gateway: null, graceMs: null, model: 'openai/gpt-5', fallback: null, effort: null, tools: ['read', 'bash'], deny: ['write', 'edit'],
      mcp: { names: ['github'], own: [{ name: 'local', source: '/p/file.md', kind: 'stdio', argv: ['./server'], env: {} }] },
      limits: { maxSteps: 9, timeoutMs: 5_400_000, budgetUsd: 0.5, budgetTokens: 1000 }, system: 'Be kind.', source: 'project', file: '/p/file.md',
      restart: 'permanent',
      unsupported: [],
    })
  })

  test('the least: the name is the file’s, all else the default', () => {
    expect(good('---\n---\n')).toEqual({
      name: 'file', description: '', driver: 'native', command: null, format: null, permissions: null, mode: null, gateway: null, graceMs: null, model: null, fallback: null, effort: null, tools: null, deny: [], mcp: null, limits: {}, system: null, source: 'project', file: '/p/file.md', unsupported: [],
    })
  })

  test('lines may end in CRLF, the text may begin with a byte order mark and have more lines of dashes', () => {
    expect(good('\uFEFF---\r\nname: x\r\n---\r\nfirst\r\n---\r\nlast\r\n')).toMatchObject({ name: 'x', system: 'first\n---\nlast' })
  })

  test.each([
    ['no front matter', 'Be kind.', '1: the front matter is missing: the first line must be `---`, and another `---` must end it'],
    ['no end of it', '---\nname: x\n', '1: the front matter is missing: the first line must be `---`, and another `---` must end it'],
    ['an unknown key', front('name: x', 'modle: a/b'), '3: unknown key `modle`; did you mean `model`?'],
    ['an unknown limit', front('limits:', '  maxSteps: 1', '  budgetUSD: 1'), '4: unknown key `limits.budgetUSD`; did you mean `budgetUsd`?'],
    ['an unknown tool', front('tools: [read, Bash]'), '2: tools: there is no tool `Bash`; did you mean `bash`?'],
    ['a tool that is like no other', front('tools: fetch_the_web'), '2: tools: there is no tool `fetch_the_web`; there are read, write, edit, ls, glob, grep, bash and mcp__SERVER__TOOL'],
    ['permissions that would hold nothing', front('driver: command', 'command: [claude, -p]', 'permissions: deny'), '4: permissions: the driver command has none: what it may do, the flags in its `command` say'],
    ["a server with the name of reeve's own", front('mcp: { reeve: { command: x } }'), "2: mcp: reeve: is no name that can stand here: reeve's own server has it (`reeve: true` gives that to an agent); give this one another name"],
    ['a server without a command', front('mcp: { gh: { args: [x] } }'), '2: mcp: gh: it has neither a command nor a url'],
    ['no model', front('model: gpt-5'), '2: model: expected provider/name, script:FILE or replay:UUID'],
    ['a duration without a unit', front('limits: { timeout: "90" }'), '2: limits.timeout: expected a duration such as 90s, 10m or 1h30m'],
    ['no steps', front('name: x', 'limits: { maxSteps: 0 }'), '3: limits.maxSteps: must be at least 1'],
    ['a name with a slash', front('name: a/b'), '2: name: expected a name of up to 64 letters, digits, dots, dashes and underscores'],
    ['the name of commands', front('name: command'), '1: the name `command` is taken: it is what `run -- CMD` is called'],
    ['an agent of others without its program', front('name: x', 'driver: acp'), '3: driver: acp needs a `command`: the list of its program and arguments'],
    ['what its driver has not', front('driver: acp', 'command: [x]', 'effort: high'), '4: effort: the driver acp has none'],
    ['a permission for what nobody asks', front('permissions: allow'), '2: permissions: the driver native has none'],
    ['a grace for what ends at once', front('grace: 3s'), '2: grace: the driver native has none'],
    ['a grace without a unit', front('driver: acp', 'command: [x]', 'grace: 3'), '4: grace: must be a text'],
    ['a model for a command line', front('driver: command', 'command: [x]', 'model: a/b'), '4: model: the driver command has none'],
    ['no permission', front('driver: acp', 'command: [x]', 'permissions: maybe'), '4: permissions: expected ask, allow, deny, or { default: …, tools: { NAME: … } }'],
    ['broken YAML', front('name: x', 'tools: [read'), '3: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]'],
  ])('is refused: %s', (_, text, message) => {
    expect(bad(text)).toBe(message)
  })

  test('an agent that speaks ACP', () => {
    const text = front('driver: acp', 'command: [my-agent, --acp]', 'model: opus', 'mode: plan', 'grace: 1.5s', 'deny: [bash]', 'permissions: { default: allow, tools: { execute: ask } }')
    expect(good(text)).toMatchObject({
      driver: 'acp', command: ['my-agent', '--acp'], format: null, model: 'opus', mode: 'plan', graceMs: 1_500, deny: ['bash'],
      permissions: { default: 'allow', tools: { execute: 'ask' } }, unsupported: [],
    })
    expect(good(front('driver: acp', 'command: [x]', 'permissions: deny')).permissions).toEqual({ default: 'deny' })
    expect(good(front('driver: acp', 'command: [x]', 'permissions: { tools: { read: allow } }')).permissions).toEqual({ default: 'ask', tools: { read: 'allow' } })
  })

  test('an agent that is told by its command line', () => {
    expect(good(front('driver: command', 'command: [my-claude, -p]', 'format: claude'))).toMatchObject({ driver: 'command', command: ['my-claude', '-p'], format: 'claude' })
  })
})

describe("Claude Code's format", () => {
  test.each([
    ['names with commas', 'tools: Read, Grep,Bash', { tools: ['read', 'grep', 'bash'], unsupported: [] }],
    ['a list', 'tools: [Read, MultiEdit, Edit]', { tools: ['read', 'edit'], unsupported: [] }],
    ['none said is all', 'color: red', { tools: null, unsupported: [] }],
    ['unknown tools are told, and grant nothing', 'tools: WebFetch', { tools: [], unsupported: ['tools: WebFetch is not supported'] }],
    ['tools of MCP servers have the same names', 'tools: Read, mcp__x__y, mcp__z', { tools: ['read', 'mcp__x__y', 'mcp__z'], unsupported: [] }],
    ['a pattern does not become the whole tool', 'tools: Read, Bash(git add:*, git commit:*)', { tools: ['read'], unsupported: ['tools: Bash(git add:*, git commit:*) is not supported'] }],
    ['denied tools', 'disallowedTools: Bash, Write', { tools: null, deny: ['bash', 'write'], unsupported: [] }],
    ['sonnet', 'model: sonnet', { model: 'anthropic/claude-sonnet-5', unsupported: [] }],
    ['opus', 'model: opus', { model: 'anthropic/claude-opus-5-5', unsupported: [] }],
    ['haiku', 'model: haiku', { model: 'anthropic/claude-haiku-4-5', unsupported: [] }],
    ['inherit', 'model: inherit', { model: null, unsupported: [] }],
    ['a whole name', 'model: claude-sonnet-4-5-20250929', { model: 'anthropic/claude-sonnet-4-5-20250929', unsupported: [] }],
    ['another model', 'model: gpt', { model: null, unsupported: ['model: gpt is not known; the default model is used'] }],
    ['turns', 'maxTurns: 7', { limits: { maxSteps: 7 }, unsupported: [] }],
    ['what else there is', 'permissionMode: plan', { unsupported: ['permissionMode is not supported'] }],
  ])('%s', (_, line, expected) => {
    expect(good(front('name: x', line), 'claude')).toMatchObject(expected)
  })

  test('front matter that is no YAML is read line by line', () => {
    const text = front('name: reviewer', 'description: Use it when: code was written. Examples: <example>user: "hi"</example>', 'tools: Read', 'model: opus')
    expect(good(text, 'claude')).toMatchObject({ name: 'reviewer', description: 'Use it when: code was written. Examples: <example>user: "hi"</example>', tools: ['read'], model: 'anthropic/claude-opus-5-5' })
  })
})

describe('finding', () => {
  const agent = (file: string, description: string, ...more: string[]): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, front(`description: ${description}`, ...more))
  }

  /** Without what is built in and is no agent of ours: they are there in each of these. */
  const ofFiles = ({ agents, errors }: Awaited<ReturnType<typeof findAgents>>): Awaited<ReturnType<typeof findAgents>> => {
    return { errors, agents: agents.filter(({ source, driver }) => source !== 'built-in' || driver === 'native') }
  }

  async function place(): Promise<AsyncDisposable & { root: string; cwd: string; find: () => ReturnType<typeof findAgents>; where: ReturnType<typeof paths> }> {
    const dir = await tempDir()
    const cwd = join(dir.path, 'repo', 'pkg')
    mkdirSync(cwd, { recursive: true })
    const where = paths({ REEVE_HOME: join(dir.path, 'home') })
    return { root: dir.path, cwd, where, find: async () => ofFiles(await findAgents(cwd, where)), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
  }

  test('without any file there is the built-in agent', async () => {
    await using here = await place()
    const { agents, errors } = await findAgents(here.cwd, here.where)
    expect(errors).toEqual([])
    expect(agents.map((one) => [one.name, one.source, one.file])).toEqual(['claude', 'codex', 'default', 'gemini', 'opencode'].map((name) => [name, 'built-in', null]))
    expect(agents.find(({ name }) => name === 'default')?.system).toMatch(/^You are a coding agent/)
  })

  test('precedence, one place taken away after the other', async () => {
    await using here = await place()
    const repo = join(here.root, 'repo')
    const order = [
      [join(here.cwd, '.reeve/agents/default.md'), 'project'],
      [join(repo, '.reeve/agents/default.md'), 'project'],
      [join(here.cwd, '.claude/agents/default.md'), 'claude'],
      [join(repo, '.claude/agents/default.md'), 'claude'],
      [join(here.where.agentsDir, 'default.md'), 'user'],
    ] as const
    for (const [file] of order) agent(file, 'one')
    for (const [file, source] of order) {
      expect((await here.find()).agents).toEqual([expect.objectContaining({ name: 'default', file, source })])
      rmSync(file)
    }
    expect((await here.find()).agents).toEqual([expect.objectContaining({ name: 'default', source: 'built-in' })])
  })

  test('a bad file is named and hides no other; its own name is not taken by a lesser one', async () => {
    await using here = await place()
    agent(join(here.cwd, '.reeve/agents/good.md'), 'good')
    agent(join(here.cwd, '.reeve/agents/review.md'), 'bad', 'tools: [sudo]')
    agent(join(here.where.agentsDir, 'review.md'), 'all tools')
    const { agents, errors } = await here.find()
    expect(agents.map((one) => one.name)).toEqual(['default', 'good'])
    expect(errors).toEqual([{ file: join(here.cwd, '.reeve/agents/review.md'), line: 3, message: expect.stringContaining('there is no tool `sudo`') }])
    await expect(findAgent('review', here.cwd, here.where)).rejects.toMatchObject({ code: 'AGENT_INVALID', message: expect.stringMatching(/review\.md:3: tools: there is no tool/) })
    await expect(findAgent('nobody', here.cwd, here.where)).rejects.toMatchObject({ code: 'AGENT_INVALID', message: 'there is no agent `nobody`; there are claude, codex, default, gemini, good, opencode' })
    expect(await findAgent('good', here.cwd, here.where)).toMatchObject({ description: 'good' })
  })

  test('two files of one name in one directory: the first is used, the second named', async () => {
    await using here = await place()
    agent(join(here.cwd, '.reeve/agents/a.md'), 'first', 'name: same')
    agent(join(here.cwd, '.reeve/agents/b.md'), 'second', 'name: same')
    const { agents, errors } = await here.find()
    expect(agents.find((one) => one.name === 'same')?.description).toBe('first')
    expect(errors).toEqual([{ file: join(here.cwd, '.reeve/agents/b.md'), line: 1, message: 'the name `same` is already that of a.md here' }])
  })

  test('what is no agent file is not read: other endings, hidden files; directories are named', async () => {
    await using here = await place()
    agent(join(here.cwd, '.reeve/agents/notes.txt'), 'x')
    agent(join(here.cwd, '.reeve/agents/.swap.md'), 'x')
    mkdirSync(join(here.cwd, '.reeve/agents/dir.md'))
    const { agents, errors } = await here.find()
    expect(agents).toHaveLength(1)
    expect(errors).toEqual([{ file: join(here.cwd, '.reeve/agents/dir.md'), line: 0, message: 'it is not a regular file' }])
  })

  test('files are bounded, and must be text', async () => {
    await using here = await place()
    const dir = join(here.cwd, '.reeve/agents')
    agent(join(dir, 'long.md'), 'x'.repeat(MAX_FILE_BYTES))
    writeFileSync(join(dir, 'binary.md'), Buffer.from([0x2d, 0xff, 0xfe]))
    expect((await here.find()).errors.map((one) => one.message)).toEqual(['it is not UTF-8 text', 'it is longer than 256 KiB'])
  })

  test('a directory is read up to its limit, and says so', async () => {
    await using here = await place()
    const dir = join(here.cwd, '.reeve/agents')
    for (let i = 0; i <= MAX_AGENT_FILES; i++) agent(join(dir, `a${String(i).padStart(4, '0')}.md`), 'x')
    const { agents, errors } = await here.find()
    expect(agents).toHaveLength(MAX_AGENT_FILES + 1)
    expect(errors).toEqual([{ file: dir, line: 0, message: `there are ${MAX_AGENT_FILES + 1} agent files; only the first ${MAX_AGENT_FILES} are read` }])
  })

  test.runIf(userInfo().uid === 0)('a stranger’s file is not used and cannot block a name (needs root to give a file away)', async () => {
    await using here = await place()
    const file = join(here.root, '.reeve/agents/default.md')
    agent(file, 'evil')
    chownSync(file, 12_345, 12_345)
    const { agents, errors } = await here.find()
    expect(agents).toEqual([expect.objectContaining({ name: 'default', source: 'built-in' })])
    expect(errors).toEqual([{ file, line: 0, message: 'it belongs to another user, so it is not used' }])
    chownSync(here.cwd, 12_345, 12_345)
    expect((await here.find()).agents, 'the owner of the working directory is no stranger there').toEqual([expect.objectContaining({ description: 'evil' })])
  })

  test.runIf(userInfo().uid !== 0)('a file that cannot be read is named (root can read all)', async () => {
    await using here = await place()
    const file = join(here.cwd, '.reeve/agents/closed.md')
    agent(file, 'x')
    chmodSync(file, 0)
    expect((await here.find()).errors).toEqual([{ file, line: 0, message: 'it cannot be read (EACCES)' }])
  })
})

test.each([
  ['250ms', 250], ['90s', 90_000], ['1.5h', 5_400_000], ['1h30m', 5_400_000], ['2d', 172_800_000], ['0s', 0],
  ['', null], ['90', null], ['h', null], ['1 h', null], ['-1s', null], ['1x', null], ['99999999999s', null],
])('the duration %j is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})
