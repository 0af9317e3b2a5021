// How a worktree goes, against real git: nothing uncommitted, untracked or unmerged goes with it.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Git } from '../../src/drivers/files/git.ts'
import { addWorktree, removeWorktree } from '../../src/drivers/files/worktree.ts'
import { newContained, UUID, type Contained } from '../support/contained.ts'
import { Repository, filesOf, gitBytes } from '../support/repository.ts'

const REF = `refs/reeve/salvage/${UUID}`

let contained: Contained
let git: Git
let repository: Repository
let dir: string
let base: string

beforeEach(async () => {
  contained = await newContained()
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

const add = (): Promise<void> => addWorktree(git, { repository: join(repository.dir, '.git'), dir, branch: 'reeve/one', base, env: repository.env })
const remove = (branch: string | null = 'reeve/one') => removeWorktree(git, { dir, uuid: UUID, branch, env: repository.env })
const branches = (): string => repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
/** What a salvaged commit has, in a work tree of its own. */
const salvaged = (): Record<string, string> => {
  const out = join(contained.dir, 'out')
  repository.git('worktree', 'add', '-q', '--detach', out, REF)
  return filesOf(out)
}

test('one in which nothing was done goes without a trace', async () => {
  const bytes = gitBytes(repository)
  repository.write({ 'ignored.o': 'o' }, dir)
  expect(await remove()).toEqual({ dir })
  expect([existsSync(dir), branches(), repository.git('worktree', 'list', '--porcelain').includes(dir), repository.git('for-each-ref', 'refs/reeve')]).toEqual([false, 'main', false, ''])
  // git writes a list of packed refs, which is empty, when it deletes one.
  expect({ ...gitBytes(repository), 'packed-refs': '' }).toEqual({ ...bytes, 'packed-refs': '' })
  expect(await remove(), 'once more').toBe(null)
})

test('what is changed, deleted, new, or no text is salvaged, on top of what was committed', async () => {
  repository.write({ 'a.txt': 'changed\n', 'new/b.txt': 'b', 'tool': '#!/bin/sh\n' }, dir)
  chmodSync(join(dir, 'tool'), 0o755)
  symlinkSync('a.txt', join(dir, 'link'))
  rmSync(join(dir, '.gitignore'))
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0x78, 0xff])]), 'odd')
  const files = filesOf(dir)
  expect(await remove()).toEqual({ dir, salvaged: REF })
  expect([existsSync(dir), branches(), repository.git('rev-parse', `${REF}^`)]).toEqual([false, 'main', base])
  expect(salvaged()).toEqual(files)
})

test('what was staged and then changed again is salvaged, too', async () => {
  repository.write({ 'a.txt': 'staged\n' }, dir)
  repository.gitIn(dir, 'add', 'a.txt')
  repository.write({ 'a.txt': 'changed again\n' }, dir)
  await remove()
  expect([repository.git('show', `${REF}:a.txt`), repository.git('show', `${REF}^2:a.txt`), repository.git('rev-parse', `${REF}^1`)]).toEqual(['changed again', 'staged', base])
})

test('what git was told not to look at is looked at', async () => {
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

test('a branch with commits of its own stays; one whose commits another one has goes', async () => {
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
  expect(branches()).toBe('main')
})

test('commits that no branch has are salvaged', async () => {
  repository.gitIn(dir, 'checkout', '-q', '--detach')
  repository.write({ 'a.txt': 'work\n' }, dir)
  repository.gitIn(dir, 'commit', '-q', '-am', 'on no branch')
  const work = repository.gitIn(dir, 'rev-parse', 'HEAD')
  expect(await remove()).toEqual({ dir, salvaged: REF })
  expect([repository.git('rev-parse', REF), branches()]).toEqual([work, 'main'])
})

test('a branch of another name than its own stays as it is', async () => {
  repository.gitIn(dir, 'checkout', '-q', '-b', 'feature')
  expect(await remove()).toEqual({ dir })
  expect(branches()).toBe('feature\nmain')
})

test('a merge that is not done is salvaged with both sides', async () => {
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
  ['another repository in it', () => { Repository.make(join(dir, 'vendor', 'inner'), contained.dir).commit({ 'i.txt': 'i' }) }, 'there is another repository in it, vendor/inner'],
  ['one without a commit', () => { Repository.make(join(dir, 'inner'), contained.dir) }, 'there is another repository in it, inner'],
  ['a submodule that is checked out', () => {
    Repository.make(join(contained.dir, 'other'), contained.dir).commit({ 'o.txt': 'o' })
    repository.gitIn(dir, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', join(contained.dir, 'other'), 'sub')
  }, 'there is another repository in it, sub'],
])('%s keeps it', async (_, change, kept) => {
  change()
  const files = filesOf(dir, () => false)
  expect(await remove()).toEqual({ dir, kept })
  expect(filesOf(dir, () => false)).toEqual(files)
  expect(branches()).toContain('reeve/one')
})

test('what is no worktree any more is not touched', async () => {
  rmSync(join(dir, '.git'))
  await expect(remove()).rejects.toThrow('not a git repository')
  // A repository above it would answer in its place.
  Repository.make(contained.dir, contained.dir)
  await expect(remove()).rejects.toThrow('is no worktree any more')
  expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('a\n')
})

test('hooks of the user do not run, filters do: what they make is what is committed', async () => {
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

test('a branch that is in the way is not taken', async () => {
  await remove()
  repository.git('branch', 'reeve/one', repository.commit({ 'a.txt': 'later' }))
  await expect(add()).rejects.toThrow("a branch named 'reeve/one' already exists")
})

test('one that was begun and not finished is made anew, also where it has a branch only', async () => {
  rmSync(join(dir, 'a.txt'))
  writeFileSync(join(dir, 'half.tmp'), '')
  await add()
  expect([Object.keys(filesOf(dir)).toSorted(), repository.gitIn(dir, 'status', '--porcelain'), repository.gitIn(dir, 'branch', '--show-current')]).toEqual([['.gitignore', 'a.txt'], '', 'reeve/one'])
  rmSync(dir, { recursive: true })
  repository.git('worktree', 'prune')
  await add()
  expect(repository.gitIn(dir, 'branch', '--show-current')).toBe('reeve/one')
})
