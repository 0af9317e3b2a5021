// Processes with their own worktree, in a real daemon: its creation, the records of steps, and its use after a resume.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository, filesOf } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a', 'sub/s.txt': 's' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const writeStep = (path: string, content: string): object => ({ text: '', tools: [{ name: 'write', input: { path, content } }] })
const bashStep = (command: string): object => ({ text: '', tools: [{ name: 'bash', input: { command } }] })
const readStep = (path: string): object => ({ text: '', tools: [{ name: 'read', input: { path } }] })
const recordsOf = async (uuid: string): Promise<EventView[]> =>
  (await daemon.readHistory(uuid)).filter((event) => event['fact'] === 'files.recorded')
/** The files of a record, read from the repository of records. */
const filesAt = (uuid: string, commit: unknown): string[] =>
  repository
    .gitIn(daemon.work, `--git-dir=${join(daemon.paths.state, 'files', `${uuid}.git`)}`, 'ls-tree', '-r', '--name-only', String(commit))
    .split('\n')

test('a process with a worktree works on its own branch, and the files of each step that could write are recorded', async () => {
  const { uuid } = await daemon.spawnScripted(
    [writeStep('one.txt', '1'), readStep('a.txt'), bashStep('echo 3 > three.txt; rm s.txt'), { text: 'done' }],
    {
      cwd: join(repository.dir, 'sub'),
      worktree: true,
      name: 'docs',
    },
  )
  const { worktree, cwd, status } = await daemon.waitForEnd(uuid)
  const base = repository.git('rev-parse', 'HEAD')
  expect([status, worktree]).toEqual([
    'completed',
    { dir: join(daemon.paths.state, 'worktrees', uuid), branch: 'reeve/docs', base, recordedStep: 3 },
  ])
  expect(cwd).toBe(join(daemon.paths.state, 'worktrees', uuid, 'sub'))
  const records = await recordsOf(uuid)
  expect(records.map((event) => [event['step'], event['head'], event['left']])).toEqual([
    [0, base, []],
    [1, base, []],
    [3, base, []],
  ])
  expect(records.map((event) => filesAt(uuid, event['commit']))).toEqual([
    ['a.txt', 'sub/s.txt'],
    ['a.txt', 'sub/one.txt', 'sub/s.txt'],
    ['a.txt', 'sub/one.txt', 'sub/three.txt'],
  ])
  expect(repository.git('status', '--porcelain'), 'the work tree of the user is as it was').toBe('')
  expect(repository.gitIn(cwd, 'branch', '--show-current')).toBe('reeve/docs')
  const facts = await daemon.readFactTypes(uuid)
  expect(facts.indexOf('worktree.made')).toBeLessThan(facts.indexOf('files.recorded'))
  expect(facts.lastIndexOf('files.recorded'), 'a process has no facts after its end').toBeLessThan(facts.indexOf('process.exited'))
})

test('a tool runs only after the files of the previous step are recorded', async () => {
  const steps = Array.from({ length: 8 }, (_, index) => writeStep('same.txt', String(index + 1)))
  const { uuid } = await daemon.spawnScripted([...steps, { text: 'done' }], { cwd: repository.dir, worktree: true })
  await daemon.waitForEnd(uuid)
  const records = await recordsOf(uuid)
  expect(records.map((event) => event['step'])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  const texts = records
    .slice(1)
    .map((event) =>
      repository.gitIn(
        daemon.work,
        `--git-dir=${join(daemon.paths.state, 'files', `${uuid}.git`)}`,
        'show',
        `${String(event['commit'])}:same.txt`,
      ),
    )
  expect(texts).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
})

test('a resume continues in the worktree; without its worktree it is refused with the next step, which works', async () => {
  const { uuid, pid } = await daemon.spawnScripted(
    [writeStep('one.txt', '1'), { text: 'once' }, writeStep('two.txt', '2'), { text: 'twice' }],
    {
      cwd: repository.dir,
      worktree: true,
    },
  )
  const { worktree } = await daemon.waitForEnd(uuid)
  const dir = worktree?.dir ?? ''
  await daemon.resume(uuid, { message: 'more' })
  await daemon.waitForEnd(uuid)
  expect(Object.keys(filesOf(dir))).toEqual(['a.txt', 'one.txt', 'sub/s.txt', 'two.txt'])
  repository.gitIn(dir, 'add', '-A')
  repository.gitIn(dir, 'commit', '-q', '-m', 'by hand')
  rmSync(dir, { recursive: true })
  const { status, body } = await daemon.post(`/v1/processes/${uuid}/resume`, { message: 'again' })
  expect([status, body.error?.code, body.error?.message]).toEqual([409, 'NOT_RESUMABLE', `its worktree is gone: ${dir} does not exist`])
  const [, command = ''] = /`git (.*?)`/.exec(body.error?.hint ?? '') ?? []
  repository.git(...command.split(' '))
  expect(body.error?.hint).toContain(`reeve resume --fork --with-files ${pid + 1}`)
  await daemon.resume(uuid, { message: 'again' })
  expect((await daemon.waitForEnd(uuid)).worktree?.dir).toBe(dir)
  expect(Object.keys(filesOf(dir))).toEqual(['a.txt', 'one.txt', 'sub/s.txt', 'two.txt'])
})

test('a plain command may have a worktree, without records', async () => {
  const { uuid } = await daemon.spawnShell('echo x > made.txt; git branch --show-current', {
    cwd: repository.dir,
    worktree: true,
    env: { ...repository.env, GIT_DIR: '/elsewhere' },
  })
  const { worktree, status } = await daemon.waitForEnd(uuid)
  expect([status, await daemon.readOutput(uuid), worktree?.recordedStep]).toEqual(['completed', `${worktree?.branch}\n`, null])
  expect([existsSync(join(worktree?.dir ?? '', 'made.txt')), await recordsOf(uuid)]).toEqual([true, []])
})

test('a failed record is reported, and the process continues', async () => {
  const { uuid } = await daemon.spawnScripted(
    [bashStep(`rm -rf ${join(daemon.paths.state, 'files')} && touch ${join(daemon.paths.state, 'files')}`), { text: 'done' }],
    { cwd: repository.dir, worktree: true },
  )
  const { status, note } = await daemon.waitForEnd(uuid)
  expect([status, note]).toEqual(['completed', expect.stringMatching(/^files of step 1 not recorded: /)])
  expect(await daemon.readFactTypes(uuid)).toContain('files.failed')
})

describe('no worktree is created', () => {
  const refusalIn = async (cwd: string): Promise<string> => {
    const { status, body } = await daemon.post('/v1/processes', {
      intent: 'x',
      model: await daemon.writeScript([{ text: 'x' }]),
      cwd,
      worktree: true,
      env: { PATH: process.env['PATH'] },
    })
    return `${status} ${body.error?.code} ${body.error?.message}`
  }

  test('in a directory outside of every repository', async () => {
    expect(await refusalIn(daemon.work)).toMatch(
      /^400 INVALID a worktree needs a git repository, and .* is not in the work tree of one: not a git repository/,
    )
  })

  test('in a repository without a commit', async () => {
    const { dir } = Repository.make(join(daemon.work, 'empty'), daemon.work)
    expect(await refusalIn(dir)).toBe(
      `400 INVALID the repository of ${dir} has no commit yet, so no worktree can start from one: make a commit first`,
    )
  })

  test('if its branch cannot be created; the process then ends with the reason', async () => {
    repository.git('branch', 'reeve')
    const { uuid } = await daemon.spawnScripted([{ text: 'x' }], { cwd: repository.dir, worktree: true })
    const { exit, worktree } = await daemon.waitForEnd(uuid)
    expect([exit?.code, exit?.error]).toEqual([126, expect.stringContaining('its worktree cannot be created: ')])
    expect(worktree?.recordedStep).toBeNull()
  })
})

test('each worktree has a branch of its own, also if the name of its process is taken or is not valid for a branch', async () => {
  const body = { cwd: repository.dir, worktree: true, name: 'docs' }
  const first = await daemon.spawnScripted([{ text: 'x' }], body)
  await daemon.waitForEnd(first.uuid)
  const second = await daemon.spawnScripted([{ text: 'x' }], body)
  const third = await daemon.spawnScripted([{ text: 'x' }], { ...body, name: 'v1.lock' })
  expect([first, second, third].map(({ worktree }) => worktree?.branch)).toEqual([
    'reeve/docs',
    `reeve/docs-${second.uuid.slice(-8)}`,
    `reeve/${third.uuid.slice(-8)}`,
  ])
  for (const { uuid } of [second, third]) expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
})

test('a worktree begins at the checkout, also without a branch, and in a worktree of another process', async () => {
  const oldHead = repository.git('rev-parse', 'HEAD')
  repository.commit({ 'a.txt': 'newer' })
  repository.git('checkout', '-q', '--detach', oldHead)
  const first = await daemon.spawnScripted([writeStep('in.txt', '1'), { text: 'x' }], { cwd: repository.dir, worktree: true })
  expect((await daemon.waitForEnd(first.uuid)).worktree?.base).toBe(oldHead)
  const dir = first.worktree?.dir ?? ''
  repository.gitIn(dir, 'add', '-A')
  repository.gitIn(dir, 'commit', '-q', '-m', 'in the worktree')
  const second = await daemon.spawnScripted([{ text: 'x' }], { cwd: dir, worktree: true })
  const { worktree } = await daemon.waitForEnd(second.uuid)
  expect(worktree?.base).toBe(repository.gitIn(dir, 'rev-parse', 'HEAD'))
  expect(readFileSync(join(worktree?.dir ?? '', 'in.txt'), 'utf8')).toBe('1')
})
