// The files of a process between two states: steps, the beginning, now, and those of a fork and its origin. Real git, and records as
// the daemon makes them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessDiffView, ProcessFilesView } from '../../../src/api/views/diff.ts'
import { connect } from '../../../src/index.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository, gitBytes } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\ntwo\n', 'old name.txt': 'a\nb\nc\nd\n' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

type Query = Readonly<Record<string, string | number>>
const bashStep = (command: string): object => ({ text: '', tools: [{ name: 'bash', input: { command } }] })
const filesOf = (ref: string, query: Query = {}): Promise<ProcessFilesView> =>
  daemon.client.get<ProcessFilesView>(`/v1/processes/${ref}/files`, query)
const diffOf = (ref: string, query: Query = {}): Promise<ProcessDiffView> =>
  daemon.client.get<ProcessDiffView>(`/v1/processes/${ref}/diff`, query)
const rows = ({ files }: ProcessFilesView): unknown[] =>
  files.map(({ change, path, from, insertions, deletions, steps }) => [change, from ?? path, insertions, deletions, steps])

async function runSteps(commands: readonly string[], name = 'docs'): Promise<string> {
  const { uuid } = await daemon.spawnScripted([...commands.map(bashStep), { text: 'end' }], { worktree: true, name, cwd: repository.dir })
  await daemon.waitForEnd(uuid)
  return uuid
}

test('files between two steps, with the steps that changed them', async () => {
  const uuid = await runSteps([
    'echo 1 > b.txt',
    "git mv 'old name.txt' new.txt",
    'echo 3 >> b.txt; echo THREE >> a.txt',
    'head -c 500000 /dev/zero > zeros; head -c 11000000 /dev/zero > large',
  ])
  const before = gitBytes(repository)
  const all = await filesOf('docs')
  expect(rows(all)).toEqual([
    ['changed', 'a.txt', 1, 0, [3]],
    ['added', 'b.txt', 2, 0, [1, 3]],
    ['added', 'large', null, null, []],
    ['renamed', 'old name.txt', 0, 0, [2]],
    ['added', 'zeros', null, null, [4]],
  ])
  expect(all.files.map(({ large }) => large)).toEqual([false, false, true, false, true])
  expect([all.of, all.from?.of, all.to?.of, all.insertions, all.deletions]).toEqual(['worktree', 'base', 'worktree', 3, 0])
  const some = await filesOf('docs', { from: 1, to: 4 })
  expect(rows(some).map((row) => (row as unknown[]).slice(0, 2))).toEqual([
    ['changed', 'a.txt'],
    ['changed', 'b.txt'],
    ['renamed', 'old name.txt'],
    ['added', 'zeros'],
  ])
  expect(some.files.find(({ path }) => path === 'b.txt')?.steps).toEqual([3])
  expect([some.left, some.leftMore]).toEqual([[{ path: 'large', why: 'large' }], 0])
  expect([some.from, some.to].map((side) => side?.step)).toEqual([1, 4])
  expect(rows(await filesOf('docs', { from: 3, to: 1 })), 'backwards').toEqual([
    ['changed', 'a.txt', 0, 1, [3]],
    ['changed', 'b.txt', 0, 1, [3]],
    ['renamed', 'new.txt', 0, 0, [2]],
  ])
  expect(gitBytes(repository), 'nothing is written').toEqual(before)
  await using reeve = connect({ home: daemon.home, start: false })
  expect(await reeve.files(uuid, { from: 1, to: 4 })).toEqual(some)
})

test('a diff can be limited to one file or directory, also by its earlier name', async () => {
  await runSteps(["mkdir dir; git mv 'old name.txt' dir/new.txt; echo e >> dir/new.txt; echo x > dirt", 'echo y > dir/y'])
  const { diff, files } = await diffOf('docs', { path: 'dir', context: 0 })
  expect(files.map(({ path, change }) => [path, change])).toEqual([
    ['dir/new.txt', 'renamed'],
    ['dir/y', 'added'],
  ])
  expect(diff).toContain('rename from old name.txt\nrename to dir/new.txt\n')
  expect(diff).toContain('@@ -4,0 +5 @@ d\n+e\n')
  expect(diff).not.toContain('dirt')
  expect((await filesOf('docs', { path: 'old name.txt' })).files.map(({ path }) => path)).toEqual(['dir/new.txt'])
  expect((await filesOf('docs', { path: 'nothing' })).files).toEqual([])
})

test('a fork is compared with its origin from their common step on', async () => {
  const uuid = await runSteps(['echo 1 > one', 'echo 2 > two', 'echo 3 > three'])
  const fork = await daemon.client.post<{ process: { uuid: string } }>(`/v1/processes/${uuid}/resume`, {
    fork: true,
    fromStep: 1,
    withFiles: true,
    name: 'docs-2',
    message: 'again',
  })
  await daemon.waitForEnd(fork.process.uuid)
  const between = await filesOf('docs-2', { from: 'docs@3', to: 'now' })
  expect(between.from).toMatchObject({ uuid, of: 'step', step: 3 })
  expect(between.to).toMatchObject({ uuid: fork.process.uuid, of: 'worktree' })
  const own = await filesOf('docs-2', { from: 'origin' })
  expect(own.from).toMatchObject({ of: 'origin', step: 1 })
  expect(own.files.every(({ steps }) => steps.every((step) => step > 1))).toBe(true)
  expect((await filesOf('docs-2', { from: 'docs@1', to: 1 })).files).toEqual([])
  const back = await filesOf('docs', { from: 'docs-2@origin', to: 3 })
  expect(rows(back)).toEqual([
    ['added', 'three', 1, 0, [3]],
    ['added', 'two', 1, 0, [2]],
  ])
})

test('a diff for a reader has at most 400 kB of a file and 2 MB in all', async () => {
  await runSteps(['for n in 1 2 3 4 5 6 7; do seq 1 100000 > $n.txt; done; echo small > small.txt'])
  const view = await diffOf('docs', { format: 'view' })
  expect(Buffer.byteLength(view.diff ?? '')).toBeLessThanOrEqual(2_000_000)
  expect([view.truncated, view.left.length]).toEqual([true, 8])
  expect(
    (view.diff ?? '')
      .split('diff --git ')
      .slice(1, 5)
      .map((part) => part.length <= 400_000),
  ).toEqual([true, true, true, true])
  const whole = await diffOf('docs')
  expect([whole.truncated, whole.left]).toEqual([false, []])
  const file = join(daemon.work, 'patch')
  writeFileSync(file, whole.diff ?? '')
  repository.git('apply', '--check', file)
  expect((await diffOf('docs', { format: 'view', path: 'small.txt' })).truncated).toBe(false)
})

test('a diff refuses states that do not exist or do not belong together', async () => {
  const uuid = await runSteps(['echo 1 > one'])
  const other = Repository.make(join(daemon.work, 'other'), daemon.work)
  other.commit({ x: 'x\n' })
  const foreign = await daemon.spawnScripted([bashStep('echo 1 > one'), { text: 'end' }], {
    worktree: true,
    name: 'foreign',
    cwd: other.dir,
  })
  await daemon.waitForEnd(foreign.uuid)
  for (const [args, code, text] of [
    [['--from', 'yesterday'], 64, '"yesterday" is not a state of files'],
    [['--from', '7'], 64, 'has no whole step 7'],
    [['--from', 'foreign@now'], 64, 'different repositories'],
    [['--from', 'nobody@now'], 3, 'nobody'],
    [['--to', '1', '--step', '1'], 64, 'exclude each other'],
    [['--stat', '--steps'], 64, 'exclude each other'],
  ] as const) {
    const result = await runCli(daemon.home, ['diff', ...args, uuid])
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(text)])
  }
  const { stderr, stdout } = await runCli(daemon.home, ['diff', '--from', '0', '--to', '1', '--stat', 'docs'])
  expect(stderr).toContain(' on reeve/docs, from step 0 to step 1\n')
  expect(stdout).toBe(' one | 1 + (new)\n 1 file, +1 -0\n')
})
