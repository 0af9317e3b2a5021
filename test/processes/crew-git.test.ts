// The worktrees and the branch of a crew, against real git: what a task began at, how it is committed and merged, what becomes of
// everything else. Each job is cut off before and after each of its calls of git, and made again.
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crewHead, mergeInto, together, type MergeEnd } from '../../src/drivers/files/crew-merge.ts'
import { bringTo, commitTask, handOver, type CommitEnd, type MemberTree } from '../../src/drivers/files/crew-tree.ts'
import { Git } from '../../src/drivers/files/git.ts'
import { addWorktree, removeWorktree } from '../../src/drivers/files/worktree.ts'
import { newContained, UUID, type Contained } from '../support/contained.ts'
import { Repository, filesOf, gitBytes } from '../support/repository.ts'

const CREW = 'reeve/fix'
const LOCK_MS = 200

let contained: Contained
let git: Git
let repository: Repository
let base: string

beforeEach(async () => {
  contained = await newContained()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.o\n' })
  await crewHead(git, crew(), base)
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const crew = (env = repository.env) => ({ repository: join(repository.dir, '.git'), branch: CREW, env, lockMs: LOCK_MS })
const rev = (name: string): string => repository.git('rev-parse', name)
const worker = (n: number, env = repository.env): MemberTree => ({ repository: join(repository.dir, '.git'), dir: join(contained.dir, 'w', String(n)), branch: `${CREW}.worker-${n}`, env, lockMs: LOCK_MS })
const add = async (n: number): Promise<MemberTree> => {
  const { dir, branch, env } = worker(n)
  await addWorktree(git, { repository: crew().repository, dir, branch, base: rev(CREW), env })
  return worker(n)
}
const NAME = 'refs/reeve/salvage/fix/worker'
const salvage = { name: NAME, message: 'left by task-1' }
const prepare = (tree: MemberTree, at = rev(CREW)): Promise<string | null> => bringTo(git, tree, at, salvage)
const commit = (tree: MemberTree, changes: { base?: string; own?: boolean; message?: string } = {}): Promise<CommitEnd> => commitTask(git, tree, { base, crew: CREW, message: 'Do it\n\nReeve-Task: task-1\n', own: true, ...changes })
const merge = (what: string, left = `${CREW}.task-1`): Promise<MergeEnd> => mergeInto(git, crew(), { commit: what, message: 'Merge task-1\n', left })
const work = (tree: MemberTree, files: Record<string, string>): string => {
  repository.write(files, tree.dir)
  repository.gitIn(tree.dir, 'add', '-A')
  repository.gitIn(tree.dir, 'commit', '-q', '-m', `work on ${Object.keys(files).join(' ')}`)
  return repository.gitIn(tree.dir, 'rev-parse', 'HEAD')
}
const status = (tree: MemberTree): string => repository.gitIn(tree.dir, 'status', '--porcelain', '--ignored', '-uall')
const refs = (pattern: string): string[] => repository.git('for-each-ref', '--format=%(refname)', pattern).split('\n').filter((one) => one !== '')
const show = (name: string): string => repository.git('show', name)

describe('prepare', () => {
  test('a worktree comes to the head of the crew, clean, on its own branch', async () => {
    const [one, two] = [await add(1), await add(2)]
    const done = await merge(work(one, { 'a.txt': 'by one\n' }))
    expect(done).toEqual({ type: 'merged', commit: rev(one.branch), notes: [] })
    expect(await prepare(two)).toBe(null)
    expect([repository.gitIn(two.dir, 'symbolic-ref', '--short', 'HEAD'), rev(two.branch), status(two), refs('refs/reeve')]).toEqual([two.branch, rev(CREW), '', []])
  })

  test('what a lost try left is salvaged, and said where: changed, deleted, staged, untracked; what is ignored stays', async () => {
    const one = await add(1)
    repository.write({ 'a.txt': 'half\n', 'new/c.txt': 'c', 'x.o': 'built' }, one.dir)
    rmSync(join(one.dir, 'b.txt'))
    repository.gitIn(one.dir, 'add', 'a.txt')
    repository.write({ 'a.txt': 'half, and more\n' }, one.dir)
    const ref = await prepare(one)
    expect(ref).toBe(`${NAME}-1`)
    expect([show(`${ref}:a.txt`), show(`${ref}^2:a.txt`), show(`${ref}:new/c.txt`), repository.git('ls-tree', '--name-only', `${ref}`)]).toEqual(['half, and more', 'half', 'c', '.gitignore\na.txt\nnew'])
    expect(repository.git('log', '-1', '--format=%s', `${ref}`)).toBe('left by task-1')
    expect(status(one)).toBe('!! x.o')
    repository.write({ 'a.txt': 'again\n' }, one.dir)
    expect(await prepare(one)).toBe(`${NAME}-2`)
    expect(show(`${ref}:a.txt`), 'the first one stays').toBe('half, and more')
  })

  test('H1: commits that are nowhere else are salvaged before the branch moves, also of a branch that is not checked out', async () => {
    const one = await add(1)
    const own = work(one, { 'a.txt': 'lost try\n' })
    expect(await prepare(one)).toBe(`${NAME}-1`)
    expect([rev(`${NAME}-1`), rev(one.branch)]).toEqual([own, base])
    const second = work(one, { 'a.txt': 'second\n' })
    repository.gitIn(one.dir, 'checkout', '-q', '--detach', base)
    const third = work(one, { 'b.txt': 'on no branch\n' })
    repository.write({ 'c.txt': 'and a file' }, one.dir)
    await prepare(one)
    expect([rev(`${NAME}-2^`), rev(`${NAME}-3`)]).toEqual([third, second])
  })

  test('commits that others have are not salvaged', async () => {
    const one = await add(1)
    work(one, { 'a.txt': 'a person took it\n' })
    repository.git('branch', 'mine', one.branch)
    expect(await prepare(one)).toBe(null)
    expect(rev(one.branch)).toBe(base)
  })

  test.each<[string, (dir: string) => void]>([
    ['a merge', (dir) => { expect(() => repository.gitIn(dir, 'merge', 'other')).toThrow('merge') }],
    ['a rebase', (dir) => { expect(() => repository.gitIn(dir, 'rebase', 'other')).toThrow('rebase') }],
    ['a cherry-pick', (dir) => { expect(() => repository.gitIn(dir, 'cherry-pick', 'other~1')).toThrow('cherry-pick') }],
    ['a cherry-pick of several', (dir) => { expect(() => repository.gitIn(dir, 'cherry-pick', 'HEAD..other')).toThrow('cherry-pick') }],
  ])('%s that is not done is salvaged with both sides, and is over', async (_, begin) => {
    const one = await add(1)
    repository.gitIn(one.dir, 'checkout', '-q', '-b', 'other')
    work(one, { 'a.txt': 'theirs\n' })
    work(one, { 'd.txt': 'theirs, too\n' })
    repository.gitIn(one.dir, 'checkout', '-q', one.branch)
    work(one, { 'c.txt': 'before\n' })
    const ours = work(one, { 'a.txt': 'ours\n' })
    begin(one.dir)
    expect(await commit(one)).toMatchObject({ type: 'refused' })
    const ref = await prepare(one)
    expect(show(`${ref}:a.txt`)).toMatch(/<<<<<<<[^]*=======[^]*>>>>>>>/)
    expect(repository.git('for-each-ref', '--contains', ours, '--format=%(refname)', 'refs/reeve')).not.toBe('')
    expect([status(one), rev(one.branch), repository.gitIn(one.dir, 'symbolic-ref', '--short', 'HEAD')]).toEqual(['', base, one.branch])
    expect(repository.gitIn(one.dir, 'status')).not.toMatch(/rebas|merg|cherry/i)
  })

  test('what only the old rules ignored is salvaged, too', async () => {
    const one = await add(1)
    repository.write({ '.gitignore': '*.o\nout/\n', 'out/data': 'dear' }, one.dir)
    await prepare(one)
    const all = refs('refs/reeve').map((ref) => repository.git('ls-tree', '-r', '--name-only', ref)).join('\n')
    expect(all).toContain('out/data')
    expect(status(one)).toBe('')
  })

  test('another repository in it is left as it is', async () => {
    const one = await add(1)
    Repository.make(join(one.dir, 'inner'), contained.dir).commit({ 'i.txt': 'i' })
    Repository.make(join(one.dir, 'empty'), contained.dir)
    repository.write({ 'a.txt': 'work\n' }, one.dir)
    const inner = filesOf(join(one.dir, 'inner'), () => false)
    expect(await prepare(one)).toBe(`${NAME}-1`)
    expect(filesOf(join(one.dir, 'inner'), () => false)).toEqual(inner)
    repository.write({ 'a.txt': 'work\n' }, one.dir)
    expect(await commit(one)).toMatchObject({ type: 'committed', notes: ['empty/ is another repository, and was left out', 'inner/ is another repository, and was left out'] })
    expect(repository.git('ls-tree', '--name-only', one.branch)).toBe('.gitignore\na.txt\nb.txt')
  })

  test('a lock that a killed git left is waited for, and removed', async () => {
    const one = await add(1)
    const gitDir = repository.gitIn(one.dir, 'rev-parse', '--absolute-git-dir')
    for (const name of ['index.lock', 'HEAD.lock']) writeFileSync(join(gitDir, name), '')
    mkdirSync(join(repository.dir, '.git/refs/heads/reeve'), { recursive: true })
    writeFileSync(join(repository.dir, '.git/refs/heads', `${one.branch}.lock`), '')
    repository.write({ 'a.txt': 'half\n' }, one.dir)
    expect(await prepare(one)).toBe(`${NAME}-1`)
    expect(status(one)).toBe('')
  })

  test.each<[string, (tree: MemberTree) => void, RegExp]>([
    ['a worktree that is gone', ({ dir }) => rmSync(dir, { recursive: true }), /the worktree .* is gone/],
    ['one that is none any more', ({ dir }) => rmSync(join(dir, '.git')), /not a git repository|no worktree any more/],
    ['a repository that was moved away', () => { rmSync(join(repository.dir, '.git'), { recursive: true }) }, /not a git repository/],
  ])('%s is said, and nothing is made', async (_, change, message) => {
    const one = await add(1)
    change(one)
    await expect(bringTo(git, one, base, salvage)).rejects.toThrow(message)
  })

  test('a branch of the member that a person has checked out elsewhere is not moved under them', async () => {
    const one = await add(1)
    repository.gitIn(one.dir, 'checkout', '-q', '--detach')
    repository.git('checkout', '-q', one.branch)
    const theirs = repository.commit({ 'a.txt': 'by a person\n' })
    work(one, { 'a.txt': 'x\n' })
    await expect(prepare(one)).rejects.toThrow(`${one.branch} is checked out in ${repository.dir}: check out another branch there`)
    expect([repository.git('status', '--porcelain'), rev(one.branch), refs('refs/reeve')]).toEqual(['', theirs, []])
  })

  test('a submodule that is checked out follows the commit, so that nobody takes back what others did to it', async () => {
    const other = Repository.make(join(contained.dir, 'other'), contained.dir)
    other.commit({ 'o.txt': '1' })
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', other.dir, 'sub')
    base = repository.commit({})
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const one = await add(1)
    expect(await prepare(one), 'where it is not').toBe(null)
    repository.gitIn(one.dir, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'update', '--init')
    const first = other.git('rev-parse', 'HEAD')
    const second = other.commit({ 'o.txt': '2' })
    repository.gitIn(join(one.dir, 'sub'), '-c', 'protocol.file.allow=always', 'fetch', '-q')
    repository.gitIn(join(one.dir, 'sub'), 'checkout', '-q', second)
    expect(await commit(one, { base })).toMatchObject({ type: 'committed' })
    expect(repository.git('rev-parse', `${one.branch}:sub`)).toBe(second)
    await prepare(one, base)
    expect([repository.gitIn(join(one.dir, 'sub'), 'rev-parse', 'HEAD'), status(one)]).toEqual([first, ''])
  })

  test('in a sparse checkout', async () => {
    base = repository.commit({ 'in/a': 'a', 'out/b': 'b' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const one = await add(1)
    repository.gitIn(one.dir, 'sparse-checkout', 'set', 'in')
    repository.write({ 'in/a': 'changed', 'out/new': 'n' }, one.dir)
    expect(await prepare(one)).toBe(`${NAME}-1`)
    expect([show(`${NAME}-1:in/a`), show(`${NAME}-1:out/new`), show(`${NAME}-1:out/b`)]).toEqual(['changed', 'n', 'b'])
    repository.write({ 'in/a': 'changed', 'out/new': 'n' }, one.dir)
    const end = await commit(one)
    expect(end.type).toBe('committed')
    expect(repository.git('diff', '--name-status', base, one.branch)).toBe('M\tin/a\nA\tout/new')
  })
})

describe('commit', () => {
  test('H2: the head counts against where the task began, not against what is checked out', async () => {
    const one = await add(1)
    const head = work(one, { 'a.txt': 'done\n' })
    expect(await commit(one, { own: false })).toEqual({ type: 'committed', commit: head, commits: 1, notes: [] })
    work(one, { 'b.txt': 'more\n' })
    repository.write({ 'c.txt': 'untracked' }, one.dir)
    expect(await commit(one)).toEqual({ type: 'committed', commit: rev(one.branch), commits: 2, notes: ['its worker left 1 changed file out of it'] })
    await merge(head)
    expect(await commit(one, { own: false }), 'also when a part of it is merged').toMatchObject({ type: 'committed', commits: 2 })
  })

  test('nothing changed is nothing; what is not committed is named', async () => {
    const one = await add(1)
    repository.write({ 'x.o': 'ignored' }, one.dir)
    expect([await commit(one, { own: false }), await commit(one)]).toEqual([{ type: 'nothing' }, { type: 'nothing' }])
    repository.write({ 'a.txt': 'changed\n', 'new.txt': 'n' }, one.dir)
    expect(await commit(one, { own: false })).toEqual({ type: 'uncommitted', files: ['a.txt', 'new.txt'], more: 0 })
    repository.gitIn(one.dir, 'stash', '-q', '-u')
    repository.gitIn(one.dir, 'reset', '-q', '--hard', base)
    expect(await commit(one)).toEqual({ type: 'nothing' })
  })

  test('reeve commits what there is, also untracked, as the person that git knows', async () => {
    const one = await add(1)
    repository.write({ 'a.txt': 'changed\n', 'new/n.txt': 'n', 'x.o': 'ignored' }, one.dir)
    rmSync(join(one.dir, 'b.txt'))
    const end = await commit(one, { message: 'Fix it\n\n# not a comment\n\nReeve-Task: task-1\nReeve-Worker: worker-1\nReeve-Reviewer: worker-2\n' })
    expect(end).toEqual({ type: 'committed', commit: rev(one.branch), commits: 1, notes: [] })
    expect(repository.git('diff', '--name-status', base, one.branch)).toBe('M\ta.txt\nD\tb.txt\nA\tnew/n.txt')
    expect(repository.git('log', '-1', '--format=%an <%ae>|%cn|%s|%(trailers:key=Reeve-Reviewer,valueonly)', one.branch)).toBe('T <t@example.org>|T|Fix it|worker-2')
    expect(await commit(one), 'once more').toEqual(end)
  })

  test('without a name in git the author is reeve, and it is said', async () => {
    const env = Object.fromEntries(Object.entries(repository.env).filter(([name]) => !name.startsWith('GIT_')))
    const one = { ...(await add(1)), env }
    repository.write({ 'a.txt': 'changed\n' }, one.dir)
    expect(await commit(one)).toMatchObject({ type: 'committed', notes: ['git has no user.name and user.email here, so the author is reeve'] })
    expect(repository.git('log', '-1', '--format=%an <%ae>', one.branch)).toBe('reeve <reeve@localhost>')
    repository.git('config', 'user.name', 'Known')
    repository.git('config', 'user.email', 'k@example.org')
    repository.write({ 'a.txt': 'changed again\n' }, one.dir)
    expect(await commit(one, { base: rev(one.branch) })).toMatchObject({ notes: [] })
    expect(repository.git('log', '-1', '--format=%an', one.branch)).toBe('Known')
  })

  test('hooks run as for a person; what a failing one says is the answer', async () => {
    const one = await add(1)
    const hook = join(repository.dir, '.git/hooks/pre-commit')
    writeFileSync(hook, '#!/bin/sh\necho "checked in $(basename "$(pwd)")"\n! grep -q bad a.txt || { echo "a.txt is bad" >&2; exit 1; }\n', { mode: 0o755 })
    repository.write({ 'a.txt': 'bad\n', 'n.txt': 'n' }, one.dir)
    expect(await commit(one)).toEqual({ type: 'refused', output: 'checked in 1\na.txt is bad' })
    expect([rev(one.branch), existsSync(join(one.dir, 'n.txt'))]).toEqual([base, true])
    repository.write({ 'a.txt': 'good\n' }, one.dir)
    expect(await commit(one)).toMatchObject({ type: 'committed', commits: 1 })
  })

  test('commits on no branch, or on one that the agent made, count', async () => {
    const one = await add(1)
    repository.gitIn(one.dir, 'checkout', '-q', '--detach')
    const head = work(one, { 'a.txt': 'detached\n' })
    expect(await commit(one)).toMatchObject({ commit: head })
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
  })

  test('what was rewritten counts; what went back does not', async () => {
    const first = repository.git('rev-parse', 'HEAD')
    base = repository.commit({ 'c.txt': 'c' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const one = await add(1)
    repository.gitIn(one.dir, 'reset', '-q', '--hard', first)
    expect(await commit(one)).toEqual({ type: 'nothing' })
    const head = work(one, { 'a.txt': 'from an older one\n' })
    expect(await commit(one)).toMatchObject({ type: 'committed', commit: head, commits: 1 })
  })
})

describe('merge', () => {
  test('the branch of a crew is made once, by whoever comes first', async () => {
    repository.git('branch', '-D', crew().branch)
    await expect(Promise.all([1, 2, 3, 4].map(() => crewHead(git, crew(), base)))).resolves.toEqual([base, base, base, base])
  })

  test('fast-forward where possible, else a merge; each again gives the same', async () => {
    const [one, two] = [await add(1), await add(2)]
    const [first, second] = [work(one, { 'a.txt': 'one\n' }), work(two, { 'b.txt': 'two\n' })]
    expect(await merge(first)).toEqual({ type: 'merged', commit: first, notes: [] })
    const merged = await merge(second)
    expect(merged).toEqual({ type: 'merged', commit: rev(CREW), notes: [] })
    expect([repository.git('log', '-1', '--format=%P|%an|%s', CREW), show(`${CREW}:a.txt`), show(`${CREW}:b.txt`)]).toEqual([`${first} ${second}|T|Merge task-1`, 'one', 'two'])
    const third = work(await add(3), { 'c.txt': 'three\n' })
    await merge(third)
    expect([await merge(second), await merge(first), await merge(third), await merge(base)]).toEqual([merged, ...[first, third, base].map((commit) => ({ type: 'merged', commit, notes: [] }))])
  })

  test('a conflict names the files and leaves the branch; when it is resolved the first one counts as merged, and that branch goes', async () => {
    const [one, two] = [await add(1), await add(2)]
    await merge(work(one, { 'a.txt': 'one\n' }))
    const second = work(two, { 'a.txt': 'two\n', 'b.txt': 'two\n' })
    const conflict = { type: 'conflict', files: ['a.txt'], more: 0, branch: `${CREW}.task-1` }
    expect([await merge(second), await merge(second)]).toEqual([conflict, conflict])
    expect(rev(`${CREW}.task-1`)).toBe(second)
    const at = rev(CREW)
    await prepare(one, at)
    expect(() => repository.gitIn(one.dir, 'merge', `${CREW}.task-1`)).toThrow('merge')
    repository.write({ 'a.txt': 'both\n' }, one.dir)
    repository.gitIn(one.dir, 'commit', '-q', '-a', '-m', 'resolved')
    const resolved = await commit(one, { base: at })
    expect(resolved).toMatchObject({ type: 'committed', commits: 2 })
    await merge(rev(one.branch), `${CREW}.conflict`)
    expect(await merge(second)).toEqual({ type: 'merged', commit: rev(CREW), notes: [] })
    expect(refs(`refs/heads/${CREW}.task-1`)).toEqual([])
  })

  test('nothing of the person is touched: checkout, index, branch, configuration; also while they work', async () => {
    const [one, two] = [await add(1), await add(2)]
    repository.write({ 'a.txt': 'staged by a person\n' })
    repository.git('add', 'a.txt')
    repository.write({ 'a.txt': 'and changed\n', 'notes.txt': 'untracked' })
    writeFileSync(join(repository.dir, '.git/index.lock'), '')
    const before = [filesOf(repository.dir), gitBytes(repository)['index'], gitBytes(repository)['config'], gitBytes(repository)['HEAD'], rev('main')]
    await merge(work(one, { 'a.txt': 'one\n' }))
    await prepare(two)
    repository.write({ 'b.txt': 'two\n' }, two.dir)
    await commit(two, { base: rev(CREW) })
    await merge(rev(two.branch))
    expect(show(`${CREW}:b.txt`)).toBe('two')
    expect([filesOf(repository.dir), gitBytes(repository)['index'], gitBytes(repository)['config'], gitBytes(repository)['HEAD'], rev('main')]).toEqual(before)
  })

  test('a crew\'s branch that a person has checked out stays under them, and the commit is left on a branch', async () => {
    const one = await add(1)
    const head = work(one, { 'a.txt': 'one\n' })
    repository.git('checkout', '-q', CREW)
    expect(await merge(head)).toEqual({ type: 'left', branch: `${CREW}.task-1`, reason: `${CREW} is checked out in ${repository.dir}, and what is checked out is not moved: check out another branch there` })
    expect([rev(CREW), rev(`${CREW}.task-1`), repository.git('status', '--porcelain')]).toEqual([base, head, ''])
    repository.git('checkout', '-q', 'main')
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
  })

  test('histories without a common beginning are left, and a branch of that name is not overwritten', async () => {
    const one = await add(1)
    repository.git('branch', `${CREW}.task-1`, base)
    repository.gitIn(one.dir, 'checkout', '-q', '--orphan', 'new')
    const head = work(one, { 'z.txt': 'z' })
    expect(await merge(head)).toEqual({ type: 'left', branch: `${CREW}.task-1-2`, reason: 'refusing to merge unrelated histories' })
    expect([rev(`${CREW}.task-1`), rev(`${CREW}.task-1-2`)]).toEqual([base, head])
  })

  test('attributes of the worktree are followed', async () => {
    base = repository.commit({ '.gitattributes': 'log.txt merge=union\n', 'log.txt': '' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const [one, two] = [await add(1), await add(2)]
    await merge(work(one, { 'log.txt': 'one\n' }))
    const end = await mergeInto(git, { ...crew(), dir: two.dir }, { commit: work(two, { 'log.txt': 'two\n' }), message: 'm', left: 'reeve/x' })
    expect([end.type, show(`${CREW}:log.txt`)]).toEqual(['merged', 'one\ntwo'])
  })

  test('what a killed git left locked is waited for, and removed', async () => {
    const one = await add(1)
    const head = work(one, { 'a.txt': 'one\n' })
    const lock = join(repository.dir, '.git/refs/heads', `${CREW}.lock`)
    writeFileSync(lock, '')
    utimesSync(lock, 1, 1)
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
    expect(existsSync(lock)).toBe(false)
  })

  test('a branch that was deleted is made again where it was told; a repository that is gone is said', async () => {
    repository.git('branch', '-q', '-D', CREW)
    await expect(merge(base)).rejects.toThrow(`there is no branch ${CREW} any more`)
    expect([await crewHead(git, crew(), base), rev(CREW)]).toEqual([base, base])
    await expect(mergeInto(git, { ...crew(), repository: '/nowhere/.git' }, { commit: base, message: 'm', left: 'x' })).rejects.toThrow('the repository /nowhere/.git is gone')
  })

  test('what a task goes on from comes together without a branch', async () => {
    const heads = [work(await add(1), { 'a.txt': 'one\n' }), work(await add(2), { 'b.txt': 'two\n' })]
    const both = await together(git, crew(), base, { commits: [...heads, base], ref: 'refs/reeve/base/x' })
    expect(both).toEqual({ commit: expect.stringMatching(/^[0-9a-f]{40}$/) })
    if ('commit' in both) expect([show(`${both.commit}:a.txt`), show(`${both.commit}:b.txt`), rev(CREW)]).toEqual(['one', 'two', base])
    expect(await together(git, crew(), base, { commits: [...heads, work(await add(3), { 'a.txt': 'three\n' })], ref: 'refs/reeve/base/y' })).toEqual({ problem: 'what it needs does not go together: conflicts in a.txt' })
  })
})

test('a disk that takes nothing more stops each job before it has changed anything; later it is done', async () => {
  const [one, two] = [await add(1), await add(2)]
  const bin = join(contained.dir, 'bin')
  mkdirSync(bin)
  // What git writes is refused, as a full disk does.
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nulimit -f 0\nexec env PATH='${repository.env['PATH']}' git "$@"\n`, { mode: 0o755 })
  const env = { ...repository.env, PATH: `${bin}:${repository.env['PATH']}` }
  repository.write({ 'a.txt': 'half\n', 'new.txt': 'n' }, one.dir)
  await merge(work(await add(3), { 'c.txt': 'other\n' }))
  const head = work(two, { 'b.txt': 'two\n' })
  const before = [filesOf(one.dir), repository.git('for-each-ref'), status(one)]
  await expect(bringTo(git, { ...one, env }, rev(CREW), salvage)).rejects.toThrow(Error)
  await expect(commit({ ...one, env })).rejects.toThrow(Error)
  await expect(mergeInto(git, crew(env), { commit: head, message: 'm\n', left: `${CREW}.task-1` })).rejects.toThrow(Error)
  expect([filesOf(one.dir), repository.git('for-each-ref'), status(one)]).toEqual(before)
  expect(await merge(head)).toMatchObject({ type: 'merged' })
  expect(await prepare(one)).toBe(`${NAME}-1`)
  expect(show(`${NAME}-1:new.txt`)).toBe('n')
})

describe('a successor', () => {
  const REF = `refs/reeve/handover/${UUID}`

  test('gets the commits, what was staged, changed, deleted and new; the old worktree goes without a salvage', async () => {
    const [one, two] = [await add(1), await add(2)]
    const head = work(one, { 'c.txt': 'committed\n' })
    repository.write({ 'a.txt': 'staged\n', 'x.o': 'ignored' }, one.dir)
    repository.gitIn(one.dir, 'add', 'a.txt')
    repository.write({ 'a.txt': 'changed\n', 'new/n.txt': 'n' }, one.dir)
    rmSync(join(one.dir, 'b.txt'))
    const [files, was] = [filesOf(one.dir, (path) => path === '.git' || path === 'x.o'), repository.gitIn(one.dir, 'status', '--porcelain', '-uall')]
    const over = (): Promise<{ head: string; salvaged: string | null }> => handOver(git, { from: one, to: two, ref: REF, salvage })
    expect(await over()).toEqual({ head, salvaged: null })
    expect([filesOf(two.dir), repository.gitIn(two.dir, 'status', '--porcelain', '-uall'), rev(two.branch), repository.gitIn(two.dir, 'show', ':a.txt')]).toEqual([files, was, head, 'staged'])
    expect(await removeWorktree(git, { dir: one.dir, uuid: UUID, branch: one.branch, env: one.env })).toEqual({ dir: one.dir })
    expect(await over(), 'again, also when the old one is gone').toMatchObject({ head })
    expect([filesOf(two.dir), repository.gitIn(two.dir, 'status', '--porcelain', '-uall')]).toEqual([files, was])
  })

  test('what the old one changed after that is salvaged', async () => {
    const [one, two] = [await add(1), await add(2)]
    repository.write({ 'a.txt': 'changed\n' }, one.dir)
    await handOver(git, { from: one, to: two, ref: REF, salvage })
    repository.write({ 'a.txt': 'changed again\n' }, one.dir)
    expect(await removeWorktree(git, { dir: one.dir, uuid: UUID, branch: one.branch, env: one.env })).toEqual({ dir: one.dir, salvaged: `refs/reeve/salvage/${UUID}` })
  })
})
