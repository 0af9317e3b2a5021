// The setup of a new worktree: ignored files of the user's checkout, and no path that leaves it. With a real crew, a
// command that runs there before any work, and whose files are never committed.
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyFiles, type CopyResult } from '../../../src/drivers/git/copy-to-worktree.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'

describe('copied files', () => {
  let contained: ContainmentHarness
  let repository: Repository
  let dir: string
  beforeEach(async () => {
    contained = await openContainmentHarness()
    repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
    const base = repository.commit({ '.gitignore': '.env\n*.local\nlinks/\n/out\n', 'src/a.txt': 'a\n' })
    repository.write({
      '.env': 'KEY=1\n',
      'src/.env': 'KEY=2\n',
      'deep/er/x.local': 'x\n',
      'seen.txt': 'not ignored\n',
      'src/a.txt': 'changed\n',
    })
    dir = join(contained.dir, 'w')
    await using git = new Git(() => contained.open('group'))
    await addWorktree(git, {
      repository: join(repository.dir, '.git'),
      dir,
      branch: 'reeve/fix.worker-1',
      base,
      env: repository.env,
      programs: true,
    })
  })
  afterEach(() => contained[Symbol.asyncDispose]())

  async function copyToWorktree(...patterns: string[]): Promise<CopyResult> {
    await using git = new Git(() => contained.open('group'))
    return await copyFiles(
      git,
      { repository: join(repository.dir, '.git'), dir, env: repository.env, programs: true },
      { from: join(repository.dir, 'src'), patterns },
    )
  }
  const readStatus = (): string => repository.gitIn(dir, 'status', '--porcelain', '-uall')

  test('are selected by patterns and .worktreeinclude; files that git does not ignore are skipped', async () => {
    repository.write({ '.worktreeinclude': '# mine\n*.local\n' })
    expect(await copyToWorktree('.env', 'seen.txt', 'src/a.txt', '!src/.env')).toEqual({
      copied: 2,
      skipped: ['seen.txt: git does not ignore it'],
    })
    expect([
      readFileSync(join(dir, '.env'), 'utf8'),
      readFileSync(join(dir, 'deep/er/x.local'), 'utf8'),
      existsSync(join(dir, 'src/.env')),
      existsSync(join(dir, 'seen.txt')),
    ]).toEqual(['KEY=1\n', 'x\n', false, false])
    expect([readStatus(), readFileSync(join(dir, 'src/a.txt'), 'utf8')]).toEqual(['', 'a\n'])
    expect(await copyToWorktree('.env')).toMatchObject({ skipped: [] })
  })

  test('never come from or go to a place outside through a link', async () => {
    mkdirSync(join(contained.dir, 'outside'))
    writeFileSync(join(contained.dir, 'outside/secret.local'), 'secret\n')
    mkdirSync(join(repository.dir, 'links'))
    symlinkSync('../.env', join(repository.dir, 'links/inside'))
    symlinkSync(join(contained.dir, 'outside/secret.local'), join(repository.dir, 'links/out'))
    symlinkSync('../../outside', join(repository.dir, 'links/dir'))
    repository.write({ 'out/x.local': 'x\n' })
    symlinkSync(join(contained.dir, 'outside'), join(dir, 'out'))
    const { copied, skipped } = await copyToWorktree('links/*', 'out/x.local')
    expect([copied, skipped.toSorted()]).toEqual([
      1,
      [
        'links/dir: it is a link to a path outside of the checkout',
        'links/out: it is a link to a path outside of the checkout',
        'out/x.local: its path contains a link',
      ],
    ])
    expect(lstatSync(join(dir, 'links/inside')).isSymbolicLink()).toBe(true)
    expect(existsSync(join(contained.dir, 'outside/x.local'))).toBe(false)
  })

  test('cause an error if they are too many or too large', async () => {
    repository.write(Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`many/${index}.local`, ''])))
    await expect(copyToWorktree('*.local')).rejects.toThrow('match 1002 files; at most 1000 are copied')
    writeFileSync(join(repository.dir, 'large.local'), Buffer.alloc(101 * 1024 * 1024))
    await expect(copyToWorktree('large.local')).rejects.toThrow('match more than 100 MiB')
  })
})

test('a crew has its packages and settings in each worktree, and commits none of them', { timeout: 400_000 }, async () => {
  await using crew = await CrewHome.make()
  crew.repository.commit({ '.gitignore': '.env\nnode_modules\n', 'lock.txt': 'as it was\n' })
  crew.repository.write({ '.env': 'KEY=1\n' })
  const setup = 'cp .env seen-env; echo changed > lock.txt; mkdir node_modules; cp .env node_modules/env; echo installed'
  await crew.up({
    setup,
    copy: '.env',
    verify: 'test -e node_modules/env && grep -q KEY=1 .env',
    workers: { generic: { count: 2, model: CrewHome.model('worker') } },
    tasks: [makeTask('one'), makeTask('two')],
  })
  expect(await crew.waitForEnd()).toMatchObject({ status: 'completed', exit: { code: 0 } })
  const report = JSON.parse(await crew.cli('crew', 'report', 'team', '--json')) as CrewReportView
  expect(report.members.map(({ id, setup: done }) => [id, done?.ok, done?.copied, done?.output])).toEqual([
    ['worker-1', true, 1, 'installed'],
    ['worker-2', true, 1, 'installed'],
  ])
  expect(await crew.cli('crew', 'report', 'team')).toContain('Setup of worker-1: cp .env seen-env')
  expect(crew.repository.git('ls-tree', '-r', '--name-only', 'reeve/team').split('\n')).toEqual([
    '.gitignore',
    'README.md',
    'lock.txt',
    'one.txt',
    'reeve.yaml',
    'two.txt',
  ])
  expect(crew.repository.git('show', 'reeve/team:lock.txt')).toBe('as it was')
  expect(report.git?.salvaged).toEqual([])
  expect(await crew.home.stop()).toMatchObject({ code: 0 })
  await crew.home.waitUntilNothingIsLeft()
})

test(
  'if no worktree can be set up, the crew is held once with the reason, and continues after the repair',
  { timeout: 180_000 },
  async () => {
    await using crew = await CrewHome.make()
    const network = join(crew.membersHome, 'network')
    await crew.up({
      coordinator: 'engine',
      workers: { generic: { count: 2, model: CrewHome.model('worker') } },
      setup: 'test -e ~/network || { echo no network; exit 3; }',
      tasks: [makeTask('one')],
    })
    await crew.waitUntil(async () => (await crew.home.view(crew.uuid)).status === 'suspended', 'it is held')
    await crew.waitUntil(
      async () => (await crew.home.listProcesses()).every(({ state, uuid }) => state === 'dead' || uuid === crew.uuid),
      'its workers are gone',
    )
    const heldMessage =
      /is suspended: supervisor \(no worktree can be set up: `test -e ~\/network .*` ended with exit code 3 after \d\.\d s: no network\); `reeve crew resume team` continues it\n$/
    const { stderr } = await runCli(crew.home.path, ['crew', 'ps', 'team'])
    expect(stderr).toMatch(heldMessage)
    writeFileSync(network, '')
    await crew.cli('crew', 'resume', 'team')
    expect(await crew.waitForEnd()).toMatchObject({ status: 'completed' })
    const followed = await runCli(crew.home.path, ['crew', 'follow', '-a', 'team'])
    // Each failure of a setup is one line.
    const lines = followed.stderr.split('\n').filter((line) => line.includes('no network') && !line.includes('is set up'))
    expect(lines.map((line) => /worker-\d +[\w ]+/.exec(line)?.[0])).toEqual(
      expect.arrayContaining(['worker-1      lost', 'worker-2      lost']),
    )
    expect(lines).toHaveLength(2)
  },
)
