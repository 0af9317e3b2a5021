// Records of files against real git. Recorded files come back byte for byte in another worktree, omitted ones are named, and nothing of
// the user's repository is touched.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Git, GitTimeout } from '../../../src/drivers/git/git.ts'
import { Records, copyRecord } from '../../../src/drivers/git/records.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { Repository, filesOf, gitBytes } from '../../support/git/repository.ts'

const MIB = 1024 * 1024

let contained: ContainmentHarness
let git: Git
let repository: Repository
let work: string
let writer = 0

beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  work = join(contained.dir, 'w', 'a')
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const gitDir = (): string => join(repository.dir, '.git')
const placeOf = (name: string, worktree: string) => ({
  dir: join(contained.dir, `${name}.git`),
  repository: gitDir(),
  worktree,
  env: repository.env,
  writer: ++writer,
})

/** Creates a worktree at HEAD, and opens its records. */
async function openRecords(): Promise<Records> {
  await addWorktree(git, {
    repository: gitDir(),
    dir: work,
    branch: 'reeve/a',
    base: repository.git('rev-parse', 'HEAD'),
    env: repository.env,
  })
  return Records.open(git, placeOf('a', work))
}

/** Creates the worktree of a fork, which gets its files from the record alone. */
async function makeFork(commit: string, name = 'b'): Promise<{ dir: string; records: Records }> {
  const dir = join(contained.dir, 'w', name)
  await copyRecord(git, join(contained.dir, 'a.git'), placeOf(name, dir), commit)
  await addWorktree(git, {
    repository: gitDir(),
    dir,
    branch: `reeve/${name}`,
    base: repository.git('rev-parse', 'main'),
    env: repository.env,
  })
  const records = await Records.open(git, placeOf(name, dir))
  await records.restore(commit)
  return { dir, records }
}

test('links, modes, deletions, renames and untracked files come back unchanged', async () => {
  repository.commit({
    'a.txt': 'a\n',
    'gone.txt': 'x',
    'old/name.txt': 'moved\n',
    'tool.sh': '#!/bin/sh\n',
    'dir/inner.txt': 'i',
    file: 'f',
    'là/é.txt': 'u',
  })
  const records = await openRecords()
  const first = await records.record(0)
  const filesBefore = filesOf(work)
  unlinkSync(join(work, 'gone.txt'))
  renameSync(join(work, 'old'), join(work, 'new'))
  chmodSync(join(work, 'tool.sh'), 0o755)
  symlinkSync('a.txt', join(work, 'link'))
  symlinkSync('/nowhere at all', join(work, 'dangling'))
  rmSync(join(work, 'dir'), { recursive: true })
  writeFileSync(join(work, 'dir'), 'a file now')
  unlinkSync(join(work, 'file'))
  repository.write({ 'file/below.txt': 'a directory now', 'deep/er/new.txt': 'n', ' leading and trailing ': 's', 'line\nbreak': 'l' }, work)
  const second = await records.record(1)
  const filesAfter = filesOf(work)
  expect([first.omitted, second.omitted, first.head]).toEqual([[], [], repository.git('rev-parse', 'HEAD')])
  expect(filesOf((await makeFork(second.commit, 'b')).dir)).toEqual(filesAfter)
  expect(filesOf((await makeFork(first.commit, 'c')).dir)).toEqual(filesBefore)
  expect((await records.record(2)).commit, 'unchanged files give the same record').toBe(second.commit)
})

test('a directory that becomes a link records no files behind it', async () => {
  repository.commit({ 'dir/same.txt': 'same', 'dir/other.txt': 'o', 'else/same.txt': 'of another content' })
  const records = await openRecords()
  await records.record(0)
  rmSync(join(work, 'dir'), { recursive: true })
  symlinkSync('else', join(work, 'dir'))
  const { commit } = await records.record(1)
  expect(filesOf((await makeFork(commit)).dir)).toEqual({ dir: '-> else', 'else/same.txt': expect.any(String) as string })
})

test('large files, ignored files and other repositories are omitted and named', async () => {
  repository.commit({ '.gitignore': 'build/\n*.log\n', 'kept.log': 'once tracked' })
  repository.git('add', '-f', 'kept.log')
  repository.git('commit', '-q', '-m', 'an ignored file that is tracked')
  repository.write({ '.git/info/exclude': 'mine.txt\n' })
  mkdirSync(join(contained.dir, '.config', 'git'), { recursive: true })
  writeFileSync(join(contained.dir, '.config', 'git', 'ignore'), '*.swp\n')
  const records = await openRecords()
  repository.write(
    {
      'build/out.o': 'o',
      'a.log': 'l',
      'mine.txt': 'm',
      'x.swp': 's',
      'small.bin': 'b',
      'kept.log': 'changed',
      'large.bin': Buffer.alloc(11 * MIB),
    },
    work,
  )
  Repository.make(join(work, 'vendor/inner'), contained.dir).commit({ 'i.txt': 'i' })
  Repository.make(join(work, 'empty'), contained.dir)
  const { commit, omitted: omittedFiles } = await records.record(1)
  expect(omittedFiles.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'a.log', why: 'ignored' },
    { path: 'build/', why: 'ignored' },
    { path: 'empty/', why: 'repository' },
    { path: 'large.bin', why: 'large' },
    { path: 'mine.txt', why: 'ignored' },
    { path: 'vendor/inner/', why: 'repository' },
    { path: 'x.swp', why: 'ignored' },
  ])
  const { dir } = await makeFork(commit)
  expect(Object.keys(filesOf(dir)).toSorted()).toEqual(['.gitignore', 'kept.log', 'small.bin'])
  expect(readFileSync(join(dir, 'kept.log'), 'utf8')).toBe('changed')
})

test('a file that grows too large leaves the records, and returns when it shrinks', async () => {
  repository.commit({ 'a.bin': 'small' })
  const records = await openRecords()
  await records.record(0)
  writeFileSync(join(work, 'a.bin'), Buffer.alloc(11 * MIB))
  const largeRecord = await records.record(1)
  expect(largeRecord.omitted).toEqual([{ path: 'a.bin', why: 'large' }])
  expect(filesOf((await makeFork(largeRecord.commit, 'c')).dir)).toEqual({})
  writeFileSync(join(work, 'a.bin'), 'small again')
  const { commit, omitted: omittedFiles } = await records.record(2)
  expect(omittedFiles).toEqual([])
  expect(readFileSync(join((await makeFork(commit)).dir, 'a.bin'), 'utf8')).toBe('small again')
})

test('up to a hundred omitted files are named, all are counted', async () => {
  repository.commit({ '.gitignore': '*.log\n' })
  const records = await openRecords()
  repository.write(Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`${i}.log`, ''])), work)
  expect(await records.record(0)).toMatchObject({ omitted: { length: 100 }, omittedMore: 30 })
})

test.skipIf(process.getuid?.() === 0)('unreadable files are omitted and named', async () => {
  repository.commit({ 'a.txt': 'a', 'dir/b.txt': 'b', 'dir/c.txt': 'c' })
  const records = await openRecords()
  await records.record(0)
  repository.write({ 'new.txt': 'n' }, work)
  chmodSync(join(work, 'a.txt'), 0)
  writeFileSync(join(work, 'a.txt.more'), 'm')
  chmodSync(join(work, 'dir'), 0)
  const { commit, omitted: omittedFiles } = await records.record(1)
  chmodSync(join(work, 'dir'), 0o755)
  expect(omittedFiles).toEqual(['a.txt', 'dir/b.txt', 'dir/c.txt'].map((path) => ({ path, why: 'unreadable' })))
  expect(Object.keys(filesOf((await makeFork(commit)).dir)).toSorted()).toEqual(['a.txt.more', 'new.txt'])
})

test('a submodule is omitted, and its empty directory comes back', async () => {
  const other = Repository.make(join(contained.dir, 'other'), contained.dir)
  other.commit({ 'o.txt': 'o' })
  repository.commit({ 'a.txt': 'a' })
  repository.git('-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', other.dir, 'sub')
  repository.git('commit', '-q', '-m', 'a submodule')
  const records = await openRecords()
  expect((await records.record(0)).omitted, 'nothing is checked out there').toEqual([])
  repository.gitIn(work, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'update', '--init')
  const { commit, omitted: omittedFiles } = await records.record(1)
  expect(omittedFiles).toEqual([{ path: 'sub/', why: 'repository' }])
  const { dir } = await makeFork(commit)
  expect(Object.keys(filesOf(dir)).toSorted()).toEqual(['.gitmodules', 'a.txt'])
  expect(existsSync(join(dir, 'sub'))).toBe(true)
})

test('names that are not text, and all kinds of line ends, come back byte for byte', async () => {
  repository.git('config', 'core.autocrlf', 'true')
  repository.commit({
    '.gitattributes': '*.crlf text eol=crlf\n*.lf text eol=lf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n',
    'plain.txt': 'a\nb\n',
  })
  const records = await openRecords()
  const oddName = Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0x62, 0xff, 0xfe, 0x61])])
  writeFileSync(oddName, 'odd')
  repository.write(
    { 'a.crlf': 'a\nb\r\n', 'b.lf': 'a\r\nb\n', 'c.txt': 'a\r\nb\n\r', 'd.id': '$Id$\n$Id: x$\n', 'e.u16': 'no sixteen bits' },
    work,
  )
  const { commit } = await records.record(0)
  expect(filesOf((await makeFork(commit)).dir)).toEqual(filesOf(work))
})

test('a sparse worktree stays sparse', async () => {
  repository.commit({ 'in/a.txt': 'a', 'out/b.txt': 'b', 'top.txt': 't' })
  repository.git('sparse-checkout', 'set', 'in')
  const records = await openRecords()
  repository.write({ 'in/new.txt': 'n' }, work)
  expect(existsSync(join(work, 'out'))).toBe(false)
  const { commit } = await records.record(0)
  const { dir } = await makeFork(commit)
  expect(filesOf(dir)).toEqual(filesOf(work))
  expect(repository.gitIn(dir, 'status', '--porcelain')).toBe('?? in/new.txt')
})

test('hooks, filters and signatures of the user never run for a record, and nothing of the repository is touched', async () => {
  const marker = join(contained.dir, 'ran')
  repository.commit({ 'a.txt': 'a', '.gitattributes': '*.f filter=loud\n' })
  for (const hook of [
    'pre-commit',
    'post-commit',
    'post-index-change',
    'post-checkout',
    'reference-transaction',
    'fsmonitor-watchman',
    'pre-auto-gc',
  ]) {
    repository.write({ [`.git/hooks/${hook}`]: `#!/bin/sh\necho ${hook} >> ${marker}\n` })
    chmodSync(join(gitDir(), 'hooks', hook), 0o755)
  }
  for (const [key, value] of [
    ['filter.loud.clean', `echo clean >> ${marker}; cat`],
    ['filter.loud.smudge', `echo smudge >> ${marker}; cat`],
    ['core.fsmonitor', join(gitDir(), 'hooks', 'fsmonitor-watchman')],
    ['commit.gpgSign', 'true'],
    ['gpg.program', marker],
  ]) {
    repository.git('config', key ?? '', value ?? '')
  }
  const bytes = gitBytes(repository)
  const records = await openRecords()
  repository.write({ 'b.f': 'filtered?', 'a.txt': 'changed' }, work)
  const { commit } = await records.record(0)
  const { dir } = await makeFork(commit)
  expect([existsSync(marker) ? readFileSync(marker, 'utf8') : '', readFileSync(join(dir, 'b.f'), 'utf8')]).toEqual(['', 'filtered?'])
  expect(gitBytes(repository)).toEqual(bytes)
})

test('a worktree with a detached head is recorded, in a repository with SHA-1 and in one with SHA-256', async () => {
  for (const [name, format] of [
    ['one', 'sha1'],
    ['two', 'sha256'],
  ] as const) {
    const dir = join(contained.dir, name)
    mkdirSync(dir)
    repository.gitIn(dir, 'init', '-q', '-b', 'main', `--object-format=${format}`)
    repository = Repository.make(dir, contained.dir)
    work = join(contained.dir, 'w', name)
    const head = repository.commit({ 'a.txt': format })
    repository.commit({ 'a.txt': 'later' })
    repository.git('checkout', '-q', '--detach', head)
    await addWorktree(git, { repository: gitDir(), dir: work, branch: `reeve/${name}`, base: head, env: repository.env })
    const records = await Records.open(git, placeOf(name, work))
    repository.gitIn(work, 'checkout', '-q', '--detach')
    expect(await records.record(0)).toMatchObject({ head, omitted: [] })
  }
})

test('the next writer continues with the index of the last one, even if that was killed', async () => {
  repository.commit({ 'a.txt': 'a' })
  const first = await openRecords()
  const { commit } = await first.record(0)
  const dir = join(contained.dir, 'a.git')
  writeFileSync(join(dir, `index-${writer}.lock`), 'a writer was killed here')
  const second = await Records.open(git, placeOf('a', work))
  repository.write({ 'b.txt': 'b' }, work)
  const laterRecord = await second.record(1)
  expect(laterRecord.commit).not.toBe(commit)
  expect(Object.keys(filesOf((await makeFork(laterRecord.commit)).dir))).toEqual(['a.txt', 'b.txt'])
  expect(existsSync(join(dir, `index-${writer - 3}`))).toBe(false)
})

test('a copied record is independent of its origin', async () => {
  repository.commit({ 'a.txt': 'a' })
  const records = await openRecords()
  repository.write({ 'b.txt': 'only in the records' }, work)
  const { commit } = await records.record(0)
  const { dir, records: forkRecords } = await makeFork(commit)
  rmSync(join(contained.dir, 'a.git'), { recursive: true })
  expect((await forkRecords.record(1)).omitted).toEqual([])
  expect(readFileSync(join(dir, 'b.txt'), 'utf8')).toBe('only in the records')
  await expect(copyRecord(git, join(contained.dir, 'a.git'), placeOf('c', work), commit)).rejects.toThrow('damaged or gone')
})

test('a git that never finishes is ended with its children, and the error names it', async () => {
  const slowRun = git.run(['-c', `alias.slow=!sleep 60 # ${contained.token}`, 'slow'], {
    cwd: repository.dir,
    env: repository.env,
    at: null,
    limitMs: 500,
  })
  await expect(slowRun).rejects.toThrow(new GitTimeout('git slow took more than 0.5 s'))
  await waitUntil(() => findProcessesWith(contained.token).length === 0, 'nothing of it is left')
  await expect(git.line(['rev-parse', 'nothing'], { cwd: repository.dir, env: repository.env, at: null })).rejects.toThrow(
    "ambiguous argument 'nothing'",
  )
})
