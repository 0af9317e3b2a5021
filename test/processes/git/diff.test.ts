// The difference of two commits, with real git: its content, complete in spite of attributes, and its limits. No program of the
// repository runs.
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { diffOf, fileAt, type Diff } from '../../../src/drivers/git/diff.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { gitBytes, Repository } from '../../support/git/repository.ts'

let contained: ContainmentHarness
let git: Git
let repository: Repository
beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
})
afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const gitPlace = () => ({ repository: join(repository.dir, '.git'), env: repository.env })
const readDiff = (from: string, to: string, maxLines = 1_000): Promise<Diff> => diffOf(git, gitPlace(), { from, to, maxLines })

test('a difference lists each kind of change with its size and exact names', async () => {
  const base = repository.commit({
    'a.txt': 'one\ntwo\n',
    'old name.txt': 'a\nb\nc\nd\n',
    'gone.txt': 'x\n',
    'run.sh': 'echo\n',
    'picture.bin': Buffer.from([0, 1, 2]),
  })
  renameSync(join(repository.dir, 'old name.txt'), join(repository.dir, 'new\tname.txt'))
  rmSync(join(repository.dir, 'gone.txt'))
  chmodSync(join(repository.dir, 'run.sh'), 0o755)
  const head = repository.commit({ 'a.txt': 'one\nthree\n', 'süd.txt': 'neu\n', 'picture.bin': Buffer.from([0, 1, 3]) })
  const { files, text, left } = await readDiff(base, head)
  expect(files.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'a.txt', from: null, change: 'changed', insertions: 1, deletions: 1 },
    { path: 'gone.txt', from: null, change: 'deleted', insertions: 0, deletions: 1 },
    { path: 'new\tname.txt', from: 'old name.txt', change: 'renamed', insertions: 0, deletions: 0 },
    { path: 'picture.bin', from: null, change: 'changed', insertions: null, deletions: null },
    { path: 'run.sh', from: null, change: 'changed', insertions: 0, deletions: 0 },
    { path: 'süd.txt', from: null, change: 'added', insertions: 1, deletions: 0 },
  ])
  expect(left).toEqual([])
  expect(text).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n')
  expect(text).toContain('Binary files a/picture.bin and b/picture.bin differ')
  expect(text).toContain('old mode 100644\nnew mode 100755')
  expect((await readDiff(base, base)).files).toEqual([])
  expect(await readDiff(base, head, 0)).toMatchObject({ files, text: '' })
})

test('no program of the repository runs, and no attribute hides a change', async () => {
  const mark = join(contained.dir, 'ran')
  const base = repository.commit({ 'a.txt': 'one\n' })
  writeFileSync(join(contained.dir, 'evil.sh'), `#!/bin/sh\ntouch ${mark}\ncat "$1"\n`, { mode: 0o755 })
  for (const [name, value] of [
    ['diff.external', 'evil.sh'],
    ['diff.evil.textconv', 'evil.sh'],
    ['diff.evil.command', 'evil.sh'],
    ['core.fsmonitor', 'evil.sh'],
    ['core.pager', 'evil.sh'],
    ['color.ui', 'always'],
    ['diff.noprefix', 'true'],
  ] as const) {
    repository.git('config', name, value === 'evil.sh' ? join(contained.dir, value) : value)
  }
  const head = repository.commit({ 'a.txt': 'two\n', '.gitattributes': '*.txt -diff diff=evil\n' })
  writeFileSync(join(repository.dir, '.gitattributes'), '*.txt -diff\n')
  rmSync(mark, { force: true })
  const gitBytesBefore = gitBytes(repository)
  const { text } = await readDiff(base, head)
  expect(text).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n')
  expect(existsSync(mark)).toBe(false)
  expect(gitBytes(repository)).toEqual(gitBytesBefore)
})

test('a large difference is cut at a line, and names the incomplete files', async () => {
  const base = repository.commit({ 'z.txt': '' })
  const numberedLines = (count: number): string => Array.from({ length: count }, (_, n) => `line ${n}\n`).join('')
  const head = repository.commit({ 'a.txt': numberedLines(5), 'b.txt': numberedLines(500), 'c.txt': numberedLines(5) })
  const cutDiff = await readDiff(base, head, 40)
  expect(cutDiff.files.map(({ path, insertions }) => [path, insertions])).toEqual([
    ['a.txt', 5],
    ['b.txt', 500],
    ['c.txt', 5],
  ])
  expect(cutDiff.left).toEqual(['b.txt', 'c.txt'])
  expect(cutDiff.text).toContain('+++ b/a.txt\n')
  expect(cutDiff.text).not.toContain('b.txt')
  const one = await readDiff(base, repository.git('rev-parse', 'HEAD'), 8)
  expect(one.text.split('\n').length).toBe(9)
  expect(one.left).toEqual(['a.txt', 'b.txt', 'c.txt'])
  expect((await readDiff(base, head)).left).toEqual([])
})

test('files beyond the limit of output of git are left, and the files before them are shown', async () => {
  const from = repository.commit({ 'z.txt': '' })
  const large = Buffer.alloc(40_000_000, `${'x'.repeat(99)}\n`)
  const to = repository.commit({ 'a.txt': 'a\n', 'b.txt': large, 'c.txt': large, 'd.txt': large })
  const { files, left, text } = await readDiff(from, to, Infinity)
  expect([files.length, left, text.length > 8_000_000, text.startsWith('diff --git a/a.txt')]).toEqual([
    4,
    ['b.txt', 'c.txt', 'd.txt'],
    true,
    true,
  ])
})

test('a file of a commit is read by its exact name', async () => {
  const commit = repository.commit({ 'src/x.ts': 'one\ntwo\n', '*.ts': 'star\n' })
  const readFileAt = (path: string, maxBytes = 100): Promise<Buffer | null> => fileAt(git, gitPlace(), { commit, path, maxBytes })
  expect((await readFileAt('src/x.ts'))?.toString()).toBe('one\ntwo\n')
  expect((await readFileAt('*.ts'))?.toString()).toBe('star\n')
  for (const path of ['src', 'src/', 'x.ts', '../src/x.ts', './src/x.ts', '']) expect(await readFileAt(path), path).toBeNull()
  await expect(readFileAt('src/x.ts', 3)).rejects.toThrow('src/x.ts has 8 bytes')
})
