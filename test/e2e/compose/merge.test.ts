// `reeve diff`, `merge` and `pr` of a node of a compose run. A node is a process with a worktree, and the run itself has no files.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Repository } from '../../support/git/repository.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ComposeRuns, shellNode } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('`diff`, `pr` and `merge` take a node by its name, and refuse the run and a node without a worktree', async () => {
  const repository = Repository.make(daemon.work, daemon.work)
  repository.commit({ 'a.txt': 'a\n' }, 'first')
  repository.git('config', 'user.name', 'Ann')
  repository.git('config', 'user.email', 'ann@example.org')
  repository.git('remote', 'add', 'origin', join(daemon.work, 'origin.git'))
  const runs = new ComposeRuns(daemon)
  const { uuid } = await runs.start({ build: shellNode('echo new > a.txt', { worktree: true }), check: shellNode('true') })
  await runs.waitForEnd(uuid)
  const cli = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: repository.dir })

  expect(await cli('diff', '--stat', 'work.build')).toMatchObject({ code: 0, stdout: ' a.txt | 2 +-\n 1 file, +1 -1\n' })
  expect(await cli('pr', '--dry-run', '--title', 'T', 'work.build')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^PID \d+ \(work\.build\): 1 uncommitted file on reeve\/work\.build, to origin \(/),
  })
  expect(await cli('merge', 'work.build')).toMatchObject({ code: 0, stderr: expect.stringMatching(/\nmerged into main as [0-9a-f]{12}; /) })
  expect(repository.git('show', 'main:a.txt')).toBe('new')
  for (const verb of ['diff', 'merge', 'pr']) {
    expect(await cli(verb, 'work')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('is a compose run, which has no files of its own'),
    })
    expect(await cli(verb, 'work.check')).toMatchObject({ code: 64, stderr: expect.stringContaining('has no worktree') })
  }
})

test('`compose up` ends with the work of each node, and the verbs that take it', async () => {
  const repository = Repository.make(daemon.work, daemon.work)
  repository.commit({ 'a.txt': 'a\n' }, 'first')
  const file = join(daemon.work, 'work.yaml')
  const agents = {
    build: { command: ['sh', '-c', 'echo new > a.txt'], worktree: true },
    look: { command: ['cat', 'a.txt'], worktree: true },
    check: { command: ['true'] },
  }
  writeFileSync(file, JSON.stringify({ agents }))
  const { code, stderr } = await runCli(daemon.home, ['compose', 'up', '--file', file], { cwd: repository.dir })
  const { pid } = await daemon.view('work.build')
  expect([code, ...stderr.split('\n').slice(-3)]).toEqual([
    0,
    expect.stringMatching(/^run work completed \| 3 nodes/),
    `build: 1 file changed, not committed, on reeve/work.build; \`reeve diff ${pid}\`, \`reeve merge ${pid}\` or \`reeve pr ${pid}\``,
    '',
  ])
})
