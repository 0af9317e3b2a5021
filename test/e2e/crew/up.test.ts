// The start of a crew: the prompts and permissions of its members, its branch, and errors that prevent the start.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewUpBody, CrewUpView } from '../../../src/api/views/crew-up.ts'

const IDLE = JSON.stringify({ rules: [], steps: [{ text: 'I wait.' }] })
const TASKS = [
  { id: 'ask', text: 'Which?', kind: 'human' as const },
  { id: 'build', title: 'Build it', text: 'Build.', needs: ['ask'] },
]

let daemon: LocalDaemon
let repository: Repository
let crews: Crews
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  crews = new Crews(daemon.client)
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(join(daemon.work, 'idle.yaml'), IDLE)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const startCrew = (body: Partial<CrewUpBody> = {}): Promise<CrewUpView> =>
  crews.up({
    cwd: repository.dir,
    env: testEnv(daemon.work),
    model: `script:${join(daemon.work, 'idle.yaml')}`,
    name: 'fix',
    workers: 1,
    tasks: TASKS,
    ...body,
  })
const writeAgentFile = (name: string, front: string, body = ''): void => {
  mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
  writeFileSync(join(repository.dir, `.reeve/agents/${name}.md`), `---\n${front}\n---\n${body}`)
}

/** Returns the recorded prompt of a member, and its tools. */
async function recordOf(name: string): Promise<{ system: string; tools: string[]; denied: string[] }> {
  const { uuid } = await daemon.view(name)
  const dir = join(daemon.work, `out-${name}`)
  await daemon.client.post(`/v1/processes/${uuid}/export`, { dir })
  const meta = JSON.parse(readFileSync(join(dir, 'steps', uuid, 'process-meta.json'), 'utf8')) as {
    system: string
    denied: string[]
    tools: { name: string }[]
  }
  return { system: meta.system, denied: meta.denied, tools: meta.tools.map((tool) => tool.name) }
}

/** Ends the crew once all its members are ready, so that no start is interrupted. */
async function stopCrew(name: string): Promise<void> {
  await daemon.waitForView(name, ({ children }) => children.length > 0)
  const { members } = await crews.get(name)
  for (const { id } of members) {
    await daemon.waitForEvent(name, (event) => event.type === 'crew.joined' && event['member'] === id)
    await daemon.waitUntilReady(`${name}.${id}`)
  }
  await daemon.signal(name, 'SIGTERM')
  await daemon.waitForEnd(name)
}

test('the files that define the crew are not named as uncommitted, because no worker needs them', async () => {
  const script = join(daemon.work, 'idle.yaml')
  repository.write({
    'left.txt': 'not committed\n',
    'plan/tasks.md': '## build: Build it\nBuild.\n',
    'reeve.yaml': `crews: { fix: { model: "script:${script}", tasks: plan/tasks.md } }\n`,
    'more.md': '## check: Check it\nCheck.\n',
  })
  const body = { cwd: repository.dir, env: testEnv(daemon.work) }
  expect((await crews.plan({ ...body, crew: 'fix' })).notes).toEqual([`uncommitted here, so not among the crew's files: left.txt, more.md`])
  expect((await crews.plan({ ...body, tasks: join(repository.dir, 'more.md') })).notes).toEqual([
    `uncommitted here, so not among the crew's files: left.txt, plan/tasks.md`,
  ])
})

test('a crew starts with its tasks on its own branch from the current commit, and asks its questions', async () => {
  repository.write({ 'left.txt': 'not committed\n' })
  const { process, branch, base, tasks, notes } = await startCrew()
  expect({ branch, base, tasks }).toEqual({ branch: 'reeve/fix', base: repository.git('rev-parse', 'HEAD'), tasks: 2 })
  expect(notes).toEqual(["uncommitted here, so not among the crew's files: left.txt"])
  expect(process).toMatchObject({ name: 'fix', driver: 'crew', intent: '2 tasks' })
  await daemon.waitForStatus('fix', 'waiting')
  const crew = await crews.get('fix')
  expect(crew).toMatchObject({
    status: 'waiting',
    coordinator: 'engine',
    branch: 'reeve/fix',
    tasks: [
      { id: 'ask', title: 'Which?', state: 'waiting', asks: 'human' },
      { id: 'build', title: 'Build it', state: 'queued', needs: ['ask'] },
    ],
  })
  expect(await crews.list()).toMatchObject([{ uuid: process.uuid }])
  expect(await crews.task('fix', 'build')).toMatchObject({
    text: 'Build.',
    acceptance: null,
    history: [{ type: 'task.added', what: 'added by user' }],
  })
  await expect(crews.task('fix', 'biuld')).rejects.toMatchObject({ code: 'NOT_FOUND', hint: 'Did you mean build?' })
  await stopCrew('fix')
  expect(await crews.list()).toEqual([])
  expect(await crews.list({ all: true })).toMatchObject([{ uuid: process.uuid, status: 'stopped', waitsFor: [] }])
})

describe('members', () => {
  test("get the project's prompt of their role, after that of their agent", async () => {
    mkdirSync(join(repository.dir, '.reeve/roles'), { recursive: true })
    writeFileSync(join(repository.dir, '.reeve/roles/generic.md'), 'Be a worker.\n')
    writeAgentFile('coder', 'description: x\ntools: [read, bash]', 'You code.')
    await startCrew({ agent: 'coder' })
    await stopCrew('fix')
    const { system, tools } = await recordOf('fix.worker-1')
    expect(system).toBe('You code.\n\nBe a worker.')
    expect(tools).toEqual(expect.arrayContaining(['read', 'bash']))
    expect(tools).not.toContain('write')
  })

  test('a coordinator has no tools that write', async () => {
    await startCrew({ coordinator: 'default' })
    await stopCrew('fix')
    const { system, denied, tools } = await recordOf('fix.coordinator')
    expect(system).toMatch(/^You are the coordinator of a crew/)
    expect(denied).toEqual(['write', 'edit', 'bash'])
    expect(tools.filter((name) => ['write', 'edit', 'bash'].includes(name))).toEqual([])
  })

  test('that are external agents get a note that they ask the user, unless the crew allows everything', async () => {
    writeAgentFile(
      'other',
      `description: x\ndriver: acp\ncommand: [${JSON.stringify(process.execPath)}, ${JSON.stringify(join(import.meta.dirname, '../../support/programs/acp-agent.ts'))}]`,
    )
    const { notes } = await startCrew({ agent: 'other' })
    expect(notes).toContain('agent other asks the user before it acts: `reeve answer`, or --permissions allow')
    await stopCrew('fix')
    expect((await startCrew({ agent: 'other', permissions: 'allow', name: 'two' })).notes.join()).not.toContain('asks')
    await stopCrew('two')
  })

  test('that are commands, which cannot ask, are refused when their role or crew has permissions', async () => {
    writeAgentFile('program', `description: x\ndriver: command\ncommand: [claude, -p, --output-format, stream-json, --verbose]`)
    const errorOf = (request: Promise<unknown>): Promise<unknown> =>
      request.then(
        () => 'it began',
        ({ code, message }: { code: string; message: string }) => [code, message],
      )
    const startWithRole = (role: object): Promise<unknown> => {
      writeFileSync(
        join(repository.dir, 'reeve.yaml'),
        JSON.stringify({ crews: { fix: { workers: { implementer: { count: 1, ...role } }, tasks: TASKS } } }),
      )
      return errorOf(
        crews.up({ cwd: repository.dir, env: testEnv(daemon.work), crew: 'fix', model: `script:${join(daemon.work, 'idle.yaml')}` }),
      )
    }
    writeAgentFile('installed', `description: x\ndriver: command\nformat: claude\ncommand: [${JSON.stringify(process.execPath)}]`)
    const commandsOnly = { cwd: repository.dir, env: testEnv(daemon.work), name: 'fix', agent: 'installed', tasks: TASKS }
    expect(await errorOf(crews.up({ ...commandsOnly, permissions: 'deny' }))).toEqual([
      'INVALID',
      'each worker of this crew is a command, for which `permissions` would have no effect',
    ])
    expect(await startWithRole({ permissions: 'deny', agent: 'program' })).toEqual([
      'INVALID',
      'agent "program" has no permissions: reeve cannot enforce that',
    ])
    expect(await crews.list()).toEqual([])
  })

  test('get a note when a project agent shadows another one', async () => {
    writeAgentFile('default', 'description: x', 'Be kind.')
    const { notes } = await startCrew()
    expect(notes).toContain(`using .reeve/agents/default.md of ${repository.dir}, in place of the built-in agent`)
    await stopCrew('fix')
  })
})

describe('the branch', () => {
  test('with unmerged commits of an earlier crew is continued', async () => {
    const base = repository.git('rev-parse', 'HEAD')
    repository.git('checkout', '-q', '-b', 'reeve/fix')
    const tip = repository.commit({ 'new.txt': 'new\n' })
    repository.git('checkout', '-q', 'main')
    expect(await startCrew()).toMatchObject({
      base: tip,
      notes: ['the crew continues from reeve/fix, which has 1 commit not in your checkout'],
    })
    await stopCrew('fix')
    repository.git('merge', '-q', 'reeve/fix')
    const merged = repository.commit({ 'more.txt': 'more\n' })
    expect(await startCrew()).toMatchObject({ base: merged, notes: [] })
    expect(repository.git('rev-parse', 'reeve/fix')).toBe(merged)
    expect(base).not.toBe(tip)
    await stopCrew('fix')
  })

  test('that is checked out is refused', async () => {
    repository.git('checkout', '-q', '-b', 'reeve/fix')
    await expect(startCrew()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/^the branch reeve\/fix is checked out in /),
    })
  })

  test('with another branch below it is refused', async () => {
    repository.git('branch', 'reeve/fix/other')
    await expect(startCrew()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'the branch reeve/fix cannot be created, because the branch reeve/fix/other exists',
    })
  })

  test('is refused when a branch is named reeve', async () => {
    repository.git('branch', 'reeve')
    await expect(startCrew()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'the branch reeve/fix cannot be created, because the branch reeve exists',
      hint: expect.stringContaining('git branch -m reeve'),
    })
    expect(await crews.list()).toEqual([])
  })

  async function expectRefusal(message: RegExp): Promise<void> {
    const refsBefore = repository.git('for-each-ref')
    await expect(startCrew()).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('--no-worktrees'),
    })
    expect(await crews.list()).toEqual([])
    expect(repository.git('for-each-ref')).toBe(refsBefore)
  }

  test('is refused before the start when no worktree can be created', async () => {
    writeFileSync(join(repository.dir, '.git/worktrees'), '')
    await expectRefusal(/^no worktree of .*\/repo\/\.git can be created: .*\/worktrees/)
  })

  test("is refused before the start, with git's message, when its files cannot be checked out", async () => {
    repository.git('config', 'filter.lfs.clean', 'cat')
    repository.commit({ '.gitattributes': '*.bin filter=lfs\n', 'a.bin': 'x\n' })
    repository.git('config', 'filter.lfs.smudge', 'git-no-such-lfs smudge -- %f')
    repository.git('config', 'filter.lfs.required', 'true')
    await expectRefusal(
      /^no worktree of .*\/repo\/\.git can be checked out: .*git-no-such-lfs.*smudge filter lfs failed \(git ended with 128\)$/,
    )
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(readdirSync(join(daemon.home, 'tmp')).filter((name) => name.startsWith('checkout-'))).toEqual([])
    writeAgentFile('reader', 'description: x\ntools: [read]')
    const { process } = await startCrew({ agent: 'reader' })
    expect(process.name, 'an agent that runs no programs runs no filter').toBe('fix')
    await stopCrew('fix')
  })

  // Root may write whatever the modes are.
  test.skipIf(process.getuid?.() === 0)('is refused before the start in a repository that cannot be written', async () => {
    const changeMode = (change: string): unknown => execFileSync('chmod', ['-R', change, join(repository.dir, '.git')])
    changeMode('a-w')
    try {
      await expectRefusal(/^no worktree of .*\/repo\/\.git can be created: .*\/repo\/\.git\/objects cannot be written \(EACCES\)$/)
    } finally {
      changeMode('u+w')
    }
  })

  test('does not exist without worktrees, and no repository is needed', async () => {
    expect(await startCrew({ cwd: daemon.work, worktrees: false })).toMatchObject({ branch: null, base: null })
    await stopCrew('fix')
  })
})

describe('nothing starts', () => {
  test.each<[string, Partial<CrewUpBody>, object]>([
    [
      'outside a repository',
      { cwd: '/' },
      {
        code: 'INVALID',
        message: expect.stringMatching(/^a crew needs a git repository, and \/ is not/),
        hint: expect.stringContaining('--no-worktrees'),
      },
    ],
    [
      'with an unknown agent',
      { agent: 'nobody' },
      { code: 'AGENT_INVALID', message: expect.stringMatching(/^there is no agent `nobody`/) },
    ],
    [
      'with a model whose key is missing',
      { model: 'anthropic/claude-sonnet-5' },
      { code: 'CREDENTIALS_MISSING', message: 'anthropic/claude-sonnet-5, for the role generic, needs ANTHROPIC_API_KEY' },
    ],
    [
      'with a missing file of tasks',
      { tasks: '/no/tasks.md' },
      { code: 'AGENT_INVALID', message: '/no/tasks.md: the file does not exist' },
    ],
    [
      'with tasks that need each other',
      {
        tasks: [
          { id: 'a', text: 'x', needs: ['b'] },
          { id: 'b', text: 'y', needs: ['a'] },
        ],
      },
      { message: expect.stringMatching(/a.*b.*a/) },
    ],
    ['with nothing to do', { tasks: [] as never }, { code: 'INVALID' }],
  ])('%s', async (_, body, error) => {
    await expect(startCrew(body)).rejects.toMatchObject(error)
    // A crew whose tasks were refused has been killed, and is listed until its resources are released.
    await expect.poll(() => crews.list()).toEqual([])
  })

  test('with an agent that takes no messages', async () => {
    writeAgentFile('once', 'description: x\ndriver: command\ncommand: [echo]')
    await expect(startCrew({ agent: 'once' })).rejects.toMatchObject({
      code: 'INVALID',
      message: 'agent "once" takes no messages while it runs, so it cannot be a generic of a crew',
    })
  })
})

test('a process that is not a crew is refused as one', async () => {
  await daemon.spawnScripted([{ text: 'x' }], { name: 'lone', interactive: true })
  await expect(crews.get('lone')).rejects.toMatchObject({ code: 'INVALID', hint: '`reeve crew ps` lists the crews.' })
})
