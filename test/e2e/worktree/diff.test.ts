// `reeve diff`: what a process changed in its worktree, while it runs, after its end, at a step, and after the removal of the worktree. It
// changes nothing in the repository, and runs no program of it.
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessDiffView } from '../../../src/api/views/diff.ts'
import { connect } from '../../../src/index.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { Repository, gitBytes } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\ntwo\n', 'gone.txt': 'x\n', '.gitignore': 'ignored/\n' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const inTree = { worktree: true, name: 'docs' } as const
const diffOf = (ref: string, query: object = {}): Promise<ProcessDiffView> =>
  daemon.client.get<ProcessDiffView>(`/v1/processes/${ref}/diff`, query as Record<string, string>)
const changes = ({ files }: ProcessDiffView): string[] => files.map(({ change, path }) => `${change} ${path}`)
const cli = (...args: readonly string[]): Promise<CliResult> => runCli(daemon.home, args)
const bashStep = (command: string): object => ({ text: '', tools: [{ name: 'bash', input: { command } }] })
const COMMIT = 'git add -A; git -c user.name=x -c user.email=x commit -qm work'

test('the diff of a running, a paused and an ended process has commits, uncommitted and new files, and no ignored ones', async () => {
  const go = join(daemon.work, 'go')
  const { uuid } = await daemon.spawnShell(
    `echo new > new.txt; ${COMMIT}; rm gone.txt; echo TWO >> a.txt; mkdir ignored; touch ignored/f; git clone -q . other; echo done; until [ -e '${go}' ]; do sleep 0.02; done`,
    { ...inTree, cwd: repository.dir },
  )
  await daemon.waitForEvent(uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('done'))
  const before = gitBytes(repository)
  const expected = ['changed a.txt', 'deleted gone.txt', 'added new.txt']
  const running = await diffOf(uuid)
  expect([changes(running), running.of, running.insertions, running.deletions, running.left]).toEqual([expected, 'worktree', 2, 1, []])
  expect(running.diff).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+TWO\n')
  expect(gitBytes(repository), 'a diff writes nothing').toEqual(before)
  await daemon.pause(uuid)
  expect(changes(await diffOf(uuid, { format: 'stat' }))).toEqual(expected)
  writeFileSync(go, '')
  await daemon.resume(uuid)
  await daemon.waitForEnd(uuid)
  const { diff, ...view } = await diffOf(uuid, { format: 'stat' })
  expect([changes({ diff, ...view }), diff, view.name, view.branch, view.base, view.repository]).toEqual([
    expected,
    null,
    'docs',
    'reeve/docs',
    repository.git('rev-parse', 'HEAD'),
    join(repository.dir, '.git'),
  ])
  await using reeve = connect({ home: daemon.home, start: false })
  expect(await reeve.diff('docs', { format: 'stat' })).toEqual({ diff, ...view })
})

test('the diff of a step has the files of the newest record at or before the step', async () => {
  const { uuid, pid } = await daemon.spawnScripted(
    [
      bashStep('echo 1 > one'),
      { text: '', tools: [{ name: 'read', input: { path: 'one' } }] },
      bashStep('echo 3 > three; head -c 11000000 /dev/zero > large'),
      { text: 'end' },
    ],
    {
      ...inTree,
      cwd: repository.dir,
    },
  )
  await daemon.waitForEnd(uuid)
  const steps = await Promise.all([0, 1, 2, 3].map((step) => diffOf(uuid, { step })))
  expect(steps.map((view) => [view.of, view.step, view.omitted, changes(view)])).toEqual([
    ['step', 0, 0, []],
    ['step', 1, 0, ['added one']],
    ['step', 1, 0, ['added one']],
    ['step', 3, 1, ['added one', 'added three']],
  ])
  expect((await cli('diff', '--step', '3', '--name-only', 'docs')).stderr).toContain(
    '; its files after step 3\n1 file of that step is not recorded: too large, unreadable, or another repository\n',
  )
  const { code, stderr } = await cli('diff', '--step', '9', 'docs')
  expect([code, stderr]).toEqual([64, expect.stringContaining(`process ${pid} has no whole step 9`)])
})

test('a tracked file that became too large to record does not count as deleted', async () => {
  const { uuid } = await daemon.spawnScripted([bashStep('head -c 11000000 /dev/zero > a.txt'), { text: 'end' }], {
    ...inTree,
    cwd: repository.dir,
  })
  await daemon.waitForEnd(uuid)
  const view = await diffOf(uuid, { step: 1 })
  expect([changes(view), view.omitted]).toEqual([[], 1])
  expect(changes(await diffOf(uuid)), 'the worktree has it').toEqual(['changed a.txt'])
})

describe('after the worktree was removed by hand', () => {
  const removeByHand = async (uuid: string): Promise<void> => {
    repository.git('worktree', 'remove', '--force', (await daemon.view(uuid)).worktree?.dir ?? '')
  }

  test('the newest record has the files, also uncommitted ones', async () => {
    const { uuid } = await daemon.spawnScripted([bashStep('echo 1 > one'), { text: 'end' }], { ...inTree, cwd: repository.dir })
    await daemon.waitForEnd(uuid)
    await removeByHand(uuid)
    const view = await diffOf(uuid)
    expect([view.of, view.step, changes(view)]).toEqual(['step', 1, ['added one']])
  })

  test('the branch of a plain command has its commits; without a branch nothing is left', async () => {
    const { uuid, pid } = await daemon.spawnShell(`echo 1 > one; ${COMMIT}; echo 2 > lost`, { ...inTree, cwd: repository.dir })
    await daemon.waitForEnd(uuid)
    await removeByHand(uuid)
    const view = await diffOf(uuid)
    expect([view.of, view.step, changes(view)]).toEqual(['branch', null, ['added one']])
    repository.git('branch', '-q', '-D', 'reeve/docs')
    const { code, stderr } = await cli('diff', 'docs')
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(new RegExp(`^reeve: the worktree of process ${pid} is gone \\(.*with no commit`)),
    ])
  })
})

test('a diff runs no program of the repository, and no setting of the repository hides a change', async () => {
  const mark = join(daemon.work, 'ran')
  const evil = join(daemon.work, 'evil.sh')
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat\n`)
  chmodSync(evil, 0o755)
  const { uuid } = await daemon.spawnScripted(
    [
      { text: '', tools: [{ name: 'write', input: { path: 'a.txt', content: 'three\n' } }] },
      { text: '', tools: [{ name: 'write', input: { path: '.gitattributes', content: '* -diff diff=evil filter=evil\n' } }] },
      { text: 'end' },
    ],
    { ...inTree, cwd: repository.dir, allow: ['read', 'write', 'edit', 'ls'] },
  )
  const { worktree } = await daemon.waitForEnd(uuid)
  for (const [key, value] of [
    ['diff.external', evil],
    ['diff.evil.command', evil],
    ['diff.evil.textconv', evil],
    ['filter.evil.clean', evil],
    ['core.fsmonitor', evil],
    ['core.hooksPath', daemon.work],
  ] as const)
    repository.git('config', key, value)
  repository.gitIn(worktree?.dir ?? '', '-c', 'core.fsmonitor=false', 'update-index', '--skip-worktree', 'a.txt')
  rmSync(mark, { force: true })
  const view = await diffOf(uuid)
  expect(changes(view)).toEqual(['added .gitattributes', 'changed a.txt'])
  expect(view.diff).toContain('-one\n-two\n+three\n')
  await diffOf(uuid, { step: 2 })
  expect(existsSync(mark)).toBe(false)
})

test('the command prints a patch for git, names, sizes or JSON, and gives reasons for its refusals', async () => {
  const { uuid } = await daemon.spawnShell("printf 'red \\033[31m\\n' > a.txt; echo 1 > 'two  words'", { ...inTree, cwd: repository.dir })
  await daemon.waitForEnd(uuid)
  const patch = await cli('diff', 'docs')
  expect([patch.code, patch.stderr]).toEqual([
    0,
    `PID 1 (docs): 2 files, +2 -2 on reeve/docs since ${repository.git('rev-parse', 'HEAD').slice(0, 12)}\n`,
  ])
  const file = join(daemon.work, 'patch')
  writeFileSync(file, patch.stdout)
  repository.git('apply', file)
  expect(repository.git('status', '--porcelain')).toBe(' M a.txt\n?? "two  words"')
  expect((await cli('diff', '--name-only', 'docs')).stdout).toBe('a.txt\ntwo  words\n')
  expect((await cli('diff', '--stat', '-q', 'docs')).stdout).toBe(' a.txt     | 3 +--\n two words | 1 + (new)\n 2 files, +2 -2\n')
  expect(JSON.parse((await cli('diff', '--json', '--stat', 'docs')).stdout)).toEqual(await diffOf(uuid, { format: 'stat' }))
  await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'plain' })).uuid)
  for (const [args, code, text] of [
    [['plain'], 64, 'has no worktree'],
    [['--step', '1', 'docs'], 64, 'is a plain command, which has no steps'],
    [['--stat', '--name-only', 'docs'], 64, 'exclude each other'],
    [['nobody'], 3, 'nobody'],
  ] as const) {
    const result = await cli('diff', ...args)
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(text)])
  }
})

test.runIf(HAS_TERMINAL)('on a terminal lines have colours, and control characters are visible', async () => {
  const { uuid } = await daemon.spawnShell("printf 'red \\033[31m\\n' > new.txt", { ...inTree, cwd: repository.dir })
  await daemon.waitForEnd(uuid)
  using terminal = new Terminal(daemon.home, ['diff', 'docs'], { env: { NO_COLOR: '' } })
  expect(await terminal.exitCode).toBe(0)
  expect(terminal.raw).toContain('\u001b[32m+red ^[[31m\u001b[0m')
})
