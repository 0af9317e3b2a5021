// A worktree is removed with its process: by `reeve rm`, by collection, and at the next start of a daemon that was killed in between.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

async function runWithWorktree(content: string, name: string): Promise<ProcessView> {
  const { uuid } = await daemon.spawnScripted(
    [{ text: '', tools: [{ name: 'write', input: { path: 'b.txt', content } }] }, { text: 'done' }],
    {
      cwd: repository.dir,
      worktree: true,
      name,
    },
  )
  return daemon.waitForEnd(uuid)
}

const listLeftovers = (): string[] => ['worktrees', 'files'].flatMap((dir) => readdirSync(join(daemon.paths.state, dir)))

test('rm removes the worktree with its records, and reports what still exists', async () => {
  const one = await runWithWorktree('one', 'one')
  const second = await runWithWorktree('two', 'two')
  repository.gitIn(second.worktree?.dir ?? '', 'add', '-A')
  repository.gitIn(second.worktree?.dir ?? '', 'commit', '-q', '-m', 'work')
  const { code, stderr } = await runCli(daemon.home, ['rm', 'one', 'two'])
  expect([code, stderr]).toEqual([
    0,
    [
      `PID 1 (one) was removed; uncommitted files of its worktree are in refs/reeve/salvage/${one.uuid}`,
      'PID 2 (two) was removed; the branch reeve/two stays, because it has commits of its own',
      '',
    ].join('\n'),
  ])
  expect([
    repository.git('show', `refs/reeve/salvage/${one.uuid}:b.txt`),
    repository.git('show', 'reeve/two:b.txt'),
    listLeftovers(),
  ]).toEqual(['one', 'two', []])
})

test.each([
  ['by git', (dir: string) => void repository.git('worktree', 'remove', '--force', dir)],
  ['by hand', (dir: string) => rmSync(dir, { recursive: true })],
])('rm removes the branch of a worktree that is gone already, removed %s', async (_, removeWorktree) => {
  const one = await runWithWorktree('one', 'one')
  const second = await runWithWorktree('two', 'two')
  repository.gitIn(second.worktree?.dir ?? '', 'commit', '-q', '--allow-empty', '-m', 'work')
  for (const { worktree } of [one, second]) removeWorktree(worktree?.dir ?? '')
  const { code, stderr } = await runCli(daemon.home, ['rm', 'one', 'two'])
  expect([code, stderr]).toEqual([
    0,
    'PID 1 (one) was removed\nPID 2 (two) was removed; the branch reeve/two stays, because it has commits of its own\n',
  ])
  expect(repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/reeve')).toBe('reeve/two')
})

test('rm also removes unfinished records', async () => {
  const { uuid } = await daemon.spawn({ model: 'script:not-there.yaml', cwd: repository.dir, worktree: true })
  const { note } = await daemon.waitForEnd(uuid)
  expect(note, 'the path of a script is relative to the former directory').toContain(
    `script ${join(repository.dir, 'not-there.yaml')} cannot be read`,
  )
  mkdirSync(join(daemon.paths.state, 'files', `${uuid}.git.new`), { recursive: true })
  await runCli(daemon.home, ['rm', uuid])
  expect(listLeftovers()).toEqual([])
})

test('a collection removes the worktree as rm does, and leaves a worktree with a running program to the next round', async () => {
  await daemon.stop()
  writeFileSync(daemon.paths.configFile, 'gc: { retention_days: 0, max_entries: 1 }\n')
  await daemon.start()
  const one = await runWithWorktree('one', 'one')
  const second = await runWithWorktree('two', 'two')
  const third = await runWithWorktree('three', 'three')
  const other = await daemon.spawnShell('sleep 600', { cwd: second.worktree?.dir ?? '' })
  expect((await runCli(daemon.home, ['gc', '--force'])).code).toBe(0)
  expect([repository.git('show', `refs/reeve/salvage/${one.uuid}:b.txt`), readdirSync(join(daemon.paths.state, 'worktrees'))]).toEqual([
    'one',
    [second.uuid, third.uuid],
  ])
  expect(daemon.logMessages).toContain(
    `the worktree ${one.worktree?.dir} was removed; its uncommitted files are in refs/reeve/salvage/${one.uuid}`,
  )
  await daemon.signal(other.uuid, 'SIGKILL')
  await daemon.waitForEnd(other.uuid)
  expect((await runCli(daemon.home, ['gc', '--force'])).code).toBe(0)
  expect(repository.git('show', `refs/reeve/salvage/${second.uuid}:b.txt`)).toBe('two')
})

test('a worktree with another repository in it stays, and the process is removed', async () => {
  const { uuid, worktree } = await runWithWorktree('one', 'one')
  Repository.make(join(worktree?.dir ?? '', 'inner'), daemon.work)
  const { stderr } = await runCli(daemon.home, ['rm', uuid])
  expect(stderr).toBe(`PID 1 (one) was removed; its worktree ${worktree?.dir} stays: it contains another repository, inner\n`)
  expect(existsSync(join(worktree?.dir ?? '', 'b.txt'))).toBe(true)
})

test('the worktree stays while another process works in it', async () => {
  const { uuid, worktree } = await runWithWorktree('one', 'one')
  const other = await daemon.spawnShell('sleep 600', { cwd: worktree?.dir ?? '' })
  const { code, stderr } = await runCli(daemon.home, ['rm', uuid])
  expect([code, stderr]).toEqual([1, expect.stringContaining(`process ${other.pid} still works in the worktree of process`)])
  await daemon.signal(other.uuid, 'SIGKILL')
  await daemon.waitForEnd(other.uuid)
  expect((await runCli(daemon.home, ['rm', uuid])).code).toBe(0)
})

test('after a kill of the daemon in the middle of a removal, the next start leaves nothing', async () => {
  const one = await runWithWorktree('one', 'one')
  const second = await runWithWorktree('two', 'two')
  await daemon.stop()
  // The first half of a removal, and the remains of an unfinished fork.
  const { openSqliteStore } = await import('../../../src/store/sqlite.ts')
  const store = await openSqliteStore({ dir: daemon.paths.state, log: () => {} })
  await store.remove(one.uuid, 1)
  await store[Symbol.asyncDispose]()
  mkdirSync(join(daemon.paths.state, 'files', '01900000-0000-7000-8000-000000000000.git.new'))
  // A living process may be making these files.
  mkdirSync(join(daemon.paths.state, 'files', `${second.uuid}.git.new`))
  await daemon.start()
  await daemon.stop() // the stop waits until all is salvaged
  expect(repository.git('show', `refs/reeve/salvage/${one.uuid}:b.txt`)).toBe('one')
  expect(listLeftovers()).toEqual([second.uuid, `${second.uuid}.git`, `${second.uuid}.git.new`])
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(2)
})
