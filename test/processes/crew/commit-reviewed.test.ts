// How a reviewed task is committed, with real git: the commit has exactly the approved files. Its author may commit something else,
// half or nothing, leave conflict markers, resolve a conflict, or be gone.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commitReviewed, type ReviewedCommitEnd } from '../../../src/drivers/git/crew/commit-reviewed.ts'
import { findConflict, findTasksThatTouched } from '../../../src/drivers/git/crew/compare.ts'
import { crewHead } from '../../../src/drivers/git/crew/merge.ts'
import { commitForReview, type MemberTree } from '../../../src/drivers/git/crew/member-worktree.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { Repository } from '../../support/git/repository.ts'

const CREW = 'reeve/fix'
const REVIEW_REF = 'refs/reeve/review/fix/a'
const APPROVED = 'refs/reeve/approved/fix/a'

let contained: ContainmentHarness
let git: Git
let repository: Repository
let base: string
let authorTree: MemberTree

beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'index.txt': 'all\n', 'other.txt': 'o\n' })
  await crewHead(git, crew(), base)
  authorTree = {
    repository: crew().repository,
    dir: join(contained.dir, 'w'),
    branch: `${CREW}.worker-1`,
    env: repository.env,
    programs: true,
  }
  await addWorktree(git, { ...authorTree, base })
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const crew = () => ({ repository: join(repository.dir, '.git'), branch: CREW, env: repository.env, programs: true })
const gitInTree = (...args: string[]): string => repository.gitIn(authorTree.dir, ...args)
const readCommit = (name: string): string => repository.git('rev-parse', name)
const commitAll = (message = 'a: done'): string => {
  gitInTree('add', '-A')
  gitInTree('commit', '-q', '-m', message)
  return gitInTree('rev-parse', 'HEAD')
}
const write = (files: Record<string, string>): void => repository.write(files, authorTree.dir)
/** The change of the task, reviewed and approved: two files, one of them new. */
const reviewFiles = async (files: Record<string, string> = { 'index.txt': 'all\na\n', 'a.txt': 'a\n' }): Promise<string> => {
  write(files)
  return commitForReview(git, authorTree, REVIEW_REF)
}
const commitReview = (reviewed: string | null, changes: Partial<Parameters<typeof commitReviewed>[3]> = {}): Promise<ReviewedCommitEnd> =>
  commitReviewed(git, authorTree, crew(), {
    base,
    crew: CREW,
    message: 'a: it\n',
    mayCommit: false,
    hasNoAuthor: false,
    mustContain: null,
    willMerge: true,
    reviewed: reviewed === null ? null : { commit: reviewed, ref: APPROVED },
    ...changes,
  })
/** The change of another task, which has landed. */
const commitOnCrewBranch = (files: Record<string, string>): string => {
  const clone = join(contained.dir, 'theirs')
  repository.git('worktree', 'add', '-q', '-f', '--detach', clone, CREW)
  repository.write(files, clone)
  repository.gitIn(clone, 'add', '-A')
  repository.gitIn(clone, 'commit', '-q', '-m', 'theirs')
  repository.git('update-ref', `refs/heads/${CREW}`, repository.gitIn(clone, 'rev-parse', 'HEAD'))
  repository.git('worktree', 'remove', '-f', clone)
  return readCommit(CREW)
}

describe('the author commits', () => {
  test('and merges foreign history without its files: reeve commits the files again, without that history', async () => {
    repository.git('checkout', '-q', '-b', 'wip')
    const wip = repository.commit({ 'wip.txt': 'unfinished\n' })
    repository.git('checkout', '-q', 'main')
    const reviewed = await reviewFiles()
    commitAll()
    gitInTree('merge', '-q', '-s', 'ours', '--no-edit', 'wip')
    const end = await commitReview(reviewed)
    if (end.type !== 'committed') throw new Error(end.type)
    expect(await commitReview(reviewed)).toEqual(end)
    expect([
      repository.git('diff', '--stat', reviewed, end.commit),
      repository.git('rev-list', '--parents', '-n', '1', end.commit),
    ]).toEqual(['', `${end.commit} ${base}`])
    expect(repository.git('merge-base', wip, end.commit)).toBe(base)
    expect(end.notes).toContain('its history contained commits of other tasks, so reeve committed its files again without them')
  })

  test.each(['commits nothing itself', 'may run no programs'])(
    'nothing, with a branch of the user checked out: reeve commits, and that branch stays (the author %s)',
    async (description) => {
      repository.git('branch', '-q', 'wip')
      gitInTree('checkout', '-q', 'wip')
      write({ 'a.txt': 'a\n' })
      const worker = { ...authorTree, programs: description === 'commits nothing itself' }
      const end = await commitReviewed(git, worker, crew(), {
        base,
        crew: CREW,
        message: 'a: it\n',
        mayCommit: true,
        hasNoAuthor: false,
        mustContain: null,
        willMerge: true,
        reviewed: null,
      })
      if (end.type !== 'committed') throw new Error(end.type)
      expect([readCommit('wip'), readCommit(`${end.commit}^`), gitInTree('rev-parse', 'HEAD'), gitInTree('status', '--porcelain')]).toEqual(
        [base, base, end.commit, ''],
      )
    },
  )

  test('only a merge that changes nothing: the result is `nothing`', async () => {
    repository.git('checkout', '-q', '-b', 'wip')
    repository.commit({ 'wip.txt': 'unfinished\n' })
    repository.git('checkout', '-q', 'main')
    gitInTree('merge', '-q', '-s', 'ours', '--no-ff', '--no-edit', 'wip')
    expect(await commitReview(base)).toEqual({ type: 'nothing' })
  })

  test('all of it: the commit is accepted, and later files are reported', async () => {
    const reviewed = await reviewFiles()
    const commit = commitAll()
    expect(await commitReview(reviewed)).toMatchObject({ type: 'committed', commit, notes: [] })
    write({ 'scratch.txt': 's' })
    expect(await commitReview(reviewed)).toMatchObject({ type: 'committed', commit, notes: ['its worker did not commit 1 changed file'] })
  })

  test('half of it: the author is asked once for the rest; then reeve commits the approved rest', async () => {
    const reviewed = await reviewFiles()
    gitInTree('commit', '-q', '-a', '-m', 'a: half')
    const halfCommit = gitInTree('rev-parse', 'HEAD')
    expect(await commitReview(reviewed)).toMatchObject({ type: 'uncommitted', files: ['a.txt'] })
    const end = await commitReview(reviewed, { mayCommit: true })
    if (end.type !== 'committed') throw new Error(end.type)
    expect([readCommit(`${end.commit}^`), readCommit(`${end.commit}^{tree}`)]).toEqual([halfCommit, readCommit(`${reviewed}^{tree}`)])
  })

  test('something else: the files are named, and the approved tree is kept for comparison', async () => {
    const reviewed = await reviewFiles()
    write({ 'a.txt': 'steal()\n' })
    rmSync(join(authorTree.dir, 'other.txt'))
    const commit = commitAll()
    const end = await commitReview(reviewed)
    expect(end).toMatchObject({ type: 'differs', commit, files: ['a.txt', 'other.txt'], more: 0 })
    if (end.type !== 'differs') return
    expect([readCommit(APPROVED), repository.git('show', `${end.from}:a.txt`)]).toEqual([end.from, 'a'])
    expect(await commitReview(commit), 'after its approval it is committed').toMatchObject({ type: 'committed', commit })
    expect(
      await commitReview(reviewed, { mayCommit: true, hasNoAuthor: true }),
      'reeve commits if the author cannot be asked',
    ).toMatchObject({
      type: 'committed',
      notes: ['its worker did not commit the approved files: reeve did'],
    })
  })

  test.each<[string, () => void]>([
    [
      'reset',
      () => {
        gitInTree('reset', '-q', '--hard')
        gitInTree('clean', '-fdq')
      },
    ],
    [
      'stashed',
      () => {
        gitInTree('stash', '-q', '-u')
      },
    ],
    [
      'committed and reset',
      () => {
        commitAll()
        gitInTree('reset', '-q', '--hard', base)
      },
    ],
  ])('nothing, because the files were %s: reeve commits the approved files, each time the same commit', async (_, loseCommit) => {
    const reviewed = await reviewFiles()
    loseCommit()
    const end = await commitReview(reviewed)
    if (end.type !== 'committed') throw new Error(end.type)
    expect([
      readCommit(`${end.commit}^`),
      readCommit(`${end.commit}^{tree}`),
      repository.git('log', '-1', '--format=%s|%an', end.commit),
    ]).toEqual([base, readCommit(`${reviewed}^{tree}`), 'a: it|T'])
    expect(await commitReview(reviewed)).toMatchObject({ type: 'committed', commit: end.commit })
  })

  test('nothing more than the reviewed commit: reeve uses that commit', async () => {
    write({ 'a.txt': 'a\n' })
    const earlyCommit = commitAll('a: early')
    expect(await commitForReview(git, authorTree, REVIEW_REF)).toBe(earlyCommit)
    gitInTree('reset', '-q', '--hard', base)
    expect(await commitReview(earlyCommit)).toMatchObject({ type: 'committed', commit: earlyCommit })
  })

  test('nothing, and nothing was changed: the result is `nothing`', async () => {
    expect(await commitReview(await commitForReview(git, authorTree, REVIEW_REF))).toEqual({ type: 'nothing' })
  })

  test("another task's branch: it is compared like any other", async () => {
    repository.git('checkout', '-q', '-b', 'wip')
    repository.commit({ 'wip.txt': 'secret\n' })
    const reviewed = await reviewFiles()
    gitInTree('stash', '-q', '-u')
    gitInTree('checkout', '-q', '--detach', 'wip')
    expect(await commitReview(reviewed)).toMatchObject({ type: 'differs', files: ['a.txt', 'index.txt', 'wip.txt'] })
  })

  test('with a hook that changes files: the result is reviewed again', async () => {
    const reviewed = await reviewFiles()
    writeFileSync(join(repository.dir, '.git/hooks/pre-commit'), '#!/bin/sh\necho formatted >> a.txt\ngit add a.txt\n', { mode: 0o755 })
    commitAll()
    expect(await commitReview(reviewed)).toMatchObject({ type: 'differs', files: ['a.txt'] })
  })
})

describe("the crew's branch has moved", () => {
  test('without a conflict: the commit is accepted unchanged, even if its author merged the branch', async () => {
    const reviewed = await reviewFiles()
    commitOnCrewBranch({ 'new.txt': 'n\n' })
    const commit = commitAll()
    expect(await commitReview(reviewed)).toMatchObject({ type: 'committed', commit })
    gitInTree('merge', '-q', CREW)
    expect(await commitReview(reviewed)).toMatchObject({ type: 'committed', commit: gitInTree('rev-parse', 'HEAD') })
  })

  test('and its author merges it, but drops the changes of other tasks: the result is reviewed', async () => {
    const reviewed = await reviewFiles()
    commitOnCrewBranch({ 'theirs.txt': 't\n', 'index.txt': 'all\ntheirs\n' })
    commitAll()
    gitInTree('merge', '-q', '-s', 'ours', '--no-edit', CREW)
    expect(await commitReview(reviewed)).toMatchObject({ type: 'differs', files: expect.arrayContaining(['theirs.txt']) })
  })

  test('with a conflict: the author resolves it before the merge, and the resolution is reviewed', async () => {
    const reviewed = await reviewFiles()
    const first = commitOnCrewBranch({ 'index.txt': 'all\nb\n' })
    expect(await findConflict(git, crew(), reviewed, base)).toEqual({ files: ['index.txt'], more: 0 })
    expect(
      await findTasksThatTouched(
        git,
        crew(),
        [
          { task: 'b', merged: first },
          { task: 'c', merged: base },
        ],
        { since: reviewed, files: ['index.txt'] },
      ),
    ).toEqual(['b'])
    expect(await findTasksThatTouched(git, crew(), [{ task: 'b', merged: first }], { since: reviewed, files: ['other.txt'] })).toEqual([])
    const authorCommit = commitAll()
    expect(await commitReview(reviewed)).toMatchObject({ type: 'conflict', commit: authorCommit, files: ['index.txt'] })
    expect(await commitReview(reviewed, { willMerge: false }), 'on its own branch it has no conflict').toMatchObject({ type: 'committed' })
    expect(() => gitInTree('merge', '-q', CREW)).toThrow('merge')
    expect(await commitReview(reviewed)).toMatchObject({
      type: 'refused',
      output: expect.stringContaining('conflicts are not resolved in index.txt') as string,
    })
    const markers = commitAll()
    expect(await commitReview(reviewed)).toEqual({ type: 'refused', output: 'conflict markers are left in index.txt' })
    expect(await commitReview(reviewed, { mayCommit: true }), 'after its reminders another member reviews it').toMatchObject({
      type: 'differs',
      commit: markers,
      files: ['index.txt'],
    })
    write({ 'index.txt': 'all\na\nb\n' })
    const resolved = commitAll('resolved')
    const end = await commitReview(reviewed)
    expect(end).toMatchObject({ type: 'differs', commit: resolved, files: ['index.txt'] })
    if (end.type === 'differs') expect(repository.git('diff', end.from, resolved)).toContain('-<<<<<<<')
    expect(await commitReview(resolved)).toMatchObject({ type: 'committed', commit: resolved })
    commitOnCrewBranch({ 'index.txt': 'all\nz\n' })
    expect(await commitReview(resolved), 'the user moved the branch meanwhile').toMatchObject({ type: 'conflict', commit: resolved })
  })

  test('files may have conflict markers on purpose, if they had them before or are approved with them', async () => {
    const reviewed = await reviewFiles({ 'guide.txt': '<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n' })
    const commit = commitAll()
    expect(await commitReview(reviewed)).toMatchObject({ type: 'refused' })
    expect(await commitReview(reviewed, { mayCommit: true })).toMatchObject({ type: 'differs', files: ['guide.txt'] })
    expect(await commitReview(commit)).toMatchObject({ type: 'committed', commit })
    write({ 'guide.txt': '<<<<<<< ours\nx\n=======\nb\n>>>>>>> theirs\n' })
    const second = commitAll()
    expect(await commitReview(null, { base: commit })).toMatchObject({ type: 'committed', commit: second })
  })
})

describe('the task that resolves a conflict', () => {
  /** A commit that conflicts with the crew's branch. */
  const makeConflict = (): string => {
    write({ 'index.txt': 'all\na\n' })
    const commit = commitAll()
    base = commitOnCrewBranch({ 'index.txt': 'all\nb\n' })
    gitInTree('reset', '-q', '--hard', base)
    return commit
  }

  test('has not resolved it while its history lacks the conflicting commit', async () => {
    const commit = makeConflict()
    expect(await commitReview(null, { mustContain: commit })).toMatchObject({
      type: 'refused',
      output: expect.stringContaining(`\`git merge ${commit}\``) as string,
    })
    write({ 'RESOLVED.txt': 'so\n' })
    const reviewed = await commitForReview(git, authorTree, REVIEW_REF)
    expect(await commitReview(reviewed, { mustContain: commit, mayCommit: true })).toMatchObject({ type: 'refused' })
    expect(await commitReview(reviewed, { mustContain: commit })).toMatchObject({ type: 'refused' })
  })

  test('has resolved it with a merge that was unfinished at the review, even if its worker drops it', async () => {
    const commit = makeConflict()
    expect(() => gitInTree('merge', '-q', commit)).toThrow('merge')
    write({ 'index.txt': 'all\na\nb\n' })
    gitInTree('add', '-A')
    const reviewed = await commitForReview(git, authorTree, REVIEW_REF)
    gitInTree('merge', '--abort')
    const end = await commitReview(reviewed, { mustContain: commit })
    if (end.type !== 'committed') throw new Error(JSON.stringify(end))
    expect([repository.git('log', '-1', '--format=%P', end.commit), repository.git('show', `${end.commit}:index.txt`)]).toEqual([
      `${base} ${commit}`,
      'all\na\nb',
    ])
  })
})
