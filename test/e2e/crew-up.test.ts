// How a crew begins: what its members are told and may do, the branch that it gets, and that nothing begins where anything is wrong.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Crews } from '../../src/api/crews-client.ts'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'
import type { CrewUpBody, CrewUpView } from '../../src/api/crew-up-views.ts'

const IDLE = JSON.stringify({ rules: [], steps: [{ text: 'I wait.' }] })
const TASKS = [{ id: 'ask', text: 'Which?', kind: 'human' as const }, { id: 'build', title: 'Build it', text: 'Build.', needs: ['ask'] }]

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

const up = (body: Partial<CrewUpBody> = {}): Promise<CrewUpView> => crews.up({ cwd: repository.dir, env: testEnv(daemon.work), model: `script:${join(daemon.work, 'idle.yaml')}`, name: 'fix', workers: 1, tasks: TASKS, ...body })
const agent = (name: string, front: string, body = ''): void => {
  mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
  writeFileSync(join(repository.dir, `.reeve/agents/${name}.md`), `---\n${front}\n---\n${body}`)
}

/** What is recorded of a member: the prompt, and which tools it has. */
async function recorded(name: string): Promise<{ system: string; tools: string[]; denied: string[] }> {
  const { uuid } = await daemon.view(name)
  const dir = join(daemon.work, `out-${name}`)
  await daemon.client.post(`/v1/processes/${uuid}/export`, { dir })
  const meta = JSON.parse(readFileSync(join(dir, 'steps', uuid, 'process-meta.json'), 'utf8')) as { system: string; denied: string[]; tools: { name: string }[] }
  return { system: meta.system, denied: meta.denied, tools: meta.tools.map((tool) => tool.name) }
}

/** Ends it when all of its members are there: nothing is cut off in its making. */
async function stopped(name: string): Promise<void> {
  await daemon.untilSo(name, ({ children }) => children.length > 0)
  const { members } = await crews.get(name)
  for (const { id } of members) {
    await daemon.event(name, (event) => event.type === 'crew.joined' && event['member'] === id)
    await daemon.ready(`${name}.${id}`)
  }
  await daemon.signal(name, 'SIGTERM')
  await daemon.ended(name)
}

test('a crew is there with its tasks, on a branch of its own that begins where we are; and it asks', async () => {
  repository.write({ 'left.txt': 'not committed\n' })
  const { process, branch, base, tasks, notes } = await up()
  expect({ branch, base, tasks }).toEqual({ branch: 'reeve/fix', base: repository.git('rev-parse', 'HEAD'), tasks: 2 })
  expect(notes).toEqual(['what is not committed here (1 path) is not part of what the crew works on'])
  expect(process).toMatchObject({ name: 'fix', driver: 'crew', intent: '2 tasks' })
  await daemon.until('fix', 'waiting')
  const crew = await crews.get('fix')
  expect(crew).toMatchObject({ status: 'waiting', coordinator: 'engine', branch: 'reeve/fix', tasks: [{ id: 'ask', title: 'Which?', state: 'waiting', asks: 'human' }, { id: 'build', title: 'Build it', state: 'queued', needs: ['ask'] }] })
  expect(await crews.list()).toMatchObject([{ uuid: process.uuid }])
  expect(await crews.task('fix', 'build')).toMatchObject({ text: 'Build.', acceptance: null, history: [{ type: 'task.added', what: 'added by user' }] })
  await expect(crews.task('fix', 'biuld')).rejects.toMatchObject({ code: 'NOT_FOUND', hint: 'Did you mean build?' })
  await stopped('fix')
  expect(await crews.list()).toEqual([])
  expect(await crews.list({ all: true })).toMatchObject([{ uuid: process.uuid, status: 'stopped', waitsFor: [] }])
})

describe('members', () => {
  test("are told their role: the project's words, behind those of an agent of a person", async () => {
    mkdirSync(join(repository.dir, '.reeve/roles'), { recursive: true })
    writeFileSync(join(repository.dir, '.reeve/roles/generic.md'), 'Be a worker.\n')
    agent('coder', 'description: x\ntools: [read, bash]', 'You code.')
    await up({ agent: 'coder' })
    await stopped('fix')
    const { system, tools } = await recorded('fix.worker-1')
    expect(system).toBe('You code.\n\nBe a worker.')
    expect(tools).toEqual(expect.arrayContaining(['read', 'bash']))
    expect(tools).not.toContain('write')
  })

  test('a coordinator has no tools that write', async () => {
    await up({ coordinator: 'default' })
    await stopped('fix')
    const { system, denied, tools } = await recorded('fix.coordinator')
    expect(system).toMatch(/^You are the coordinator of a crew/)
    expect(denied).toEqual(['write', 'edit', 'bash'])
    expect(tools.filter((name) => ['write', 'edit', 'bash'].includes(name))).toEqual([])
  })

  test('of others that ask before they act are told of, and are given what the crew may', async () => {
    agent('other', `description: x\ndriver: acp\ncommand: [${JSON.stringify(process.execPath)}, ${JSON.stringify(join(import.meta.dirname, '../support/programs/acp-agent.ts'))}]`)
    const { notes } = await up({ agent: 'other' })
    expect(notes).toContain('agent other asks a person before it acts: `reeve answer`, or --permissions allow')
    await stopped('fix')
    expect((await up({ agent: 'other', permissions: 'allow', name: 'two' })).notes.join()).not.toContain('asks')
    await stopped('two')
  })
})

describe('the branch', () => {
  const ended = async (name = 'fix'): Promise<void> => { await stopped(name) }

  test('what an earlier crew left, and nobody merged, is gone on from', async () => {
    const base = repository.git('rev-parse', 'HEAD')
    repository.git('checkout', '-q', '-b', 'reeve/fix')
    const tip = repository.commit({ 'new.txt': 'new\n' })
    repository.git('checkout', '-q', 'main')
    expect(await up()).toMatchObject({ base: tip, notes: ['it goes on from reeve/fix, which has 1 commit that is not in what is checked out here'] })
    await ended()
    repository.git('merge', '-q', 'reeve/fix')
    const merged = repository.commit({ 'more.txt': 'more\n' })
    expect(await up()).toMatchObject({ base: merged, notes: [] })
    expect(repository.git('rev-parse', 'reeve/fix')).toBe(merged)
    expect(base).not.toBe(tip)
    await ended()
  })

  test('one that is checked out is somebody\'s', async () => {
    repository.git('checkout', '-q', '-b', 'reeve/fix')
    await expect(up()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/^the branch reeve\/fix is checked out in /) })
  })

  test('one below it is in the way', async () => {
    repository.git('branch', 'reeve/fix/other')
    await expect(up()).rejects.toMatchObject({ code: 'CONFLICT', message: 'the branch reeve/fix cannot be made, as there is reeve/fix/other' })
  })

  test('one that is called reeve leaves no room for it', async () => {
    repository.git('branch', 'reeve')
    await expect(up()).rejects.toMatchObject({ code: 'CONFLICT', message: 'the branch reeve/fix cannot be made, as there is the branch reeve', hint: expect.stringContaining('git branch -m reeve') })
    expect(await crews.list()).toEqual([])
  })

  test.each<[string, () => void, RegExp]>([
    ['has no place for worktrees', () => writeFileSync(join(repository.dir, '.git/worktrees'), ''), /^no worktree can be made of .*\/repo\/\.git: .*\/worktrees/],
    // Root may write whatever the modes are.
    ...(process.getuid?.() === 0 ? [] : [['cannot be written', () => { execFileSync('chmod', ['-R', 'a-w', join(repository.dir, '.git')]) }, /^no worktree can be made of .*\/repo\/\.git: .*ermission/] as const]).map(([...row]) => row as [string, () => void, RegExp]),
  ])('a repository that %s is found before anything starts', async (_, spoil, message) => {
    spoil()
    const before = repository.git('for-each-ref')
    await expect(up()).rejects.toMatchObject({ code: 'INVALID', message: expect.stringMatching(message), hint: expect.stringContaining('--no-worktrees') })
    expect(await crews.list()).toEqual([])
    expect(repository.git('for-each-ref')).toBe(before)
    execFileSync('chmod', ['-R', 'u+w', join(repository.dir, '.git')])
  })

  test('without worktrees there is none, and no repository is needed', async () => {
    expect(await up({ cwd: daemon.work, worktrees: false })).toMatchObject({ branch: null, base: null })
    await ended()
  })
})

describe('nothing begins', () => {
  test.each<[string, Partial<CrewUpBody>, object]>([
    ['outside of a repository', { cwd: '/' }, { code: 'INVALID', message: expect.stringMatching(/^a crew needs a git repository, and \/ is not/), hint: expect.stringContaining('--no-worktrees') }],
    ['with an agent that there is not', { agent: 'nobody' }, { code: 'AGENT_INVALID', message: expect.stringMatching(/^there is no agent `nobody`/) }],
    ['with a model whose key nobody has', { model: 'anthropic/claude-sonnet-5' }, { code: 'CREDENTIALS_MISSING', message: 'anthropic/claude-sonnet-5, for the role generic, needs ANTHROPIC_API_KEY' }],
    ['with a file of tasks that is not there', { tasks: '/no/tasks.md' }, { code: 'AGENT_INVALID', message: '/no/tasks.md: it is not there' }],
    ['with tasks that need each other', { tasks: [{ id: 'a', text: 'x', needs: ['b'] }, { id: 'b', text: 'y', needs: ['a'] }] }, { message: expect.stringMatching(/a.*b.*a/) }],
    ['with nothing to do', { tasks: [] as never }, { code: 'INVALID' }],
  ])('%s', async (_, body, error) => {
    await expect(up(body)).rejects.toMatchObject(error)
    expect(await crews.list()).toEqual([])
  })

  test('with an agent that takes no messages', async () => {
    agent('once', 'description: x\ndriver: command\ncommand: [echo]')
    await expect(up({ agent: 'once' })).rejects.toMatchObject({ code: 'INVALID', message: 'agent "once" takes no messages while it runs, so it can be no generic of a crew' })
  })

  test('what is no crew is not taken for one', async () => {
    await daemon.play([{ text: 'x' }], { name: 'lone', interactive: true })
    await expect(crews.get('lone')).rejects.toMatchObject({ code: 'INVALID', hint: '`reeve crew ps` lists the crews.' })
  })
})
