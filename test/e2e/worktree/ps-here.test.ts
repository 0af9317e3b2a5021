// `ps --here` lists the processes that were started in the current directory or below it, also those in worktrees.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('`ps --here` lists only the processes of a directory', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'sub/a.txt': 'a\n' })
  const [sub, other] = [join(repository.dir, 'sub'), join(daemon.work, 'repo-2')]
  mkdirSync(other)
  await daemon.spawnShell('sleep 600', { cwd: repository.dir, name: 'top' })
  await daemon.spawnShell('sleep 600', { cwd: sub, name: 'tree', worktree: true })
  await daemon.spawnShell('sleep 600', { cwd: other, name: 'other' })
  const namesIn = async (cwd: string): Promise<string> =>
    (await runCli(daemon.home, ['ps', '--here', '-o', 'name', '--sort', 'name'], { cwd })).stdout
  expect(await namesIn(repository.dir)).toBe('NAME\ntop\ntree\n')
  expect(await namesIn(sub)).toBe('NAME\ntree\n')
  expect(await namesIn(other)).toBe('NAME\nother\n')
  expect(await namesIn(daemon.work)).toBe('NAME\nother\ntop\ntree\n')
})
