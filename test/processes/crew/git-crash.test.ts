// The daemon is killed after the first git call of a job, then after a later call of its second attempt, and so on. The end result is
// the same as without kills, and nothing is lost. In the large size each attempt has one call more.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commitReviewed } from '../../../src/drivers/git/crew/commit-reviewed.ts'
import { commitTask } from '../../../src/drivers/git/crew/commit-task.ts'
import { crewHead, keepOnBranch } from '../../../src/drivers/git/crew/merge.ts'
import { resetTo, handOver, salvageFiles, commitForReview, type MemberTree } from '../../../src/drivers/git/crew/member-worktree.ts'
import { Git, type GitAnswer, type GitCall } from '../../../src/drivers/git/git.ts'
import { addWorktree, removeWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, PROCESS_UUID, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { mergeIntoBranch } from '../../support/crew/merge-into.ts'
import { deep } from '../../support/deep.ts'
import { Repository, filesOf } from '../../support/git/repository.ts'

const CREW = 'reeve/fix'
const NAME = 'refs/reeve/salvage/fix/worker-1'
const salvage = { name: NAME, message: 'left' }
/** The number of git calls that each attempt has more than the one before it. */
const MORE_CALLS = deep(4, 1)

class DaemonKilled extends Error {}

/** A git whose daemon counts as dead after this number of calls: the last of them still happens. */
class KilledGit extends Git {
  #calls: number

  constructor(open: ConstructorParameters<typeof Git>[0], calls: number) {
    super(open)
    this.#calls = calls
  }

  override async tryRun(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    if (this.#calls <= 0) throw new DaemonKilled()
    const answer = await super.tryRun(args, call)
    this.#calls -= 1
    if (this.#calls === 0) throw new DaemonKilled()
    return answer
  }
}

let contained: ContainmentHarness
let repository: Repository
let base: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': '*.o\n' })
  await using git = new Git(() => contained.open('group'))
  await crewHead(git, crewTarget(), base)
})

afterEach(() => contained[Symbol.asyncDispose]())

/** Creates the lock files that a git leaves if it is killed while it writes. */
function lockAll(...names: readonly string[]): void {
  for (const name of names) {
    const lock = join(repository.dir, '.git', `${name}.lock`)
    mkdirSync(dirname(lock), { recursive: true })
    writeFileSync(lock, '')
  }
}

const crewTarget = () => ({ repository: join(repository.dir, '.git'), branch: CREW, env: repository.env, lockMs: 100 })
const readCommit = (name: string): string => repository.git('rev-parse', name)
const add = async (n: number): Promise<MemberTree> => {
  const tree = {
    repository: crewTarget().repository,
    dir: join(contained.dir, 'w', String(n)),
    branch: `${CREW}.worker-${n}`,
    env: repository.env,
    lockMs: 100,
  }
  await using git = new Git(() => contained.open('group'))
  await addWorktree(git, { base: readCommit(CREW), ...tree })
  return tree
}
const commitWork = (tree: MemberTree, files: Record<string, string>): string => {
  repository.write(files, tree.dir)
  repository.gitIn(tree.dir, 'add', '-A')
  repository.gitIn(tree.dir, 'commit', '-q', '-m', 'work')
  return repository.gitIn(tree.dir, 'rev-parse', 'HEAD')
}
const readRefs = (...patterns: string[]): string[] =>
  repository
    .git('for-each-ref', '--format=%(refname)', ...patterns)
    .split('\n')
    .filter((one) => one !== '')

/** Repeats a job until it is not killed. Returns its result, and the number of git calls that the last attempt was allowed. */
async function runThroughKills<T>(job: (git: Git) => Promise<T>): Promise<{ readonly value: T; readonly calls: number }> {
  for (let calls = 1; ; calls += MORE_CALLS) {
    await using git = new KilledGit(() => contained.open('group'), calls)
    try {
      return { value: await job(git), calls }
    } catch (error) {
      if (!(error instanceof DaemonKilled)) throw error
    }
  }
}

test('a worktree is prepared, and its files are salvaged completely', async () => {
  const tree = await add(1)
  const lostCommit = commitWork(tree, { 'c.txt': 'a lost try\n' })
  repository.write({ 'a.txt': 'staged\n', 'x.o': 'ignored' }, tree.dir)
  repository.gitIn(tree.dir, 'add', 'a.txt')
  repository.write({ 'a.txt': 'changed\n', 'n/n.txt': 'new' }, tree.dir)
  rmSync(join(tree.dir, 'b.txt'))
  const { value, calls } = await runThroughKills((git) => resetTo(git, tree, base, salvage))
  expect(calls).toBeGreaterThan(10)
  const ref = readRefs('refs/reeve')[0] ?? ''
  // A later attempt may have found the job done.
  expect([null, ref]).toContain(value)
  expect(['a.txt', 'n/n.txt', 'c.txt'].map((name) => repository.git('show', `${ref}:${name}`))).toEqual(['changed', 'new', 'a lost try'])
  expect([repository.git('ls-tree', ref, 'b.txt'), repository.git('show', `${ref}^2:a.txt`), readCommit(`${ref}^1`)]).toEqual([
    '',
    'staged',
    lostCommit,
  ])
  expect([readCommit(tree.branch), repository.gitIn(tree.dir, 'status', '--porcelain', '--ignored')]).toEqual([base, '!! x.o'])
})

test('the files of a task are committed once', async () => {
  const tree = await add(1)
  repository.write({ 'a.txt': 'changed\n', 'n.txt': 'new', 'x.o': 'ignored' }, tree.dir)
  const { value, calls } = await runThroughKills((git) =>
    commitTask(git, tree, { base, crew: CREW, message: 'Do it\n\nReeve-Task: task-1\n', mayCommit: true }),
  )
  expect(calls).toBeGreaterThan(5)
  expect(value).toMatchObject({ type: 'committed', commit: readCommit(tree.branch), commits: 1 })
  expect([
    readCommit(`${tree.branch}^`),
    repository.git('show', `${tree.branch}:n.txt`),
    repository.gitIn(tree.dir, 'status', '--porcelain'),
  ]).toEqual([base, 'new', ''])
})

test.each<[string, (tree: MemberTree) => void, boolean]>([
  [
    'although the worker has committed half of them',
    (tree) => {
      repository.gitIn(tree.dir, 'commit', '-q', '-a', '-m', 'half')
    },
    true,
  ],
  [
    'although none of them is left in the worktree',
    (tree) => {
      repository.gitIn(tree.dir, 'stash', '-q', '-u')
    },
    false,
  ],
])('the approved files are committed once, %s', async (_, spoil, mayCommit) => {
  const tree = await add(1)
  repository.write({ 'a.txt': 'changed\n', 'n.txt': 'new' }, tree.dir)
  const { value: reviewed } = await runThroughKills((git) => commitForReview(git, tree, 'refs/reeve/review/fix/task-1'))
  spoil(tree)
  const leftBranch = `${CREW}.task-1`
  const { value, calls } = await runThroughKills(async (git) => {
    const end = await commitReviewed(git, tree, crewTarget(), {
      base,
      crew: CREW,
      message: 'Do it\n',
      mayCommit,
      hasNoAuthor: false,
      mustContain: null,
      willMerge: true,
      reviewed: { commit: reviewed, ref: 'refs/reeve/approved/fix/task-1' },
    })
    if (end.type === 'committed') await keepOnBranch(git, crewTarget(), { commit: end.commit, unmergedBranch: leftBranch })
    return end
  })
  expect(calls).toBeGreaterThan(10)
  if (value.type !== 'committed') throw new Error(value.type)
  expect([readCommit(leftBranch), readCommit(`${leftBranch}^{tree}`), readRefs(`refs/heads/${CREW}.task*`)]).toEqual([
    value.commit,
    readCommit(`${reviewed}^{tree}`),
    [`refs/heads/${leftBranch}`],
  ])
})

test('a difference from the approved files is named, and kept for the review', async () => {
  const tree = await add(1)
  repository.write({ 'a.txt': 'changed\n' }, tree.dir)
  const { value: reviewed } = await runThroughKills((git) => commitForReview(git, tree, 'refs/reeve/review/fix/task-1'))
  const commit = commitWork(tree, { 'a.txt': 'something else\n' })
  const { value } = await runThroughKills((git) =>
    commitReviewed(git, tree, crewTarget(), {
      base,
      crew: CREW,
      message: 'Do it\n',
      mayCommit: false,
      hasNoAuthor: false,
      mustContain: null,
      willMerge: true,
      reviewed: { commit: reviewed, ref: 'refs/reeve/approved/fix/task-1' },
    }),
  )
  expect(value).toMatchObject({ type: 'differs', commit, files: ['a.txt'], from: readCommit('refs/reeve/approved/fix/task-1') })
})

test('a task is merged once', async () => {
  const [firstTree, secondTree] = [await add(1), await add(2)]
  const [first, second] = [commitWork(firstTree, { 'a.txt': 'one\n' }), commitWork(secondTree, { 'b.txt': 'two\n' })]
  const { calls } = await runThroughKills(async (git) => {
    for (const [commit, task] of [
      [first, 'task-1'],
      [second, 'task-2'],
    ] as const) {
      await keepOnBranch(git, crewTarget(), { commit, unmergedBranch: `${CREW}.${task}` })
      expect(
        await mergeIntoBranch(git, crewTarget(), { commit, message: `Merge ${task}\n`, unmergedBranch: `${CREW}.${task}` }),
      ).toMatchObject({
        type: 'merged',
      })
    }
  })
  expect(calls).toBeGreaterThan(15)
  expect(repository.git('log', '--format=%s', CREW)).toBe('Merge task-2\nwork\nwork\na commit')
  expect([
    repository.git('show', `${CREW}:a.txt`),
    repository.git('show', `${CREW}:b.txt`),
    readRefs(`refs/heads/${CREW}.task-*`, 'refs/reeve'),
  ]).toEqual(['one', 'two', []])
})

test('a conflict keeps the commit on one branch', async () => {
  const [firstTree, secondTree] = [await add(1), await add(2)]
  repository.git('update-ref', `refs/heads/${CREW}`, commitWork(firstTree, { 'a.txt': 'one\n' }))
  const commit = commitWork(secondTree, { 'a.txt': 'two\n' })
  const { value } = await runThroughKills((git) =>
    mergeIntoBranch(git, crewTarget(), { commit, message: 'm\n', unmergedBranch: `${CREW}.task-2` }),
  )
  expect(value).toEqual({ type: 'conflict', files: ['a.txt'], more: 0, branch: `${CREW}.task-2` })
  expect([readRefs(`refs/heads/${CREW}.task*`), readCommit(`${CREW}.task-2`)]).toEqual([[`refs/heads/${CREW}.task-2`], commit])
})

test('a successor gets the whole state of the old worker', async () => {
  const [firstTree, secondTree] = [await add(1), await add(2)]
  const head = commitWork(firstTree, { 'c.txt': 'committed\n' })
  repository.write({ 'a.txt': 'staged\n' }, firstTree.dir)
  repository.gitIn(firstTree.dir, 'add', 'a.txt')
  repository.write({ 'a.txt': 'changed\n', 'n/n.txt': 'new' }, firstTree.dir)
  rmSync(join(firstTree.dir, 'b.txt'))
  const stateBefore = [filesOf(firstTree.dir), repository.gitIn(firstTree.dir, 'status', '--porcelain')]
  const { value, calls } = await runThroughKills((git) =>
    handOver(git, { from: firstTree, to: secondTree, ref: `refs/reeve/handover/${PROCESS_UUID}`, salvage }),
  )
  expect(calls).toBeGreaterThan(10)
  expect(value.head).toBe(head)
  expect([filesOf(secondTree.dir), repository.gitIn(secondTree.dir, 'status', '--porcelain')]).toEqual(stateBefore)
  expect([filesOf(firstTree.dir), readCommit(secondTree.branch)]).toEqual([stateBefore[0], head])
})

test('the files of a retired member are kept, and not salvaged again when its worktree is removed', async () => {
  const tree = await add(1)
  repository.write({ 'a.txt': 'changed\n' }, tree.dir)
  const salvageRef = await runThroughKills((git) => salvageFiles(git, tree, salvage))
  expect([salvageRef.value, readRefs('refs/reeve')]).toEqual([`${NAME}-1`, [`${NAME}-1`]])
  expect(existsSync(join(tree.dir, 'a.txt'))).toBe(true)
  await runThroughKills((git) =>
    removeWorktree(git, { dir: tree.dir, uuid: PROCESS_UUID, branch: tree.branch, repository: crewTarget().repository, env: tree.env }),
  )
  expect([existsSync(tree.dir), repository.git('show', `${NAME}-1:a.txt`), readRefs('refs/reeve'), readRefs('refs/heads')]).toEqual([
    false,
    'changed',
    [`${NAME}-1`],
    ['refs/heads/main', `refs/heads/${CREW}`],
  ])
})

test("locks that a killed git left on reeve's refs stop no job", async () => {
  const [firstTree, secondTree] = [await add(1), await add(2)]
  await using git = new Git(() => contained.open('group'))
  repository.write({ 'a.txt': 'changed\n' }, firstTree.dir)
  lockAll(
    'refs/reeve/salvage/fix/worker-1-1',
    'refs/reeve/review/fix/task-1',
    `refs/reeve/handover/${PROCESS_UUID}`,
    `refs/heads/${CREW}`,
    `refs/heads/${CREW}.task-1`,
    `refs/heads/${CREW}.worker-3`,
  )
  await commitForReview(git, firstTree, 'refs/reeve/review/fix/task-1')
  expect(await salvageFiles(git, firstTree, salvage)).toBe(`${NAME}-1`)
  await handOver(git, { from: firstTree, to: secondTree, ref: `refs/reeve/handover/${PROCESS_UUID}`, salvage })
  const end = await commitTask(git, firstTree, { base, crew: CREW, message: 'Do it\n', mayCommit: true })
  if (end.type !== 'committed') throw new Error(end.type)
  expect(await keepOnBranch(git, crewTarget(), { commit: end.commit, unmergedBranch: `${CREW}.task-1` })).toBe(`${CREW}.task-1`)
  expect(await mergeIntoBranch(git, crewTarget(), { commit: end.commit, message: 'm\n', unmergedBranch: `${CREW}.task-1` })).toMatchObject({
    type: 'merged',
  })
  expect([readCommit(CREW), readRefs(`refs/heads/${CREW}.task-1`)]).toEqual([end.commit, []])
  const thirdTree = await add(3)
  lockAll(`refs/heads/${thirdTree.branch}`)
  expect(
    await removeWorktree(git, { dir: thirdTree.dir, uuid: PROCESS_UUID, branch: thirdTree.branch, env: thirdTree.env, lockMs: 100 }),
  ).toEqual({
    dir: thirdTree.dir,
  })
  expect(readRefs(`refs/heads/${thirdTree.branch}`)).toEqual([])
})
