// The worktrees and the branch of a crew, with real git: a task's clean worktree, its commit, its merge, and the handover to a successor.
// Nothing of the user's is touched, and no work is lost. git-crash.test.ts kills the daemon between the git calls of these jobs.
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crewHead, landCandidate, makeCandidate, joinCommits } from '../../../src/drivers/git/crew/merge.ts'
import { commitTask, type CommitEnd } from '../../../src/drivers/git/crew/commit-task.ts'
import { resetTo, handOver, type MemberTree } from '../../../src/drivers/git/crew/member-worktree.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { addWorktree, removeWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, PROCESS_UUID, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { mergeIntoBranch } from '../../support/crew/merge-into.ts'
import { Repository, filesOf, gitBytes } from '../../support/git/repository.ts'

const CREW = 'reeve/fix'
const LOCK_MS = 200
/** the time of files and of an index, in seconds since 1970 */
const FILE_TIME = 1_700_000_000

let contained: ContainmentHarness
let git: Git
let repository: Repository
let base: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.o\n' })
  await crewHead(git, crewTarget(), base)
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const crewTarget = (env = repository.env) => ({
  repository: join(repository.dir, '.git'),
  branch: CREW,
  env,
  programs: true,
  lockMs: LOCK_MS,
})
const readCommit = (name: string): string => repository.git('rev-parse', name)
const makeTree = (n: number, env = repository.env): MemberTree => ({
  repository: join(repository.dir, '.git'),
  dir: join(contained.dir, 'w', String(n)),
  branch: `${CREW}.worker-${n}`,
  env,
  programs: true,
  lockMs: LOCK_MS,
})
const add = async (n: number): Promise<MemberTree> => {
  const { dir, branch, env } = makeTree(n)
  await addWorktree(git, { repository: crewTarget().repository, dir, branch, base: readCommit(CREW), env, programs: true })
  return makeTree(n)
}
const NAME = 'refs/reeve/salvage/fix/worker'
const salvage = { name: NAME, message: 'left by task-1' }
const prepare = (tree: MemberTree, at = readCommit(CREW)): Promise<string | null> => resetTo(git, tree, at, salvage)
const commit = (tree: MemberTree, changes: { base?: string; mayCommit?: boolean; message?: string } = {}): Promise<CommitEnd> =>
  commitTask(git, tree, { base, crew: CREW, message: 'Do it\n\nReeve-Task: task-1\n', mayCommit: true, ...changes })
const merge = (commitId: string, leftBranch = `${CREW}.task-1`): ReturnType<typeof mergeIntoBranch> =>
  mergeIntoBranch(git, crewTarget(), { commit: commitId, message: 'Merge task-1\n', unmergedBranch: leftBranch })
const commitWork = (tree: MemberTree, files: Record<string, string>): string => {
  repository.write(files, tree.dir)
  repository.gitIn(tree.dir, 'add', '-A')
  repository.gitIn(tree.dir, 'commit', '-q', '-m', `work on ${Object.keys(files).join(' ')}`)
  return repository.gitIn(tree.dir, 'rev-parse', 'HEAD')
}
const readStatus = (tree: MemberTree): string => repository.gitIn(tree.dir, 'status', '--porcelain', '--ignored', '-uall')
const readRefs = (pattern: string): string[] =>
  repository
    .git('for-each-ref', '--format=%(refname)', pattern)
    .split('\n')
    .filter((one) => one !== '')
const show = (name: string): string => repository.git('show', name)

describe('prepare', () => {
  test("a worktree is reset to the head of the crew's branch, clean, and on its own branch", async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    const firstMerge = await merge(commitWork(firstTree, { 'a.txt': 'by one\n' }))
    expect(firstMerge).toEqual({ type: 'merged', commit: readCommit(firstTree.branch) })
    expect(await prepare(secondTree)).toBe(null)
    expect([
      repository.gitIn(secondTree.dir, 'symbolic-ref', '--short', 'HEAD'),
      readCommit(secondTree.branch),
      readStatus(secondTree),
      readRefs('refs/reeve'),
    ]).toEqual([secondTree.branch, readCommit(CREW), '', []])
  })

  test('a change of the same size, in the second of the last index update, is salvaged', async () => {
    const tree = await add(1)
    // Git compares only the time and size of a file, and reads files that are as new as its index.
    repository.git('config', 'core.trustctime', 'false')
    repository.write({ 'a.txt': '1\n' }, tree.dir)
    utimesSync(join(tree.dir, 'a.txt'), FILE_TIME, FILE_TIME)
    commitWork(tree, {})
    repository.write({ 'a.txt': '2\n' }, tree.dir)
    utimesSync(join(tree.dir, 'a.txt'), FILE_TIME, FILE_TIME)
    utimesSync(join(repository.gitIn(tree.dir, 'rev-parse', '--path-format=absolute', '--git-dir'), 'index'), FILE_TIME, FILE_TIME)
    expect(repository.gitIn(tree.dir, '--no-optional-locks', 'status', '--porcelain')).toBe(' M a.txt')
    const ref = await prepare(tree)
    expect(show(`${ref}:a.txt`)).toBe('2')
  })

  test('the files of a lost attempt are salvaged to a reported ref: changed, deleted, staged, untracked; ignored ones stay', async () => {
    const tree = await add(1)
    repository.write({ 'a.txt': 'half\n', 'new/c.txt': 'c', 'x.o': 'built' }, tree.dir)
    rmSync(join(tree.dir, 'b.txt'))
    repository.gitIn(tree.dir, 'add', 'a.txt')
    repository.write({ 'a.txt': 'half, and more\n' }, tree.dir)
    const ref = await prepare(tree)
    expect(ref).toBe(`${NAME}-1`)
    expect([
      show(`${ref}:a.txt`),
      show(`${ref}^2:a.txt`),
      show(`${ref}:new/c.txt`),
      repository.git('ls-tree', '--name-only', `${ref}`),
    ]).toEqual(['half, and more', 'half', 'c', '.gitignore\na.txt\nnew'])
    expect(repository.git('log', '-1', '--format=%s', `${ref}`)).toBe('left by task-1')
    expect(readStatus(tree)).toBe('!! x.o')
    repository.write({ 'a.txt': 'again\n' }, tree.dir)
    expect(await prepare(tree)).toBe(`${NAME}-2`)
    expect(show(`${ref}:a.txt`), 'the first one stays').toBe('half, and more')
  })

  test('commits without another ref are salvaged before the branch moves, even if the branch is not checked out', async () => {
    const tree = await add(1)
    const lostCommit = commitWork(tree, { 'a.txt': 'lost try\n' })
    expect(await prepare(tree)).toBe(`${NAME}-1`)
    expect([readCommit(`${NAME}-1`), readCommit(tree.branch)]).toEqual([lostCommit, base])
    const second = commitWork(tree, { 'a.txt': 'second\n' })
    repository.gitIn(tree.dir, 'checkout', '-q', '--detach', base)
    const third = commitWork(tree, { 'b.txt': 'on no branch\n' })
    repository.write({ 'c.txt': 'and a file' }, tree.dir)
    await prepare(tree)
    expect([readCommit(`${NAME}-2^`), readCommit(`${NAME}-3`)]).toEqual([third, second])
  })

  test('commits on other branches are not salvaged', async () => {
    const tree = await add(1)
    commitWork(tree, { 'a.txt': 'the user took it\n' })
    repository.git('branch', 'mine', tree.branch)
    expect(await prepare(tree)).toBe(null)
    expect(readCommit(tree.branch)).toBe(base)
  })

  test.each<[string, (dir: string) => void]>([
    [
      'a merge',
      (dir) => {
        expect(() => repository.gitIn(dir, 'merge', 'other')).toThrow('merge')
      },
    ],
    [
      'a rebase',
      (dir) => {
        expect(() => repository.gitIn(dir, 'rebase', 'other')).toThrow('rebase')
      },
    ],
    [
      'a cherry-pick',
      (dir) => {
        expect(() => repository.gitIn(dir, 'cherry-pick', 'other~1')).toThrow('cherry-pick')
      },
    ],
    [
      'a cherry-pick of several',
      (dir) => {
        expect(() => repository.gitIn(dir, 'cherry-pick', 'HEAD..other')).toThrow('cherry-pick')
      },
    ],
  ])('an unfinished operation, %s, is salvaged with both sides and abandoned', async (_, startOperation) => {
    const tree = await add(1)
    repository.gitIn(tree.dir, 'checkout', '-q', '-b', 'other')
    commitWork(tree, { 'a.txt': 'theirs\n' })
    commitWork(tree, { 'd.txt': 'theirs, too\n' })
    repository.gitIn(tree.dir, 'checkout', '-q', tree.branch)
    commitWork(tree, { 'c.txt': 'before\n' })
    const memberCommit = commitWork(tree, { 'a.txt': 'ours\n' })
    startOperation(tree.dir)
    expect(await commit(tree)).toMatchObject({ type: 'refused' })
    const ref = await prepare(tree)
    expect(show(`${ref}:a.txt`)).toMatch(/<<<<<<<[^]*=======[^]*>>>>>>>/)
    expect(repository.git('for-each-ref', '--contains', memberCommit, '--format=%(refname)', 'refs/reeve')).not.toBe('')
    expect([readStatus(tree), readCommit(tree.branch), repository.gitIn(tree.dir, 'symbolic-ref', '--short', 'HEAD')]).toEqual([
      '',
      base,
      tree.branch,
    ])
    expect(repository.gitIn(tree.dir, 'status')).not.toMatch(/rebas|merg|cherry/i)
  })

  test('files that only a changed `.gitignore` ignores are salvaged, too', async () => {
    const tree = await add(1)
    repository.write({ '.gitignore': '*.o\nout/\n', 'out/data': 'dear' }, tree.dir)
    await prepare(tree)
    const reeveRefs = readRefs('refs/reeve')
      .map((ref) => repository.git('ls-tree', '-r', '--name-only', ref))
      .join('\n')
    expect(reeveRefs).toContain('out/data')
    expect(readStatus(tree)).toBe('')
  })

  test('another repository in the worktree stays unchanged', async () => {
    const tree = await add(1)
    Repository.make(join(tree.dir, 'inner'), contained.dir).commit({ 'i.txt': 'i' })
    Repository.make(join(tree.dir, 'empty'), contained.dir)
    repository.write({ 'a.txt': 'work\n' }, tree.dir)
    const innerFiles = filesOf(join(tree.dir, 'inner'), () => false)
    expect(await prepare(tree)).toBe(`${NAME}-1`)
    expect(filesOf(join(tree.dir, 'inner'), () => false)).toEqual(innerFiles)
    repository.write({ 'a.txt': 'work\n' }, tree.dir)
    expect(await commit(tree)).toMatchObject({
      type: 'committed',
      notes: ['empty/ is another repository and was not committed', 'inner/ is another repository and was not committed'],
    })
    expect(repository.git('ls-tree', '--name-only', tree.branch)).toBe('.gitignore\na.txt\nb.txt')
  })

  test('a lock that a killed git left is removed after a wait', async () => {
    const tree = await add(1)
    const gitDir = repository.gitIn(tree.dir, 'rev-parse', '--absolute-git-dir')
    for (const name of ['index.lock', 'HEAD.lock']) writeFileSync(join(gitDir, name), '')
    mkdirSync(join(repository.dir, '.git/refs/heads/reeve'), { recursive: true })
    writeFileSync(join(repository.dir, '.git/refs/heads', `${tree.branch}.lock`), '')
    repository.write({ 'a.txt': 'half\n' }, tree.dir)
    expect(await prepare(tree)).toBe(`${NAME}-1`)
    expect(readStatus(tree)).toBe('')
  })

  test.each<[string, (tree: MemberTree) => void, RegExp]>([
    ['a missing worktree', ({ dir }) => rmSync(dir, { recursive: true }), /the worktree .* is gone/],
    ['a worktree without its .git', ({ dir }) => rmSync(join(dir, '.git')), /has no \.git any more, so its files stay where they are/],
    [
      'a repository that was moved away',
      () => {
        rmSync(join(repository.dir, '.git'), { recursive: true })
      },
      /the repository .* is gone/,
    ],
  ])('%s is reported', async (_, change, message) => {
    const tree = await add(1)
    change(tree)
    await expect(resetTo(git, tree, base, salvage)).rejects.toThrow(message)
  })

  test("a member's branch that the user has checked out elsewhere is not moved", async () => {
    const tree = await add(1)
    repository.gitIn(tree.dir, 'checkout', '-q', '--detach')
    repository.git('checkout', '-q', tree.branch)
    const userCommit = repository.commit({ 'a.txt': 'by the user\n' })
    commitWork(tree, { 'a.txt': 'x\n' })
    await expect(prepare(tree)).rejects.toThrow(`${tree.branch} is checked out in ${repository.dir}: check out another branch there`)
    expect([repository.git('status', '--porcelain'), readCommit(tree.branch), readRefs('refs/reeve')]).toEqual(['', userCommit, []])
  })

  test('a submodule that is checked out follows the commit, so that later commits do not revert it', async () => {
    const other = Repository.make(join(contained.dir, 'other'), contained.dir)
    other.commit({ 'o.txt': '1' })
    repository.git('-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', other.dir, 'sub')
    base = repository.commit({})
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const tree = await add(1)
    expect(await prepare(tree), 'where it is not checked out').toBe(null)
    repository.gitIn(tree.dir, '-c', 'protocol.file.allow=always', 'submodule', '-q', 'update', '--init')
    const first = other.git('rev-parse', 'HEAD')
    const second = other.commit({ 'o.txt': '2' })
    repository.gitIn(join(tree.dir, 'sub'), '-c', 'protocol.file.allow=always', 'fetch', '-q')
    repository.gitIn(join(tree.dir, 'sub'), 'checkout', '-q', second)
    expect(await commit(tree, { base })).toMatchObject({ type: 'committed' })
    expect(repository.git('rev-parse', `${tree.branch}:sub`)).toBe(second)
    await prepare(tree, base)
    expect([repository.gitIn(join(tree.dir, 'sub'), 'rev-parse', 'HEAD'), readStatus(tree)]).toEqual([first, ''])
  })

  test('a worktree with a sparse checkout is salvaged and committed', async () => {
    base = repository.commit({ 'in/a': 'a', 'out/b': 'b' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const tree = await add(1)
    repository.gitIn(tree.dir, 'sparse-checkout', 'set', 'in')
    repository.write({ 'in/a': 'changed', 'out/new': 'n' }, tree.dir)
    expect(await prepare(tree)).toBe(`${NAME}-1`)
    expect([show(`${NAME}-1:in/a`), show(`${NAME}-1:out/new`), show(`${NAME}-1:out/b`)]).toEqual(['changed', 'n', 'b'])
    repository.write({ 'in/a': 'changed', 'out/new': 'n' }, tree.dir)
    const end = await commit(tree)
    expect(end.type).toBe('committed')
    expect(repository.git('diff', '--name-status', base, tree.branch)).toBe('M\tin/a\nA\tout/new')
  })
})

describe('commit', () => {
  test('HEAD is compared with the base of the task, not with the checkout', async () => {
    const tree = await add(1)
    const head = commitWork(tree, { 'a.txt': 'done\n' })
    expect(await commit(tree, { mayCommit: false })).toEqual({ type: 'committed', commit: head, commits: 1, left: 0, files: [], notes: [] })
    commitWork(tree, { 'b.txt': 'more\n' })
    repository.write({ 'c.txt': 'untracked' }, tree.dir)
    expect(await commit(tree)).toEqual({
      type: 'committed',
      commit: readCommit(tree.branch),
      commits: 2,
      left: 1,
      files: ['c.txt'],
      notes: ['its worker did not commit 1 changed file'],
    })
    await merge(head)
    expect(await commit(tree, { mayCommit: false }), 'also when a part of it is merged').toMatchObject({ type: 'committed', commits: 2 })
  })

  test('no change is reported as `nothing`; uncommitted files are named', async () => {
    const tree = await add(1)
    repository.write({ 'x.o': 'ignored' }, tree.dir)
    expect([await commit(tree, { mayCommit: false }), await commit(tree)]).toEqual([{ type: 'nothing' }, { type: 'nothing' }])
    repository.write({ 'a.txt': 'changed\n', 'new.txt': 'n' }, tree.dir)
    expect(await commit(tree, { mayCommit: false })).toEqual({ type: 'uncommitted', files: ['a.txt', 'new.txt'], more: 0 })
    repository.gitIn(tree.dir, 'stash', '-q', '-u')
    repository.gitIn(tree.dir, 'reset', '-q', '--hard', base)
    expect(await commit(tree)).toEqual({ type: 'nothing' })
  })

  test('reeve commits all files, also untracked ones, as the user that git knows', async () => {
    const tree = await add(1)
    repository.write({ 'a.txt': 'changed\n', 'new/n.txt': 'n', 'x.o': 'ignored' }, tree.dir)
    rmSync(join(tree.dir, 'b.txt'))
    const end = await commit(tree, {
      message: 'Fix it\n\n# not a comment\n\nReeve-Task: task-1\nReeve-Worker: worker-1\nReeve-Reviewer: worker-2\n',
    })
    expect(end).toEqual({ type: 'committed', commit: readCommit(tree.branch), commits: 1, left: 0, files: [], notes: [] })
    expect(repository.git('diff', '--name-status', base, tree.branch)).toBe('M\ta.txt\nD\tb.txt\nA\tnew/n.txt')
    expect(repository.git('log', '-1', '--format=%an <%ae>|%cn|%s|%(trailers:key=Reeve-Reviewer,valueonly)', tree.branch)).toBe(
      'T <t@example.org>|T|Fix it|worker-2',
    )
    expect(await commit(tree), 'once more').toEqual(end)
  })

  test('without a name in git the author is reeve, with a note', async () => {
    const env = Object.fromEntries(Object.entries(repository.env).filter(([name]) => !name.startsWith('GIT_')))
    const tree = { ...(await add(1)), env }
    repository.write({ 'a.txt': 'changed\n' }, tree.dir)
    expect(await commit(tree)).toMatchObject({
      type: 'committed',
      notes: ['git has no user.name and user.email here, so the author is reeve'],
    })
    expect(repository.git('log', '-1', '--format=%an <%ae>', tree.branch)).toBe('reeve <reeve@localhost>')
    repository.git('config', 'user.name', 'Known')
    repository.git('config', 'user.email', 'k@example.org')
    repository.write({ 'a.txt': 'changed again\n' }, tree.dir)
    expect(await commit(tree, { base: readCommit(tree.branch) })).toMatchObject({ notes: [] })
    expect(repository.git('log', '-1', '--format=%an', tree.branch)).toBe('Known')
  })

  test('hooks run as for the user; the output of a failing one is the answer', async () => {
    const tree = await add(1)
    const hook = join(repository.dir, '.git/hooks/pre-commit')
    writeFileSync(
      hook,
      '#!/bin/sh\necho "checked in $(basename "$(pwd)")"\n! grep -q bad a.txt || { echo "a.txt is bad" >&2; exit 1; }\n',
      { mode: 0o755 },
    )
    repository.write({ 'a.txt': 'bad\n', 'n.txt': 'n' }, tree.dir)
    expect(await commit(tree)).toEqual({ type: 'refused', output: 'checked in 1\na.txt is bad' })
    expect([readCommit(tree.branch), existsSync(join(tree.dir, 'n.txt'))]).toEqual([base, true])
    repository.write({ 'a.txt': 'good\n' }, tree.dir)
    expect(await commit(tree)).toMatchObject({ type: 'committed', commits: 1 })
  })

  test('commits on no branch count', async () => {
    const tree = await add(1)
    repository.gitIn(tree.dir, 'checkout', '-q', '--detach')
    const head = commitWork(tree, { 'a.txt': 'detached\n' })
    expect(await commit(tree)).toMatchObject({ commit: head })
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
  })

  test('a reset to an earlier commit is no change; a commit on top of it counts', async () => {
    const first = repository.git('rev-parse', 'HEAD')
    base = repository.commit({ 'c.txt': 'c' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const tree = await add(1)
    repository.gitIn(tree.dir, 'reset', '-q', '--hard', first)
    expect(await commit(tree)).toEqual({ type: 'nothing' })
    const head = commitWork(tree, { 'a.txt': 'from an older one\n' })
    expect(await commit(tree)).toMatchObject({ type: 'committed', commit: head, commits: 1 })
  })
})

describe('merge', () => {
  test('the branch of a crew is created once, by its first job', async () => {
    repository.git('branch', '-D', crewTarget().branch)
    await expect(Promise.all([1, 2, 3, 4].map(() => crewHead(git, crewTarget(), base)))).resolves.toEqual([base, base, base, base])
  })

  test('is a fast-forward if possible, otherwise a merge commit; a repeated call gives the same result', async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    const [first, second] = [commitWork(firstTree, { 'a.txt': 'one\n' }), commitWork(secondTree, { 'b.txt': 'two\n' })]
    expect(await merge(first)).toEqual({ type: 'merged', commit: first })
    const merged = await merge(second)
    expect(merged).toEqual({ type: 'merged', commit: readCommit(CREW) })
    expect([repository.git('log', '-1', '--format=%P|%an|%s', CREW), show(`${CREW}:a.txt`), show(`${CREW}:b.txt`)]).toEqual([
      `${first} ${second}|T|Merge task-1`,
      'one',
      'two',
    ])
    const third = commitWork(await add(3), { 'c.txt': 'three\n' })
    await merge(third)
    expect([await merge(second), await merge(first), await merge(third), await merge(base)]).toEqual([
      merged,
      ...[first, third, base].map((commit) => ({ type: 'merged', commit })),
    ])
  })

  test('a candidate is on no branch; it lands only on the known head, and counts as merged only on the branch', async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    const [first, second] = [commitWork(firstTree, { 'a.txt': 'one\n' }), commitWork(secondTree, { 'b.txt': 'two\n' })]
    await merge(first)
    const request = { commit: second, message: 'Merge task-2\n', unmergedBranch: `${CREW}.task-2`, ref: 'refs/reeve/merge/fix/task-2' }
    const candidate = await makeCandidate(git, crewTarget(), request)
    if (candidate.type !== 'candidate') throw new Error(candidate.type)
    expect([
      readCommit(CREW),
      candidate.head,
      readCommit(`${candidate.commit}^1`),
      readCommit(`${candidate.commit}^2`),
      readCommit(request.ref),
    ]).toEqual([first, first, first, second, candidate.commit])
    const movedHead = repository.git('commit-tree', `${CREW}^{tree}`, '-p', CREW, '-m', 'by the user')
    repository.git('update-ref', '-m', 'commit: by the user', `refs/heads/${CREW}`, movedHead)
    const landAgain = () => landCandidate(git, crewTarget(), { ...request, candidate: candidate.commit, head: candidate.head })
    expect([await landAgain(), readCommit(CREW)]).toEqual([{ type: 'moved', by: 'T (commit: by the user)' }, movedHead])
    repository.git('update-ref', `refs/heads/${CREW}`, candidate.head)
    const mergedResult = { type: 'merged', commit: candidate.commit }
    expect([await landAgain(), await landAgain(), readCommit(CREW), readRefs('refs/reeve')]).toEqual([
      mergedResult,
      mergedResult,
      candidate.commit,
      [],
    ])
    repository.git('update-ref', `refs/heads/${CREW}`, first)
    expect(
      await landCandidate(git, crewTarget(), { ...request, candidate: first, head: first }),
      'a candidate without the commit',
    ).toMatchObject({ type: 'moved' })
  })

  test('a conflict names the files and keeps a branch; after its resolution the commit counts as merged, and the branch is deleted', async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    await merge(commitWork(firstTree, { 'a.txt': 'one\n' }))
    const second = commitWork(secondTree, { 'a.txt': 'two\n', 'b.txt': 'two\n' })
    const conflict = { type: 'conflict', files: ['a.txt'], more: 0, branch: `${CREW}.task-1` }
    expect([await merge(second), await merge(second)]).toEqual([conflict, conflict])
    expect(readCommit(`${CREW}.task-1`)).toBe(second)
    const headBefore = readCommit(CREW)
    await prepare(firstTree, headBefore)
    expect(() => repository.gitIn(firstTree.dir, 'merge', `${CREW}.task-1`)).toThrow('merge')
    repository.write({ 'a.txt': 'both\n' }, firstTree.dir)
    repository.gitIn(firstTree.dir, 'commit', '-q', '-a', '-m', 'resolved')
    const resolved = await commit(firstTree, { base: headBefore })
    expect(resolved).toMatchObject({ type: 'committed', commits: 2 })
    await merge(readCommit(firstTree.branch), `${CREW}.conflict`)
    expect(await merge(second)).toEqual({ type: 'merged', commit: readCommit(CREW) })
    expect(readRefs(`refs/heads/${CREW}.task-1`)).toEqual([])
  })

  test("nothing of the user's is touched: checkout, index, branch, configuration; also during the user's work", async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    repository.write({ 'a.txt': 'staged by the user\n' })
    repository.git('add', 'a.txt')
    repository.write({ 'a.txt': 'and changed\n', 'notes.txt': 'untracked' })
    writeFileSync(join(repository.dir, '.git/index.lock'), '')
    const stateBefore = [
      filesOf(repository.dir),
      gitBytes(repository)['index'],
      gitBytes(repository)['config'],
      gitBytes(repository)['HEAD'],
      readCommit('main'),
    ]
    await merge(commitWork(firstTree, { 'a.txt': 'one\n' }))
    await prepare(secondTree)
    repository.write({ 'b.txt': 'two\n' }, secondTree.dir)
    await commit(secondTree, { base: readCommit(CREW) })
    await merge(readCommit(secondTree.branch))
    expect(show(`${CREW}:b.txt`)).toBe('two')
    expect([
      filesOf(repository.dir),
      gitBytes(repository)['index'],
      gitBytes(repository)['config'],
      gitBytes(repository)['HEAD'],
      readCommit('main'),
    ]).toEqual(stateBefore)
  })

  test("a crew's branch that the user has checked out does not move, and is merged into later", async () => {
    const tree = await add(1)
    const head = commitWork(tree, { 'a.txt': 'one\n' })
    repository.git('checkout', '-q', CREW)
    expect(await merge(head)).toEqual({
      type: 'occupied',
      reason: `${CREW} is checked out in ${repository.dir}, and reeve does not move a branch that is checked out: check out another branch there`,
    })
    expect([readCommit(CREW), repository.git('status', '--porcelain')]).toEqual([base, ''])
    repository.git('checkout', '-q', 'main')
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
  })

  test('histories without a common base are not merged, and an existing branch is not overwritten', async () => {
    const tree = await add(1)
    repository.git('branch', `${CREW}.task-1`, base)
    repository.gitIn(tree.dir, 'checkout', '-q', '--orphan', 'new')
    const head = commitWork(tree, { 'z.txt': 'z' })
    expect(await merge(head)).toEqual({ type: 'left', branch: `${CREW}.task-1-2`, reason: 'refusing to merge unrelated histories' })
    expect([readCommit(`${CREW}.task-1`), readCommit(`${CREW}.task-1-2`)]).toEqual([base, head])
  })

  test('a merge applies the attributes of the worktree', async () => {
    base = repository.commit({ '.gitattributes': 'log.txt merge=union\n', 'log.txt': '' })
    repository.git('update-ref', `refs/heads/${CREW}`, base)
    const [firstTree, secondTree] = [await add(1), await add(2)]
    await merge(commitWork(firstTree, { 'log.txt': 'one\n' }))
    const end = await mergeIntoBranch(
      git,
      { ...crewTarget(), dir: secondTree.dir },
      { commit: commitWork(secondTree, { 'log.txt': 'two\n' }), message: 'm', unmergedBranch: 'reeve/x' },
    )
    expect([end.type, show(`${CREW}:log.txt`)]).toEqual(['merged', 'one\ntwo'])
  })

  test('the lock of a killed git is removed after a wait', async () => {
    const tree = await add(1)
    const head = commitWork(tree, { 'a.txt': 'one\n' })
    const lock = join(repository.dir, '.git/refs/heads', `${CREW}.lock`)
    writeFileSync(lock, '')
    utimesSync(lock, 1, 1)
    expect(await merge(head)).toMatchObject({ type: 'merged', commit: head })
    expect(existsSync(lock)).toBe(false)
  })

  test('a deleted branch is created again at the given commit; a missing repository is reported', async () => {
    repository.git('branch', '-q', '-D', CREW)
    await expect(merge(base)).rejects.toThrow(`the branch ${CREW} does not exist any more`)
    expect([await crewHead(git, crewTarget(), base), readCommit(CREW)]).toEqual([base, base])
    await expect(
      mergeIntoBranch(git, { ...crewTarget(), repository: '/nowhere/.git' }, { commit: base, message: 'm', unmergedBranch: 'x' }),
    ).rejects.toThrow('the repository /nowhere/.git is gone')
  })

  test('the commits that a task depends on are joined into one, on no branch; conflicting ones are a problem', async () => {
    const heads = [commitWork(await add(1), { 'a.txt': 'one\n' }), commitWork(await add(2), { 'b.txt': 'two\n' })]
    const joined = await joinCommits(git, crewTarget(), base, { commits: [...heads, base], ref: 'refs/reeve/base/x' })
    expect(joined).toEqual({ commit: expect.stringMatching(/^[0-9a-f]{40}$/) })
    if ('commit' in joined)
      expect([show(`${joined.commit}:a.txt`), show(`${joined.commit}:b.txt`), readCommit(CREW)]).toEqual(['one', 'two', base])
    expect(
      await joinCommits(git, crewTarget(), base, {
        commits: [...heads, commitWork(await add(3), { 'a.txt': 'three\n' })],
        ref: 'refs/reeve/base/y',
      }),
    ).toEqual({ problem: 'the tasks that it depends on conflict in a.txt' })
  })
})

test('a full disk stops each job before any change; later it succeeds', async () => {
  const [firstTree, secondTree] = [await add(1), await add(2)]
  const bin = join(contained.dir, 'bin')
  mkdirSync(bin)
  // Writes of git fail as on a full disk.
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nulimit -f 0\nexec env PATH='${repository.env['PATH']}' git "$@"\n`, { mode: 0o755 })
  const env = { ...repository.env, PATH: `${bin}:${repository.env['PATH']}` }
  repository.write({ 'a.txt': 'half\n', 'new.txt': 'n' }, firstTree.dir)
  await merge(commitWork(await add(3), { 'c.txt': 'other\n' }))
  const head = commitWork(secondTree, { 'b.txt': 'two\n' })
  const stateBefore = [filesOf(firstTree.dir), repository.git('for-each-ref'), readStatus(firstTree)]
  await expect(resetTo(git, { ...firstTree, env }, readCommit(CREW), salvage)).rejects.toThrow(Error)
  await expect(commit({ ...firstTree, env })).rejects.toThrow(Error)
  await expect(mergeIntoBranch(git, crewTarget(env), { commit: head, message: 'm\n', unmergedBranch: `${CREW}.task-1` })).rejects.toThrow(
    Error,
  )
  expect([filesOf(firstTree.dir), repository.git('for-each-ref'), readStatus(firstTree)]).toEqual(stateBefore)
  expect(await merge(head)).toMatchObject({ type: 'merged' })
  expect(await prepare(firstTree)).toBe(`${NAME}-1`)
  expect(show(`${NAME}-1:new.txt`)).toBe('n')
})

describe('a successor', () => {
  const REF = `refs/reeve/handover/${PROCESS_UUID}`

  test('gets the commits, and the staged, changed, deleted and new files; the old worktree is removed without a salvage', async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    const head = commitWork(firstTree, { 'c.txt': 'committed\n' })
    repository.write({ 'a.txt': 'staged\n', 'x.o': 'ignored' }, firstTree.dir)
    repository.gitIn(firstTree.dir, 'add', 'a.txt')
    repository.write({ 'a.txt': 'changed\n', 'new/n.txt': 'n' }, firstTree.dir)
    rmSync(join(firstTree.dir, 'b.txt'))
    const [files, statusBefore] = [
      filesOf(firstTree.dir, (path) => path === '.git' || path === 'x.o'),
      repository.gitIn(firstTree.dir, 'status', '--porcelain', '-uall'),
    ]
    const handOverFiles = (): Promise<{ head: string; salvaged: string | null }> =>
      handOver(git, { from: firstTree, to: secondTree, ref: REF, salvage })
    expect(await handOverFiles()).toEqual({ head, salvaged: null })
    expect([
      filesOf(secondTree.dir),
      repository.gitIn(secondTree.dir, 'status', '--porcelain', '-uall'),
      readCommit(secondTree.branch),
      repository.gitIn(secondTree.dir, 'show', ':a.txt'),
    ]).toEqual([files, statusBefore, head, 'staged'])
    expect(await removeWorktree(git, { dir: firstTree.dir, uuid: PROCESS_UUID, branch: firstTree.branch, env: firstTree.env })).toEqual({
      dir: firstTree.dir,
    })
    expect(await handOverFiles(), 'again, also when the old one is gone').toMatchObject({ head })
    expect([filesOf(secondTree.dir), repository.gitIn(secondTree.dir, 'status', '--porcelain', '-uall')]).toEqual([files, statusBefore])
  })

  test('later changes in the old worktree are salvaged when it is removed', async () => {
    const [firstTree, secondTree] = [await add(1), await add(2)]
    repository.write({ 'a.txt': 'changed\n' }, firstTree.dir)
    await handOver(git, { from: firstTree, to: secondTree, ref: REF, salvage })
    repository.write({ 'a.txt': 'changed again\n' }, firstTree.dir)
    expect(await removeWorktree(git, { dir: firstTree.dir, uuid: PROCESS_UUID, branch: firstTree.branch, env: firstTree.env })).toEqual({
      dir: firstTree.dir,
      salvaged: `refs/reeve/salvage/${PROCESS_UUID}`,
    })
  })
})
