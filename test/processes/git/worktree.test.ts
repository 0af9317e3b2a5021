// Worktrees with real git: they are created, also in unusual repositories, and their removal loses no uncommitted, untracked or unmerged
// work.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Git } from '../../../src/drivers/git/git.ts'
import { countUnmerged } from '../../../src/drivers/git/unrecorded-files.ts'
import { addWorktree, findRepository, removeWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, PROCESS_UUID, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { Repository, filesOf, gitBytes } from '../../support/git/repository.ts'

const REF = `refs/reeve/salvage/${PROCESS_UUID}`

let contained: ContainmentHarness
let git: Git
let repository: Repository
let dir: string
let base: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'a.txt': 'a\n', '.gitignore': '*.o\n' })
  dir = join(contained.dir, 'w', 'one')
  await add()
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const add = (): Promise<void> =>
  addWorktree(git, { repository: join(repository.dir, '.git'), dir, branch: 'reeve/one', base, env: repository.env, programs: true })
const remove = (branch: string | null = 'reeve/one') =>
  removeWorktree(git, { dir, uuid: PROCESS_UUID, branch, env: repository.env, programs: true })
const readBranches = (): string => repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
/** The files of a salvaged commit, in a separate work tree. */
const readSalvaged = (): Record<string, string> => {
  const exportDir = join(contained.dir, 'out')
  repository.git('worktree', 'add', '-q', '--detach', exportDir, REF)
  return filesOf(exportDir)
}

test('an unused worktree is removed without a trace', async () => {
  const bytes = gitBytes(repository)
  repository.write({ 'ignored.o': 'o' }, dir)
  expect(await remove()).toEqual({ dir })
  expect([
    existsSync(dir),
    readBranches(),
    repository.git('worktree', 'list', '--porcelain').includes(dir),
    repository.git('for-each-ref', 'refs/reeve'),
  ]).toEqual([false, 'main', false, ''])
  // When git deletes a ref, it writes a list of packed refs, which is empty here.
  expect({ ...gitBytes(repository), 'packed-refs': '' }).toEqual({ ...bytes, 'packed-refs': '' })
  expect(await remove(), 'once more').toBe(null)
})

test('commits that only branches below have, too, are unmerged', async () => {
  const commit = repository.commit({ 'b.txt': 'b\n' })
  repository.git('branch', 'reeve/team', commit)
  repository.git('branch', 'reeve/team.worker-1', commit)
  repository.git('reset', '-q', '--hard', base)
  const count = (below: readonly string[]): Promise<number> =>
    countUnmerged(git, { repository: join(repository.dir, '.git'), branch: 'reeve/team', below, env: repository.env, programs: true })
  expect([await count(['reeve/team.*']), await count([])]).toEqual([1, 0])
})

test('changed, deleted, new and binary files are salvaged, on top of the commit', async () => {
  repository.write({ 'a.txt': 'changed\n', 'new/b.txt': 'b', tool: '#!/bin/sh\n' }, dir)
  chmodSync(join(dir, 'tool'), 0o755)
  symlinkSync('a.txt', join(dir, 'link'))
  rmSync(join(dir, '.gitignore'))
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0x78, 0xff])]), 'odd')
  const files = filesOf(dir)
  expect(await remove()).toEqual({ dir, salvaged: REF })
  expect([existsSync(dir), readBranches(), repository.git('rev-parse', `${REF}^`)]).toEqual([false, 'main', base])
  expect(readSalvaged()).toEqual(files)
})

test('staged files that were changed again are salvaged in both versions', async () => {
  repository.write({ 'a.txt': 'staged\n' }, dir)
  repository.gitIn(dir, 'add', 'a.txt')
  repository.write({ 'a.txt': 'changed again\n' }, dir)
  await remove()
  expect([
    repository.git('show', `${REF}:a.txt`),
    repository.git('show', `${REF}^2:a.txt`),
    repository.git('rev-parse', `${REF}^1`),
  ]).toEqual(['changed again', 'staged', base])
})

test('files that git is configured to skip are salvaged', async () => {
  repository.write({ 'b.txt': 'b\n' }, dir)
  repository.gitIn(dir, 'add', 'b.txt')
  repository.gitIn(dir, 'commit', '-q', '-m', 'two files')
  repository.gitIn(dir, 'update-index', '--assume-unchanged', 'a.txt')
  repository.gitIn(dir, 'update-index', '--skip-worktree', 'b.txt')
  repository.write({ 'a.txt': 'unseen\n', 'b.txt': 'unseen, too\n' }, dir)
  expect(repository.gitIn(dir, 'status', '--porcelain')).toBe('')
  expect(await remove()).toEqual({ dir, salvaged: REF, branch: 'reeve/one' })
  expect([repository.git('show', `${REF}:a.txt`), repository.git('show', `${REF}:b.txt`)]).toEqual(['unseen', 'unseen, too'])
})

test('a branch with its own commits stays; a branch without any is deleted', async () => {
  repository.write({ 'a.txt': 'work\n' }, dir)
  repository.gitIn(dir, 'commit', '-q', '-am', 'work')
  const work = repository.gitIn(dir, 'rev-parse', 'HEAD')
  expect(await remove()).toEqual({ dir, branch: 'reeve/one' })
  expect(repository.git('rev-parse', 'reeve/one')).toBe(work)
  repository.git('merge', '-q', 'reeve/one')
  repository.git('branch', '-q', '-D', 'reeve/one')
  base = work
  await add()
  expect(await remove()).toEqual({ dir })
  expect(readBranches()).toBe('main')
})

test('commits without a branch are salvaged', async () => {
  repository.gitIn(dir, 'checkout', '-q', '--detach')
  repository.write({ 'a.txt': 'work\n' }, dir)
  repository.gitIn(dir, 'commit', '-q', '-am', 'on no branch')
  const work = repository.gitIn(dir, 'rev-parse', 'HEAD')
  expect(await remove()).toEqual({ dir, salvaged: REF })
  expect([repository.git('rev-parse', REF), readBranches()]).toEqual([work, 'main'])
})

test("a branch other than the worktree's own stays unchanged", async () => {
  repository.gitIn(dir, 'checkout', '-q', '-b', 'feature')
  expect(await remove()).toEqual({ dir })
  expect(readBranches()).toBe('feature\nmain')
})

test('an unfinished merge is salvaged with both sides', async () => {
  repository.gitIn(dir, 'checkout', '-q', '-b', 'other')
  repository.write({ 'a.txt': 'theirs\n' }, dir)
  repository.gitIn(dir, 'commit', '-q', '-am', 'theirs')
  repository.gitIn(dir, 'checkout', '-q', 'reeve/one')
  repository.write({ 'a.txt': 'ours\n' }, dir)
  repository.gitIn(dir, 'commit', '-q', '-am', 'ours')
  expect(() => repository.gitIn(dir, 'merge', 'other')).toThrow('git merge other')
  expect(await remove()).toEqual({ dir, salvaged: REF, branch: 'reeve/one' })
  expect(repository.git('show', `${REF}:a.txt`)).toMatch(/ours\n=+\ntheirs/)
})

test.each<[string, () => void, string]>([
  [
    'another repository in the worktree',
    () => {
      Repository.make(join(dir, 'vendor', 'inner'), contained.dir).commit({ 'i.txt': 'i' })
    },
    'it contains another repository, vendor/inner',
  ],
  [
    'another repository without a commit',
    () => {
      Repository.make(join(dir, 'inner'), contained.dir)
    },
    'it contains another repository, inner',
  ],
  [
    'a submodule that is checked out',
    () => {
      Repository.make(join(contained.dir, 'other'), contained.dir).commit({ 'o.txt': 'o' })
      repository.gitIn(dir, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', join(contained.dir, 'other'), 'sub')
    },
    'it contains another repository, sub',
  ],
])('%s keeps the worktree', async (_, change, kept) => {
  change()
  const files = filesOf(dir, () => false)
  expect(await remove()).toEqual({ dir, kept })
  expect(filesOf(dir, () => false)).toEqual(files)
  expect(readBranches()).toContain('reeve/one')
})

test('a directory that is no longer a worktree stays unchanged', async () => {
  rmSync(join(dir, '.git'))
  await expect(remove()).rejects.toThrow('is not a worktree any more')
  // Git must not use a repository above it instead.
  Repository.make(contained.dir, contained.dir)
  await expect(remove()).rejects.toThrow('is not a worktree any more')
  expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('a\n')
})

test("the user's hooks do not run, but filters do: their output is committed", async () => {
  const marker = join(contained.dir, 'ran')
  mkdirSync(join(repository.dir, '.git', 'hooks'), { recursive: true })
  for (const hook of ['post-checkout', 'pre-commit', 'post-commit', 'reference-transaction']) {
    writeFileSync(join(repository.dir, '.git', 'hooks', hook), `#!/bin/sh\necho ${hook} >> ${marker}\n`)
    chmodSync(join(repository.dir, '.git', 'hooks', hook), 0o755)
  }
  repository.git('config', 'filter.rot.clean', 'tr a-z b-za')
  repository.git('config', 'filter.rot.smudge', 'tr b-za a-z')
  repository.write({ 'x.rot': 'abc', '.gitattributes': '*.rot filter=rot\n' }, dir)
  await remove()
  expect([existsSync(marker), repository.git('show', `${REF}:x.rot`)]).toEqual([false, 'bcd'])
})

test('an existing branch is not taken over', async () => {
  await remove()
  repository.git('branch', 'reeve/one', repository.commit({ 'a.txt': 'later' }))
  await expect(add()).rejects.toThrow("a branch named 'reeve/one' already exists")
})

test('an unfinished worktree is created again, even if only its branch exists', async () => {
  rmSync(join(dir, 'a.txt'))
  writeFileSync(join(dir, 'half.tmp'), '')
  await add()
  expect([
    Object.keys(filesOf(dir)).toSorted(),
    repository.gitIn(dir, 'status', '--porcelain'),
    repository.gitIn(dir, 'branch', '--show-current'),
  ]).toEqual([['.gitignore', 'a.txt'], '', 'reeve/one'])
  rmSync(dir, { recursive: true })
  repository.git('worktree', 'prune')
  await add()
  expect(repository.gitIn(dir, 'branch', '--show-current')).toBe('reeve/one')
})

describe.each([
  ['runs programs', true],
  ['runs none', false],
])('for a process that %s', (_, programs) => {
  test.each<[string, () => string]>([
    [
      'a bare clone',
      () => {
        repository.git('clone', '-q', '--bare', repository.dir, join(contained.dir, 'bare'))
        return join(contained.dir, 'bare')
      },
    ],
    [
      'a worktree of a bare clone',
      () => {
        repository.git('clone', '-q', '--bare', repository.dir, join(contained.dir, 'p', '.bare'))
        repository.gitIn(
          join(contained.dir, 'p', '.bare'),
          'worktree',
          'add',
          '-q',
          '-b',
          'other',
          join(contained.dir, 'p', 'here'),
          'main',
        )
        return join(contained.dir, 'p', 'here')
      },
    ],
    [
      'a repository whose git directory is elsewhere',
      () => {
        repository.git('clone', '-q', '--separate-git-dir', join(contained.dir, 'elsewhere'), repository.dir, join(contained.dir, 'apart'))
        return join(contained.dir, 'apart')
      },
    ],
    [
      'a submodule',
      () => {
        const outerRepository = Repository.make(join(contained.dir, 'above'), contained.dir)
        outerRepository.git('-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', repository.dir, 'sub')
        return join(outerRepository.dir, 'sub')
      },
    ],
    [
      'a repository with a configuration for each worktree',
      () => {
        repository.git('config', 'extensions.worktreeConfig', 'true')
        repository.git('config', '--worktree', 'core.autocrlf', 'false')
        return repository.dir
      },
    ],
  ])('%s can have worktrees created and removed', async (place, makeRepository) => {
    const otherRepository = makeRepository()
    const user = { env: repository.env, programs }
    const common = place === 'a bare clone' ? otherRepository : (await findRepository(git, otherRepository, repository.env)).dir
    const worktreeDir = join(contained.dir, 'w', 'two')
    await addWorktree(git, { ...user, repository: common, dir: worktreeDir, branch: 'reeve/two', base })
    expect([
      Object.keys(filesOf(worktreeDir)).toSorted(),
      repository.gitIn(worktreeDir, 'status', '--porcelain'),
      repository.gitIn(worktreeDir, 'branch', '--show-current'),
    ]).toEqual([['.gitignore', 'a.txt'], '', 'reeve/two'])
    repository.write({ 'a.txt': 'changed\n', 'new/b.txt': 'b' }, worktreeDir)
    expect(await removeWorktree(git, { ...user, repository: common, dir: worktreeDir, uuid: PROCESS_UUID, branch: 'reeve/two' })).toEqual({
      dir: worktreeDir,
      salvaged: REF,
    })
    expect([
      repository.gitIn(common, 'show', `${REF}:a.txt`),
      repository.gitIn(common, 'show', `${REF}:new/b.txt`),
      repository.gitIn(common, 'for-each-ref', 'refs/heads/reeve/two'),
    ]).toEqual(['changed', 'b', ''])
  })
})
