// The search for agent files: the precedence of the folders, and invalid files.
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { userInfo } from 'node:os'
import { describe, expect, test } from 'vitest'
import { findAgent, findAgents, MAX_AGENT_FILES } from '../../../../src/config/agents/find-agents.ts'
import { installCommand } from '../../../../src/config/known-programs.ts'
import { MAX_FILE_BYTES } from '../../../../src/config/untrusted-files.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { askingModeFor } from '../../../../src/drivers/acp/asking-mode.ts'
import { loginOf } from '../../../../src/drivers/gateway/logins.ts'
import { tempDir } from '../../../support/tmp.ts'

const agentFileText = (...lines: string[]): string => ['---', ...lines, '---', 'Be kind.'].join('\n')

describe('the search for agent files', () => {
  const writeAgent = (file: string, description: string, ...more: string[]): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, agentFileText(`description: ${description}`, ...more))
  }

  /** Leaves out the built-in external agents, which every result contains. */
  const withoutBuiltIn = ({ agents, errors }: Awaited<ReturnType<typeof findAgents>>): Awaited<ReturnType<typeof findAgents>> => {
    return { errors, agents: agents.filter(({ source, driver }) => source !== 'built-in' || driver === 'native') }
  }

  async function newWorkspace(): Promise<
    AsyncDisposable & { root: string; cwd: string; find: () => ReturnType<typeof findAgents>; where: ReturnType<typeof pathsFrom> }
  > {
    const dir = await tempDir()
    const cwd = join(dir.path, 'repo', 'pkg')
    mkdirSync(cwd, { recursive: true })
    const where = pathsFrom({ REEVE_HOME: join(dir.path, 'home') })
    return {
      root: dir.path,
      cwd,
      where,
      find: async () => withoutBuiltIn(await findAgents(cwd, where)),
      [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
    }
  }

  test('finds the built-in agent if there is no file', async () => {
    await using workspace = await newWorkspace()
    const { agents, errors } = await findAgents(workspace.cwd, workspace.where)
    expect(errors).toEqual([])
    expect(agents.map((one) => [one.name, one.source, one.file])).toEqual(
      ['claude', 'codex', 'default', 'gemini', 'opencode'].map((name) => [name, 'built-in', null]),
    )
    expect(agents.find(({ name }) => name === 'default')?.system).toMatch(/^You are a coding agent/)
    for (const { name, command } of agents.filter((one) => one.driver !== 'native')) {
      const argv = command ?? []
      expect(installCommand(argv[0] ?? ''), name).not.toBeNull()
      expect(loginOf(argv), name).not.toBeNull()
      expect(askingModeFor({ agent: name, argv, tools: null, deny: [] }).enforcedModes, name).not.toBeNull()
    }
  })

  test('uses the folder with the highest precedence', async () => {
    await using workspace = await newWorkspace()
    const repo = join(workspace.root, 'repo')
    const order = [
      [join(workspace.cwd, '.reeve/agents/default.md'), 'project'],
      [join(repo, '.reeve/agents/default.md'), 'project'],
      [join(workspace.cwd, '.claude/agents/default.md'), 'claude'],
      [join(repo, '.claude/agents/default.md'), 'claude'],
      [join(workspace.where.agentsDir, 'default.md'), 'user'],
    ] as const
    for (const [file] of order) writeAgent(file, 'one')
    for (const [file, source] of order) {
      expect((await workspace.find()).agents).toEqual([expect.objectContaining({ name: 'default', file, source })])
      rmSync(file)
    }
    expect((await workspace.find()).agents).toEqual([expect.objectContaining({ name: 'default', source: 'built-in' })])
  })

  test('reports an invalid file, which hides no other; no agent of lower precedence gets its name', async () => {
    await using workspace = await newWorkspace()
    writeAgent(join(workspace.cwd, '.reeve/agents/good.md'), 'good')
    writeAgent(join(workspace.cwd, '.reeve/agents/review.md'), 'bad', 'tools: [sudo]')
    writeAgent(join(workspace.where.agentsDir, 'review.md'), 'all tools')
    const { agents, errors } = await workspace.find()
    expect(agents.map((one) => one.name)).toEqual(['default', 'good'])
    expect(errors).toEqual([
      { file: join(workspace.cwd, '.reeve/agents/review.md'), line: 3, message: expect.stringContaining('there is no tool `sudo`') },
    ])
    await expect(findAgent('review', workspace.cwd, workspace.where)).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringMatching(/review\.md:3: tools: there is no tool/),
    })
    await expect(findAgent('nobody', workspace.cwd, workspace.where)).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: 'there is no agent `nobody`; there are claude, codex, default, gemini, good, opencode',
    })
    expect(await findAgent('good', workspace.cwd, workspace.where)).toMatchObject({ description: 'good' })
  })

  test('uses the first of two agents of one name in one directory, and reports the second', async () => {
    await using workspace = await newWorkspace()
    writeAgent(join(workspace.cwd, '.reeve/agents/a.md'), 'first', 'name: same')
    writeAgent(join(workspace.cwd, '.reeve/agents/b.md'), 'second', 'name: same')
    const { agents, errors } = await workspace.find()
    expect(agents.find((one) => one.name === 'same')?.description).toBe('first')
    expect(errors).toEqual([
      { file: join(workspace.cwd, '.reeve/agents/b.md'), line: 1, message: 'the name `same` is already used by a.md in this folder' },
    ])
  })

  test('reads no files with another ending and no hidden files, and reports directories', async () => {
    await using workspace = await newWorkspace()
    writeAgent(join(workspace.cwd, '.reeve/agents/notes.txt'), 'x')
    writeAgent(join(workspace.cwd, '.reeve/agents/.swap.md'), 'x')
    mkdirSync(join(workspace.cwd, '.reeve/agents/dir.md'))
    const { agents, errors } = await workspace.find()
    expect(agents).toHaveLength(1)
    expect(errors).toEqual([{ file: join(workspace.cwd, '.reeve/agents/dir.md'), line: 0, message: 'it is not a regular file' }])
  })

  test('refuses files that are too large or not text', async () => {
    await using workspace = await newWorkspace()
    const dir = join(workspace.cwd, '.reeve/agents')
    writeAgent(join(dir, 'long.md'), 'x'.repeat(MAX_FILE_BYTES))
    writeFileSync(join(dir, 'binary.md'), Buffer.from([0x2d, 0xff, 0xfe]))
    expect((await workspace.find()).errors.map((one) => one.message)).toEqual(['it is not UTF-8 text', 'it is longer than 256 KiB'])
  })

  test('reads a directory up to its limit, and reports the rest', async () => {
    await using workspace = await newWorkspace()
    const dir = join(workspace.cwd, '.reeve/agents')
    for (let i = 0; i <= MAX_AGENT_FILES; i++) writeAgent(join(dir, `a${String(i).padStart(4, '0')}.md`), 'x')
    const { agents, errors } = await workspace.find()
    expect(agents).toHaveLength(MAX_AGENT_FILES + 1)
    expect(errors).toEqual([
      { file: dir, line: 0, message: `there are ${MAX_AGENT_FILES + 1} agent files; only the first ${MAX_AGENT_FILES} are read` },
    ])
  })

  test.runIf(userInfo().uid === 0)(
    'a file of another user is not used and cannot block a name (needs root to change the owner)',
    async () => {
      await using workspace = await newWorkspace()
      const file = join(workspace.root, '.reeve/agents/default.md')
      writeAgent(file, 'evil')
      chownSync(file, 12_345, 12_345)
      const { agents, errors } = await workspace.find()
      expect(agents).toEqual([expect.objectContaining({ name: 'default', source: 'built-in' })])
      expect(errors).toEqual([{ file, line: 0, message: 'it belongs to another user, so it is not used' }])
      chownSync(workspace.cwd, 12_345, 12_345)
      expect((await workspace.find()).agents, 'the owner of the working directory is no stranger there').toEqual([
        expect.objectContaining({ description: 'evil' }),
      ])
    },
  )

  test.runIf(userInfo().uid !== 0)('a file that cannot be read is reported (root can read all)', async () => {
    await using workspace = await newWorkspace()
    const file = join(workspace.cwd, '.reeve/agents/closed.md')
    writeAgent(file, 'x')
    chmodSync(file, 0)
    expect((await workspace.find()).errors).toEqual([{ file, line: 0, message: 'it cannot be read (EACCES)' }])
  })
})
